//! Fingerprints of code that LLVM 22's back end for the LANai is known to compile wrongly (docs/lanai-toolchain.md).

use std::fmt::{self, Display};

use rustc_demangle::demangle;

use crate::input::{Definition, Input, Role, Section};

/// A known miscompilation that is visible in machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A conditional instruction sets the flags: where its condition fails, the next one reads old flags.
    ConditionalFlags,
    /// A load or store moves its base register, which the compiler's later steps do not know.
    MovedBase,
    /// A store to a distant stack slot stores the distance in place of the value.
    FarStackSlot,
    /// A register is read in the slot of a branch, where it may have moved behind another read.
    ReadInSlot,
    /// A function needs 64 KB of stack or more, and takes only the lower 16 bits of that.
    LargeFrame,
    /// The address of a static and a constant that the compiler has added lie outside of what an instruction holds.
    FarElement,
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::ConditionalFlags => {
                "a conditional instruction sets flags; compile with -disable-peephole"
            }
            Fault::MovedBase => {
                "a load or store moves its base; compile with -disable-lanai-mem-alu-combiner"
            }
            Fault::FarStackSlot => {
                "a store to the stack stores its offset, not the value; the frame exceeds 512 bytes: make its buffers static"
            }
            Fault::ReadInSlot => {
                "a register is read in the slot of a branch, perhaps out of order; read it through lanai_rt::Register"
            }
            Fault::LargeFrame => {
                "the frame exceeds 64 KB, and the stack pointer moves by the lower 16 bits of its size; make its buffers static"
            }
            Fault::FarElement => {
                "an index into a static has a constant part that lies far outside; hide it with core::hint::black_box"
            }
        })
    }
}

/// A place with bad code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCode {
    /// The object.
    pub file: String,
    /// The function, readable.
    pub function: String,
    /// Offset in the function, in bytes.
    pub offset: u32,
    /// The known fault whose fingerprint the code has.
    pub fault: Fault,
}

impl Display for BadCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadCode {
            file,
            function,
            offset,
            fault,
        } = self;
        write!(f, "{function}+{offset:#x} ({file}): {fault}")
    }
}

/// Number of the program counter.
const PC: u32 = 2;
/// Number of the stack pointer.
const SP: u32 = 4;
/// Number of the frame pointer.
const FP: u32 = 5;

/// A bit field of an instruction: `bits` from bit `low`.
fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// Whether a shift or selection field makes this register instruction a selection, which reads a condition by design.
fn is_selection(word: u32) -> bool {
    field(word, 8, 3) == 7 && field(word, 3, 5) == 0
}

/// Whether the instruction after this one is in its slot: a branch, or a computed jump.
fn has_slot(word: u32) -> bool {
    match word >> 28 {
        0..=7 | 12 => field(word, 23, 5) == PC,
        // Not the one that stores a condition.
        14 => word & 2 == 0 || word & 1 << 24 != 0,
        _ => false,
    }
}

/// The fault of the instruction `word` behind `before`.
fn fault(before: u32, word: u32) -> Option<Fault> {
    let (destination, base, second) = (field(word, 23, 5), field(word, 18, 5), field(word, 11, 5));
    match word >> 28 {
        12 => {
            let is_conditional = field(word, 0, 3) != 0 || field(word, 16, 1) != 0;
            let bad = is_conditional && field(word, 17, 1) == 1 && !is_selection(word);
            bad.then_some(Fault::ConditionalFlags)
        }
        8..=11 if field(word, 16, 1) == 1 && base != SP => Some(Fault::MovedBase),
        11 => {
            let adds = matches!(field(word, 8, 3), 0 | 2);
            (adds && base == FP && second == destination).then_some(Fault::FarStackSlot)
        }
        8 => (base == 0 && has_slot(before)).then_some(Fault::ReadInSlot),
        15 if field(word, 15, 3) == 0b110 => {
            if field(word, 10, 1) == 1 && base != SP {
                return Some(Fault::MovedBase);
            }
            let is_load = field(word, 13, 1) == 0;
            (is_load && base == 0 && has_slot(before)).then_some(Fault::ReadInSlot)
        }
        _ => None,
    }
}

/// Registers that hold a constant of more than 16 bits.
#[derive(Default)]
struct LargeConstants(u32);

impl LargeConstants {
    /// Notes what `word` writes. Whether it uses such a constant as a distance from the frame pointer, which only a frame of that
    /// size has.
    fn is_distance(&mut self, word: u32) -> bool {
        let (destination, base) = (field(word, 23, 5), field(word, 18, 5));
        let written = 1 << destination;
        match word >> 28 {
            // The upper half of a constant, and the lower one.
            0 if base == 0 && field(word, 16, 1) == 1 && word as u16 != 0 => self.0 |= written,
            5 if base == destination && field(word, 16, 1) == 0 => {}
            0..=7 => self.0 &= !written,
            8..=12 => {
                let is_register = !matches!(word >> 28, 8 | 9);
                let subtracts = is_register && field(word, 8, 3) == 2 && base == FP;
                let is_distance = subtracts && self.0 & 1 << field(word, 11, 5) != 0;
                if !matches!(word >> 28, 9 | 11) {
                    self.0 &= !written;
                }
                return is_distance;
            }
            _ => {}
        }
        false
    }
}

