//! Common parts of the buses of all cores: accesses, their failures, private memory.

use super::code_map::Wild;
use super::decoded::{Decoded, Place};
use emulator_state::value_enum;

/// Reason why an access did not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusStop {
    /// Another actor of the board must act first. There were no effects and no costs:
    /// the core will repeat the instruction.
    Wait,
    /// The instruction was executed, and the board must handle its effect (a device was
    /// started, a core was halted) before the core continues.
    Yield,
    /// The access is impossible; the core stops at the instruction.
    Fault(Fault),
}

/// Reason why a core stopped for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A word or halfword access that is not aligned.
    #[error("misaligned {width}-byte access to {address:#010x}")]
    Misaligned {
        /// The address.
        address: u32,
        /// Bytes of the access.
        width: u32,
    },
    /// An access to an address where neither memory nor a register is.
    #[error("access to {address:#010x}, where nothing answers")]
    NothingThere {
        /// The address.
        address: u32,
    },
    /// A bit instruction at an address where no memory is that it can change.
    #[error("bit instruction at {address:#010x}, which is no memory")]
    NoMemory {
        /// The address.
        address: u32,
    },
    /// The program counter left all memory that holds code.
    #[error("no memory to execute at {address:#010x}")]
    NoCode {
        /// The address.
        address: u32,
    },
    /// The program counter left the code of the firmware.
    #[error(transparent)]
    Wild(#[from] Wild),
    /// A store below the region of the stack, while the stack pointer is there, too.
    #[error("stack overflow: store to {address:#010x}, below {limit:#010x}, where the stack ends")]
    StackOverflow {
        /// The address.
        address: u32,
        /// The lowest address of the stack.
        limit: u32,
    },
    /// An instruction that the chip does not have.
    #[error("the chip has no instruction {word:#010x}")]
    Illegal {
        /// Address of the instruction.
        address: u32,
        /// The instruction word.
        word: u32,
    },
    /// An instruction that the core knows but the chip lacks (a MIPS multiply, a LANai bit count, ...).
    #[error("the chip has no {mnemonic} instruction ({word:#010x})")]
    Missing {
        /// Address of the instruction.
        address: u32,
        /// The instruction's name in the manuals.
        mnemonic: &'static str,
        /// The instruction word.
        word: u32,
    },
}

impl Fault {
    /// The instruction to blame, if it is not the one before which the core stands.
    #[must_use]
    pub const fn blamed(&self) -> Option<u32> {
        match self {
            Self::Wild(wild) => wild.blamed(),
            _ => None,
        }
    }
}

/// Kind of a [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to memory that the chip cannot make.
    Access,
    /// An instruction that the chip does not have.
    Instruction,
    /// Execution where no code is, or memory that the program must not use.
    Place,
    /// A stack that has left its region.
    Stack,
}

value_enum!(FaultKind {
    Access {},
    Instruction {},
    Place {},
    Stack {}
});

impl Fault {
    /// The kind of the fault.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::Misaligned { .. } | Self::NothingThere { .. } | Self::NoMemory { .. } => {
                FaultKind::Access
            }
            Self::Illegal { .. } | Self::Missing { .. } => FaultKind::Instruction,
            Self::StackOverflow { .. } => FaultKind::Stack,
            _ => FaultKind::Place,
        }
    }
}

/// The instruction that accesses memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Access {
    /// Address of the instruction.
    pub pc: u32,
    /// The number of the core's remaining cycles before it, at least 1.
    pub left: i64,
}

/// Memory that only the core accesses while it runs.
pub trait OwnMemory {
    /// Whether the cycles of all its accesses are waits.
    const WAITS: bool = false;

    /// Starts a run of this many cycles.
    fn begin(&mut self, cycles: u64);

    /// The cycles of accesses since then that the core waited instead of working.
    fn stalled(&self) -> u64 {
        0
    }

    /// Reads a value, zero-extended, and returns it with the cycles of the access. `None` if the core must use its
    /// bus. `address` is aligned to `width`.
    fn load(&mut self, address: u32, width: Width, access: Access) -> Option<(u32, u32)>;

    /// Writes the `width` low bytes of a value, and returns the cycles of the access; `None` as for
    /// [`load`](Self::load).
    fn store(&mut self, address: u32, width: Width, value: u32, access: Access) -> Option<u32>;
}

/// No memory.
impl OwnMemory for () {
    fn begin(&mut self, _: u64) {}

    fn load(&mut self, _: u32, _: Width, _: Access) -> Option<(u32, u32)> {
        None
    }

    fn store(&mut self, _: u32, _: Width, _: u32, _: Access) -> Option<u32> {
        None
    }
}

/// Code and memory that a core accesses without its bus. `O` is a pre-decoded instruction.
#[derive(Debug)]
pub struct Private<'a, O, M, W> {
    /// Pre-decoded instructions whose fetch has no cost. The core stops before one with a probe or
    /// without a decoding.
    pub ops: &'a [Place<O>],
    /// Address of the first one.
    pub base: u32,
    /// Data.
    pub memory: M,
    /// Witness of the execution.
    pub witness: W,
}

impl<O, M: Default, W: Default> Default for Private<'_, O, M, W> {
    fn default() -> Self {
        Self {
            ops: &[],
            base: 0,
            memory: M::default(),
            witness: W::default(),
        }
    }
}

impl<O: Decoded, M, W> Private<'_, O, M, W> {
    /// The instruction at `pc`, if it is among these.
    ///
    /// The rotation makes one comparison of two: the low bits of an unaligned address become high bits
    /// of the index.
    #[inline(always)]
    pub(super) fn at(&self, pc: u32) -> Option<O> {
        let index = pc.wrapping_sub(self.base).rotate_right(2);
        self.ops.get(index as usize).map(Place::get)
    }
}

/// Width of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    Byte = 1,
    /// Two bytes.
    Half = 2,
    /// Four bytes.
    Word = 4,
}

impl Width {
    /// The bits of a value of this width.
    #[must_use]
    #[inline(always)]
    pub const fn mask(self) -> u32 {
        u32::MAX >> (32 - 8 * self as u32)
    }

    /// Shift of a value at `address`, aligned, within its big-endian word.
    #[must_use]
    #[inline(always)]
    pub const fn shift(self, address: u32) -> u32 {
        8 * (4 - self as u32 - (address & (4 - self as u32)))
    }
}
