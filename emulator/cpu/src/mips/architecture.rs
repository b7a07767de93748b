//! The MIPS instruction set of the chip, as tools see it.

use goblin::elf::header::EM_MIPS;

use super::disasm::{self, REGISTER_NAMES};
use super::isa::{self, Flow, Kind, Operand, Row};
use crate::architecture::{Architecture, Transfer};

/// The register of the stack pointer.
const SP: usize = 29;
/// The register of a function's return address.
const RA: u32 = 31;

/// MIPS II, with `PRI` and `JOFF`, and perhaps with the bit instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mips {
    has_bit_instructions: bool,
}

/// The instruction set of the chip.
pub static MIPS: Mips = Mips {
    has_bit_instructions: false,
};
/// The instruction set with the bit instructions, which a board may have.
pub static MIPS_WITH_BITS: Mips = Mips {
    has_bit_instructions: true,
};

impl Mips {
    fn lookup(self, word: u32) -> Option<&'static Row> {
        isa::lookup(word).filter(|row| self.has_bit_instructions || !row.kind.is_option())
    }
}

impl Architecture for Mips {
    fn name(&self) -> &'static str {
        "mips"
    }

    fn elf_machine(&self) -> u16 {
        EM_MIPS
    }

    fn registers(&self) -> &'static [&'static str] {
        &REGISTER_NAMES
    }

    fn register(&self, name: &str) -> Option<usize> {
        let name = if name == "s8" { "fp" } else { name };
        let number = || name.parse().ok().filter(|&number| number < 32);
        let known = REGISTER_NAMES.iter().position(|&known| known == name);
        known.or_else(number)
    }

    fn mnemonic(&self, word: u32) -> Option<&'static str> {
        self.lookup(word).map(|row| row.mnemonic)
    }

    fn instead(&self, word: u32) -> Option<&'static str> {
        if isa::lookup(word)?.kind.is_option() {
            return Some(
                "the chip has no bit instructions: a board tigon-n may have them (docs/tigon2-n.md)",
            );
        }
        Some(match self.mnemonic(word)? {
            "mult" | "multu" | "div" | "divu" | "mfhi" | "mthi" | "mflo" | "mtlo" | "lwl"
            | "lwr" | "swl" | "swr" | "sync" | "teq" => {
                "multiplication, division, unaligned accesses and fences are done in software by the linker tigon2-link: \
                 link with it, as firmware/build.sh of a new project does (docs/images.md, \"Ordinary Rust\")"
            }
            "ll" | "sc" => {
                "the chip has no atomic changes of memory: use atomic loads and stores, the semaphore, or a queue of the HAL"
            }
            "syscall" | "tge" | "tgeu" | "tlt" | "tltu" | "tne" | "tgei" | "tgeiu" | "tlti"
            | "tltiu" | "teqi" | "tnei" => {
                "the chip has no traps: use panic!, or fail! of the HAL, which stop the CPU"
            }
            "mfc0" | "mtc0" | "cop0" | "cache" | "pref" => {
                "the chip has no coprocessors and its cache has no instructions: use the registers of the HAL"
            }
            _ => {
                "compile for firmware/tigon2.json (MIPS II with software floating point); code for other processors of \
                 the family does not run"
            }
        })
    }

    fn is_executable(&self, word: u32) -> bool {
        self.lookup(word)
            .is_some_and(|row| !matches!(row.kind, Kind::Missing | Kind::Illegal))
    }

    fn disassemble(&self, word: u32, address: u32) -> String {
        match self.lookup(word) {
            None => disasm::no_instruction(word),
            Some(_) => disasm::disassemble(word, address),
        }
    }

    fn target(&self, word: u32, address: u32) -> Option<u32> {
        let operands = self.lookup(word)?.operands.iter();
        operands.copied().find_map(|operand| match operand {
            Operand::Branch => Some(isa::branch_target(word, address)),
            Operand::Jump => Some(isa::jump_target(word, address)),
            _ => None,
        })
    }

    fn target_register(&self, word: u32) -> Option<usize> {
        let kind = self.lookup(word)?.kind;
        matches!(kind, Kind::Jr | Kind::Jalr).then_some((word >> 21 & 31) as usize)
    }

    fn transfer(&self, word: u32) -> Option<Transfer> {
        match self.lookup(word)?.kind {
            Kind::Jal
            | Kind::Jalr
            | Kind::Bgezal
            | Kind::Bltzal
            | Kind::Bgezall
            | Kind::Bltzall => Some(Transfer::Call),
            Kind::Jr if word >> 21 & 31 == RA => Some(Transfer::Return),
            Kind::Jr | Kind::J => Some(Transfer::Jump),
            Kind::Joff => Some(Transfer::Dispatch),
            _ => None,
        }
    }

    fn delay_slots(&self, word: u32) -> u32 {
        let row = self.lookup(word);
        row.is_some_and(|row| row.kind.flow().has_delay_slot())
            .into()
    }

    fn falls_through(&self, word: u32) -> bool {
        self.lookup(word)
            .is_some_and(|row| row.kind.flow() == Flow::Next)
    }

    fn stored_register(&self, word: u32) -> Option<usize> {
        isa::stored_register(word)
    }

    fn stack_pointer(&self) -> usize {
        SP
    }

    fn return_address(&self) -> usize {
        RA as usize
    }

    fn stack_change(&self, word: u32) -> Option<i32> {
        let adds = self.lookup(word)?.kind == Kind::Addiu;
        let [from, to] = [word >> 21 & 31, word >> 16 & 31].map(|register| register as usize);
        let amount = (word as u16).cast_signed();
        (adds && from == SP && to == SP).then_some(amount.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mips::asm::assemble;

    fn word(text: &str) -> u32 {
        let program = assemble(&format!(".org 0x1000\n{text}")).unwrap();
        program.words().next().unwrap().1
    }

    #[test]
    fn instructions_say_where_control_goes() {
        let check = |text, transfer, target, slots| {
            let word = word(text);
            let found = (
                MIPS.transfer(word),
                MIPS.target(word, 0x1000),
                MIPS.delay_slots(word),
            );
            assert_eq!(found, (transfer, target, slots), "{text}");
        };
        check("jal 0x2000", Some(Transfer::Call), Some(0x2000), 1);
        check("j 0x2000", Some(Transfer::Jump), Some(0x2000), 1);
        check("jr $ra", Some(Transfer::Return), None, 1);
        check("jr $t0", Some(Transfer::Jump), None, 1);
        check("joff $t0, $t1", Some(Transfer::Dispatch), None, 1);
        check("beq $t0, $t1, 0x1010", None, Some(0x1010), 1);
        check("addu $t0, $t1, $t2", None, None, 0);
    }

    #[test]
    fn words_are_known_by_what_the_chip_makes_of_them() {
        let check = |word, mnemonic: Option<&str>, executable| {
            assert_eq!(MIPS.mnemonic(word), mnemonic);
            assert_eq!(MIPS.is_executable(word), executable);
        };
        check(word("addu $t0, $t1, $t2"), Some("addu"), true);
        check(0x0128_0019, Some("multu"), false);
        check(0xffff_ffff, Some("sd"), false);
        // A bit instruction is one of the boards that have it only.
        let setb = word("setb $t0, $t1");
        check(setb, None, false);
        assert_eq!(MIPS.disassemble(setb, 0), ".word 0x01090028");
        assert!(MIPS_WITH_BITS.is_executable(setb) && MIPS_WITH_BITS.falls_through(setb));
        let update = word("update $v0, $t0, $t1");
        assert_eq!(
            MIPS_WITH_BITS.disassemble(update, 0),
            "update $v0, $t0, $t1"
        );
        assert_eq!(MIPS_WITH_BITS.mnemonic(update), Some("update"));
        assert_eq!(MIPS.stored_register(word("sw $t0, 4($sp)")), Some(8));
        assert_eq!(MIPS.stored_register(word("lw $t0, 4($sp)")), None);
        assert_eq!(MIPS.stack_change(word("addiu $sp, $sp, -24")), Some(-24));
        assert_eq!(MIPS.stack_change(word("addiu $sp, $fp, 24")), None);
        assert_eq!(MIPS.stack_change(word("addu $sp, $sp, $t0")), None);
        assert!(MIPS.falls_through(word("addu $t0, $t1, $t2")));
        assert!(!MIPS.falls_through(word("beq $t0, $t1, 0x1010")));
        assert_eq!(MIPS.return_distance(word("jal 0x2000")), 8);
    }

    #[test]
    fn registers_have_names_and_numbers() {
        let check = |name, number| assert_eq!(MIPS.register(name), number, "{name}");
        check("sp", Some(29));
        check("fp", Some(30));
        check("s8", Some(30));
        check("31", Some(31));
        check("32", None);
        check("x1", None);
    }
}