/// Name and start of the function at `offset` of a section; the section itself if no symbol tells.
fn function_at(input: &Input, index: usize, offset: u32) -> (String, u32) {
    let starts = input.symbols.iter().filter_map(|symbol| {
        let Definition::Section(section, start) = symbol.definition else {
            return None;
        };
        let is_function = symbol.kind == object::elf::STT_FUNC;
        (section == index && is_function && start <= offset).then_some((start, &symbol.name))
    });
    match starts.max_by_key(|(start, _)| *start) {
        Some((start, name)) => (format!("{:#}", demangle(name)), start),
        None => (input.sections[index].name.clone(), 0),
    }
}

/// Bad code at `offset` of a section.
pub(crate) fn at(input: &Input, index: usize, offset: u32, fault: Fault) -> BadCode {
    let (function, start) = function_at(input, index, offset);
    BadCode {
        file: input.file.clone(),
        function,
        offset: offset - start,
        fault,
    }
}

/// Searches the section `index` of `input`.
pub(crate) fn search(input: &Input, index: usize) -> Vec<BadCode> {
    let section: &Section = &input.sections[index];
    if section.role != Role::Code || !input.is_compiled {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut before = 0;
    let mut constants = LargeConstants::default();
    for (offset, bytes) in (0_u32..).step_by(4).zip(section.bytes.chunks_exact(4)) {
        let word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
        let large = constants.is_distance(word).then_some(Fault::LargeFrame);
        if let Some(fault) = fault(before, word).or(large) {
            found.push(at(input, index, offset, fault));
        }
        before = word;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: u32, word: u32, expected: Option<Fault>) {
        assert_eq!(fault(before, word), expected, "{word:#010x}");
    }

    #[test]
    fn bad_words_are_found() {
        let nop = 1;
        for (word, expected) in [
            // or.f.ne %r6, %r7, %r6; or %r6, %r7, %r6; or.f without a condition; sel.eq.
            (0xC31A_3D03, Some(Fault::ConditionalFlags)),
            (0xC318_3D00, None),
            (0xC31A_3D00, None),
            (0xC31B_3F03, None),
            // sh.f.ne
            (0xC31A_3F83, Some(Fault::ConditionalFlags)),
            // st %r3, [%r6++]; the same with %sp; st %r3, 4[%r6].
            (0x9199_0004, Some(Fault::MovedBase)),
            (0x9191_0004, None),
            (0x919A_0004, None),
            // st.h %r3, [%r6++] and 2[%r6].
            (0xF19B_2402, Some(Fault::MovedBase)),
            (0xF19B_2802, None),
            // st.b %r3, [%fp sub %r3]; of another register; from another base; a load.
            (0xB196_1A04, Some(Fault::FarStackSlot)),
            (0xB196_3204, None),
            (0xB19A_1A04, None),
            (0xA196_1A04, None),
        ] {
            check(nop, word, expected);
        }
    }

    #[test]
    fn large_distances_from_the_frame_pointer_are_found() {
        let check = |words: &[u32], expected| {
            let mut constants = LargeConstants::default();
            let found = words.iter().map(|word| constants.is_distance(*word)).last();
            assert_eq!(found, Some(expected), "{words:x?}");
        };
        // mov 0x10000, %r9; or %r9, 0x117c, %r9; sub %fp, %r9, %r3, or ld [%fp sub %r9], %rv.
        let (high, low) = (0x0481_0001, 0x54A4_117C);
        for distance in [0xC194_4A00, 0xA416_4A02] {
            check(&[high, low, distance], true);
            check(&[0x0481_0000, low, distance], false);
            // mov 0x10000, %r3 is another register; add %r0, 0x4, %r9 is small.
            check(&[0x0181_0001, low, distance], false);
            check(&[high, 0x0480_0004, distance], false);
        }
        // sub %r6, %r9, %r3
        check(&[high, low, 0xC198_4A00], false);
    }

    #[test]
    fn reads_in_slots_are_found() {
        // ld -368[%r0], %r3
        let read = 0x8182_FE90;
        let bad = Some(Fault::ReadInSlot);
        check(1, read, None);
        // bt, bne, a store of the condition, mov %r6, %pc, or %r6, %r7, %pc.
        check(0xE000_0040, read, bad);
        check(0xEC00_0040, read, bad);
        check(0xE000_0002, read, None);
        check(0x5118_0000, read, bad);
        check(0xC118_3D00, read, bad);
        // ld -368[%r6] is no register for sure; st -368[%r0] cannot pass a read.
        check(0xE000_0040, 0x819A_FE90, None);
        check(0xE000_0040, 0x9182_FE90, None);
        // uld.b -2[%r0]
        check(0xE000_0040, 0xF183_5BFE, bad);
    }
}
