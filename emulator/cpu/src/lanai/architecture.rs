//! The LANai instruction set, as tools see it.

use super::disasm::{self, register_names};
use super::fields;
use super::isa::{self, Action};
use super::pipeline::{FP, PC, Pipeline, RCA, SP};
use crate::architecture::{Architecture, FramePointer, FrameUse, Transfer};

/// The number of the machine in the head of an ELF file.
pub const EM_LANAI: u16 = 244;

/// The instruction set of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanai(pub Pipeline);

/// The instruction set of LLVM.
pub static LANAI: Lanai = Lanai(Pipeline::LLVM);
/// The instruction set of LANai 3 and 4.
pub static LANAI_4: Lanai = Lanai(Pipeline::L4);
/// The instruction set of LANai 7.
pub static LANAI_7: Lanai = Lanai(Pipeline::L7);
/// The instruction set of LANai 9.
pub static LANAI_9: Lanai = Lanai(Pipeline::L9);

impl Architecture for Lanai {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn elf_machine(&self) -> u16 {
        EM_LANAI
    }

    fn registers(&self) -> &'static [&'static str] {
        register_names(&self.0)
    }

    fn register(&self, name: &str) -> Option<usize> {
        let known = self.registers();
        let number = name.strip_prefix('r').unwrap_or(name);
        let number = || number.parse().ok().filter(|&number| number < known.len());
        known
            .iter()
            .position(|&known| known == name)
            .or_else(number)
    }

    fn mnemonic(&self, word: u32) -> Option<&'static str> {
        isa::lookup(word, &self.0).map(|row| row.name(word))
    }

    fn is_executable(&self, word: u32) -> bool {
        isa::is_executable(word, &self.0)
    }

    fn disassemble(&self, word: u32, _: u32) -> String {
        disasm::disassemble(word, &self.0)
    }

    fn target(&self, word: u32, _: u32) -> Option<u32> {
        let row = isa::lookup(word, &self.0)?;
        (row.action == Action::Branch).then(|| fields::target(word))
    }

    /// Compilers add 0 or register 0 to the register.
    fn target_register(&self, word: u32) -> Option<usize> {
        let is_plain = match word >> 28 {
            0xc => fields::register_at(word, 11) == 0,
            _ => word >> 31 == 0 && word as u16 == 0,
        };
        (is_plain && self.writes_pc(word)).then(|| fields::register_at(word, 18).into())
    }

    /// A function call is several instructions: the one that writes the return address into `rca`, the push of it, and the
    /// jump. Only the jump passes control on, so no instruction is a [`Transfer::Call`].
    fn transfer(&self, word: u32) -> Option<Transfer> {
        match isa::lookup(word, &self.0)?.action {
            Action::Branch | Action::BranchRelative if fields::branch_condition(word) == 0 => {
                Some(Transfer::Jump)
            }
            Action::Load(..) if fields::register_at(word, 23) == PC => Some(Transfer::Return),
            _ if !self.writes_pc(word) => None,
            _ if fields::register_at(word, 18) == RCA => Some(Transfer::Return),
            _ => Some(Transfer::Jump),
        }
    }

    /// A jump behind the push of the return address is a call.
    fn transfer_behind(&self, before: u32, word: u32) -> Option<Transfer> {
        match self.transfer(word) {
            Some(Transfer::Jump) if self.pushed(before) == Some(RCA) => Some(Transfer::Call),
            other => other,
        }
    }

    fn delay_slots(&self, word: u32) -> u32 {
        let action = isa::lookup(word, &self.0).map(|row| row.action);
        let slots = match action {
            Some(Action::Branch | Action::BranchRelative) => self.0.branch_slots,
            Some(Action::Load(..)) if fields::register_at(word, 23) == PC => self.0.pc_load_slots,
            _ if self.writes_pc(word) => self.0.pc_write_slots,
            _ => 0,
        };
        slots.into()
    }

    fn stored_register(&self, word: u32) -> Option<usize> {
        let row = isa::lookup(word, &self.0)?;
        matches!(row.action, Action::Store(_)).then(|| fields::register_at(word, 23).into())
    }

    fn falls_through(&self, word: u32) -> bool {
        self.is_executable(word) && self.transfer(word).is_none() && self.delay_slots(word) == 0
    }

    fn stack_pointer(&self) -> usize {
        SP.into()
    }

    fn return_address(&self) -> usize {
        RCA.into()
    }

    fn frame_pointer(&self) -> Option<FramePointer> {
        /// `st %fp, [--%sp]`.
        const PUSH_FP: u32 = 0x9293_FFFC;
        Some(FramePointer {
            register: FP.into(),
            push: PUSH_FP,
        })
    }

    /// Compilers move the stack pointer by `add` and `sub` with a constant of 16 bits.
    fn stack_change(&self, word: u32) -> Option<i32> {
        const HIGH_HALF: u32 = 1 << 16;
        let row = isa::lookup(word, &self.0)?;
        let registers = [18, 23].map(|at| fields::register_at(word, at));
        let constant = word >> 31 == 0 && word & HIGH_HALF == 0 && registers == [SP, SP];
        let amount = i32::from(word as u16);
        match row.mnemonic {
            "add" if constant => Some(amount),
            "sub" if constant => Some(-amount),
            _ => None,
        }
    }

    /// The old frame pointer, the function's values, and, if it calls others, the return address that they take off.
    ///
    /// A frame of 64 KB and more, whose size no instruction holds, and one of a computed size, move the stack pointer by a register.
    fn frame_use(&self, code: &[u32]) -> FrameUse {
        let pushes = |register| code.iter().any(|&word| self.pushed(word) == Some(register));
        let changes = code.iter().filter_map(|&word| self.stack_change(word));
        // The amount is a number without sign.
        let taken = changes.filter(|change| *change < 0).map(i32::unsigned_abs);
        let words = u32::from(pushes(FP)) + u32::from(pushes(RCA));
        FrameUse {
            bytes: taken.fold(4 * words, u32::saturating_add),
            is_all: !code.iter().any(|&word| self.computes_stack(word)),
        }
    }
}

