//! Architectures: what tools ask of an instruction set.

use std::fmt::Debug;

/// A transfer of control by an instruction, to somewhere else than the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// A call of a function, which will return behind it.
    Call,
    /// Back to the caller.
    Return,
    /// Anywhere within a function, or to another one for good.
    Jump,
    /// A jump from the dispatch loop to the handler of an event.
    Dispatch,
}

/// Stack use of one function, without the functions that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameUse {
    /// Bytes that its code takes with constants.
    pub bytes: u32,
    /// Whether that is all: nothing is taken whose amount is computed.
    pub is_all: bool,
}

/// A frame pointer by which functions find their callers: the return address is 4 bytes below it, the caller's frame pointer 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePointer {
    /// Number of the general register that holds the frame pointer.
    pub register: usize,
    /// A function's first instruction, which pushes it; the second one sets it.
    pub push: u32,
}

/// An instruction set, and the conventions of its compilers. Instructions are words of four bytes, most significant byte first.
pub trait Architecture: Debug + Sync {
    /// The name: `mips`.
    fn name(&self) -> &'static str;

    /// The number of the machine in the head of an ELF file.
    fn elf_machine(&self) -> u16;

    /// Names of the general registers, by number.
    fn registers(&self) -> &'static [&'static str];

    /// The number of a general register, by any of its names or by number.
    fn register(&self, name: &str) -> Option<usize> {
        let known = self.registers();
        let number = || name.parse().ok().filter(|&number| number < known.len());
        known
            .iter()
            .position(|&known| known == name)
            .or_else(number)
    }

    /// The mnemonic of a word, also of an instruction that the chip does not have; `None` if it is no instruction.
    fn mnemonic(&self, word: u32) -> Option<&'static str>;

    /// The instruction to write instead of the one that was assembled to this word, which the chip does not execute; `None` if none is
    /// known.
    fn instead(&self, _word: u32) -> Option<&'static str> {
        None
    }

    /// Whether the chip executes this word.
    fn is_executable(&self, word: u32) -> bool;

    /// The instruction at an address as text.
    fn disassemble(&self, word: u32, address: u32) -> String;

    /// The target of the branch or jump at an address, if its word states it.
    fn target(&self, word: u32, address: u32) -> Option<u32>;

    /// The general register in which the target of a jump is, if the word jumps to what a register holds.
    fn target_register(&self, word: u32) -> Option<usize>;

    /// The transfer of control by the instruction, if it always makes one. Conditional branches that leave no return address
    /// do not count.
    fn transfer(&self, word: u32) -> Option<Transfer>;

    /// [`transfer`](Self::transfer) of the instruction behind `before`: some architectures have calls of several instructions.
    fn transfer_behind(&self, before: u32, word: u32) -> Option<Transfer> {
        let _ = before;
        self.transfer(word)
    }

    /// The instructions behind a taken branch or jump that are executed before its target.
    fn delay_slots(&self, word: u32) -> u32;

    /// Whether the next instruction follows in any case: the word is no branch, no jump, and no stop.
    fn falls_through(&self, word: u32) -> bool;

    /// The register that a store takes its value from.
    fn stored_register(&self, word: u32) -> Option<usize>;

    /// The general register of the stack pointer.
    fn stack_pointer(&self) -> usize;

    /// The general register of a function's return address.
    fn return_address(&self) -> usize;

    /// The frame pointer, if compilers use one in every function that has a frame; otherwise `.debug_frame` describes frames.
    fn frame_pointer(&self) -> Option<FramePointer> {
        None
    }

    /// The constant that an instruction adds to the stack pointer, if it does only that.
    fn stack_change(&self, word: u32) -> Option<i32>;

    /// Stack use of a function with this code.
    fn frame_use(&self, code: &[u32]) -> FrameUse {
        let changes = code.iter().filter_map(|&word| self.stack_change(word));
        let taken = changes.filter(|change| *change < 0).map(i32::unsigned_abs);
        FrameUse {
            bytes: taken.max().unwrap_or(0),
            is_all: true,
        }
    }

    /// The distance from a call to the address to which its function returns.
    fn return_distance(&self, word: u32) -> u32 {
        4 * (1 + self.delay_slots(word))
    }
}

impl PartialEq for dyn Architecture {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Architecture {}