impl Lanai {
    /// The register that an instruction pushes onto the stack.
    fn pushed(&self, word: u32) -> Option<u8> {
        /// `st %r0, [--%sp]` without its register.
        const PUSH: u32 = 0x9013_FFFC;
        const REGISTER: u32 = 31 << 23;
        (word & !REGISTER == PUSH).then(|| fields::register_at(word, 23))
    }

    /// Whether an instruction makes the stack longer by an amount that is not known: it computes the stack pointer, neither by
    /// [`stack_change`](Architecture::stack_change), nor from the frame pointer at a function's end, nor as a constant, whose lower
    /// half `or` adds.
    fn computes_stack(&self, word: u32) -> bool {
        let Some(row) = isa::lookup(word, &self.0) else {
            return false;
        };
        let [from, to] = [18, 23].map(|at| fields::register_at(word, at));
        let is_constant = word >> 31 == 0;
        let is_known = match from {
            0 | FP => is_constant,
            SP => is_constant && (row.mnemonic == "or" || self.stack_change(word).is_some()),
            _ => false,
        };
        let computes = matches!(
            row.action,
            Action::Alu(_) | Action::Select | Action::Nested(_) | Action::Count(_)
        );
        computes && to == SP && !is_known
    }

    /// Whether an instruction computes a value for the program counter.
    fn writes_pc(&self, word: u32) -> bool {
        let action = isa::lookup(word, &self.0).map(|row| row.action);
        let unconditional = isa::is_executable(word, &self.0)
            && !matches!(action, Some(Action::Alu(_)) if word >> 28 == 0xc && fields::short_condition(word) != 0);
        match action {
            Some(Action::SetCondition) => fields::register_at(word, 18) == PC,
            Some(
                Action::Alu(_)
                | Action::Select
                | Action::Nested(_)
                | Action::Count(_)
                | Action::Constant,
            ) => unconditional && fields::register_at(word, 23) == PC,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanai::asm::assemble;

    fn word(text: &str) -> u32 {
        let program = assemble(text).unwrap();
        program.words().next().unwrap().1
    }

    #[test]
    fn instructions_say_where_control_goes() {
        let check = |text, transfer, target, slots: [u32; 4]| {
            let word = word(text);
            let architectures = [LANAI, LANAI_4, LANAI_7, LANAI_9];
            for (architecture, slots) in architectures.iter().zip(slots) {
                let found = (
                    architecture.transfer(word),
                    architecture.target(word, 0x1000),
                    architecture.delay_slots(word),
                );
                assert_eq!(found, (transfer, target, slots), "{text}: {architecture:?}");
            }
        };
        check(
            "bt 0x2000",
            Some(Transfer::Jump),
            Some(0x2000),
            [1, 1, 2, 1],
        );
        check("bne 0x2000", None, Some(0x2000), [1, 1, 2, 1]);
        check("bt.r %r5, 0x10", Some(Transfer::Jump), None, [1, 1, 2, 1]);
        check("mov %r9, %pc", Some(Transfer::Jump), None, [1, 1, 2, 1]);
        check("bt %r9", Some(Transfer::Jump), None, [1, 1, 2, 1]);
        check("mov %rca, %pc", Some(Transfer::Return), None, [1, 1, 2, 1]);
        check(
            "ld -4[%fp], %pc",
            Some(Transfer::Return),
            None,
            [2, 2, 3, 2],
        );
        check("add %pc, 0x10, %rca", None, None, [0; 4]);
    }

    #[test]
    fn words_are_known_by_what_the_pipeline_makes_of_them() {
        let popc = word("popc %r5, %r6");
        let check = |architecture: &Lanai, word, mnemonic, executable| {
            assert_eq!(architecture.mnemonic(word), mnemonic);
            assert_eq!(architecture.is_executable(word), executable);
        };
        check(&LANAI, popc, Some("popc"), true);
        check(&LANAI_4, popc, Some("add"), true);
        check(&LANAI_7, popc, Some("popc"), false);
        check(&LANAI_9, word("seq %r5"), Some("seq"), true);
        check(&LANAI_7, word("seq %r5"), Some("seq"), false);
        check(&LANAI, 0xffff_ffff, None, false);
        assert_eq!(LANAI.stored_register(word("st %rca, [--%sp]")), Some(15));
        assert_eq!(LANAI.stored_register(word("ld 4[%sp], %r8")), None);
        assert_eq!(LANAI.stack_change(word("sub %sp, 0x18, %sp")), Some(-24));
        assert_eq!(LANAI.stack_change(word("add %sp, 0x18, %sp")), Some(24));
        assert_eq!(LANAI.stack_change(word("add %sp, 0x18, %fp")), None);
        assert_eq!(LANAI.stack_change(word("sub %sp, %r5, %sp")), None);
        assert!(LANAI.falls_through(word("sub %sp, 0x18, %sp")));
        assert!(!LANAI.falls_through(word("bne 0x2000")));
    }

    #[test]
    fn functions_take_what_their_code_says() {
        let check = |text: &str, bytes, is_all| {
            let code: Vec<u32> = assemble(text).unwrap().words().map(|word| word.1).collect();
            let expected = FrameUse { bytes, is_all };
            assert_eq!(LANAI.frame_use(&code), expected, "{text}");
        };
        let entry = "st %fp, [--%sp]\n add %sp, 8, %fp\n";
        let call = "add %pc, 0x10, %rca\n st %rca, [--%sp]\n bt 0x2000\n nop\n";
        let end = "ld -4[%fp], %pc\n add %fp, 0, %sp\n ld -8[%fp], %fp\n";
        check("ld [%sp++], %pc\n nop\n nop\n", 0, true);
        check(&format!("{entry} sub %sp, 0x18, %sp\n {end}"), 28, true);
        check(
            &format!("{entry} sub %sp, 0x9c58, %sp\n {call} {end}"),
            0x9C58 + 8,
            true,
        );
        // A size in a register, or in the upper half of a constant.
        check(
            &format!("{entry} sub %sp, 0x18, %sp\n sub %sp, %r9, %sp\n {call} {end}"),
            32,
            false,
        );
        check(&format!("{entry} sub %sp, 0x10000, %sp\n {end}"), 4, false);
        check(&format!("{entry} or %r3, 0x0, %sp\n {end}"), 4, false);
    }

    #[test]
    fn a_jump_behind_the_push_of_the_return_address_is_a_call() {
        let (push, jump) = (word("st %rca, [--%sp]"), word("bt 0x2000"));
        let check = |before, word, expected| {
            assert_eq!(LANAI.transfer_behind(before, word), Some(expected));
        };
        check(push, jump, Transfer::Call);
        check(push, word("mov %r3, %pc"), Transfer::Call);
        check(word("st %fp, [--%sp]"), jump, Transfer::Jump);
        check(
            word("ld -4[%fp], %r3"),
            word("mov %r3, %pc"),
            Transfer::Jump,
        );
        check(push, word("ld -4[%fp], %pc"), Transfer::Return);
    }

    #[test]
    fn registers_have_names_and_numbers() {
        let check = |name, llvm, real| {
            assert_eq!(LANAI.register(name), llvm, "{name}");
            assert_eq!(LANAI_4.register(name), real, "{name}");
        };
        check("sp", Some(4), Some(4));
        check("rca", Some(15), Some(15));
        check("r15", Some(15), Some(15));
        check("isr", None, Some(31));
        check("31", Some(31), Some(31));
        check("r32", None, None);
    }
}
