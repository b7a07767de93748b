//! Instructions as the translator knows them.

use translator::{Guest, Instruction, Leave, Operation, SharedBus, Spent, Start, Turns};

use super::exec::Core;
use super::isa::{Kind, Op};
use super::op::Held;

/// The instruction as the translator knows it; `None` if it is not to be translated.
pub(crate) fn instruction(op: Op) -> Option<Instruction> {
    if op.has_probe() {
        return None;
    }
    Some(Instruction {
        operation: operation(op.kind())?,
        dst: op.dst(),
        rs: op.rs(),
        rt: op.rt(),
        imm: op.imm(),
    })
}

/// The translator's name of each kind, which is the same.
macro_rules! operations {
    ($($kind:ident)*) => {
        const fn operation(kind: Kind) -> Option<Operation> {
            match kind {
                $(Kind::$kind => Some(Operation::$kind),)*
                Kind::Break | Kind::Missing | Kind::Illegal => None,
            }
        }
    };
}

operations! {
    Sll Srl Sra Sllv Srlv Srav Addu Subu And Or Xor Nor Slt Sltu Addiu Slti Sltiu Andi Ori Xori Lui Pri
    Lb Lbu Lh Lhu Lw Sb Sh Sw
    Beq Bne Blez Bgtz Bltz Bgez Bltzal Bgezal Beql Bnel Blezl Bgtzl Bltzl Bgezl Bltzall Bgezall
    J Jal Jr Jalr Joff
}

/// What a guest has done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    /// Whether there was an access that others can see.
    pub(crate) disturbed: bool,
    /// Instructions that the core had executed before its last access to shared memory, if there was one.
    pub(crate) accessed_after: Option<u64>,
    /// Cycles of the instructions, without those of accesses and branches.
    pub(crate) cycles: u64,
}

impl Core {
    /// Sets the guest to where the core stands, which is not in a delay slot. Its instructions begin before `until`, a later time.
    #[inline(always)]
    pub(crate) fn start_guest(&self, guest: &mut Guest<'_>, until: u64) {
        let (left, each) = (self.room(until), self.clock.ticks_per_cycle);
        let span = left.cast_unsigned().wrapping_mul(each);
        guest.start(Start {
            pc: self.pc(),
            left,
            end: self.clock.now.wrapping_add(span),
            ticks_per_cycle: each,
        });
    }

    /// Executes instructions of a guest that has started, on the core's registers.
    #[inline(always)]
    pub(crate) fn run_guest(&mut self, guest: &mut Guest<'_>, bus: &mut SharedBus) -> Leave {
        guest.run(self.registers_mut(), bus)
    }

    /// Executes this core's guest and another one, which have started, in turns.
    #[inline(always)]
    pub(crate) fn run_guests<'a>(
        &mut self,
        other: &mut Self,
        guests: (&mut Guest<'a>, &mut Guest<'a>),
        bus: &mut SharedBus,
        order: (bool, u64),
    ) -> Option<Turns> {
        let registers = (self.registers_mut(), other.registers_mut());
        guests.0.take_turns(guests.1, registers, bus, order)
    }

    /// Follows a guest to where it stands.
    #[inline(always)]
    pub(crate) fn follow_guest(&mut self, guest: &Guest<'_>) -> Stretch {
        let end = guest.end();
        let before = end
            .shared_at
            .map(|spent| self.timing.instructions_in(spent.cycles, spent.extra));
        let accessed_after = before.map(|instructions| self.instructions() + instructions);
        let Spent { cycles, extra } = end.spent;
        self.advance(end.pc, end.next_pc, cycles, extra);
        self.clock.stall_until(self.clock.now + end.stalled);
        Stretch {
            disturbed: end.disturbed,
            accessed_after,
            cycles: cycles - extra,
        }
    }

    /// Whether translated code may execute the core from here on: no delay slot comes next, and what was fetched is `op`, which stands
    /// in memory.
    pub(crate) fn may_enter(&self, op: Option<Op>) -> bool {
        !self.in_taken_slot() && self.held.op().is_none_or(|held| Some(held) == op)
    }

    /// Gives up the instruction that was fetched; whether there was one.
    pub(crate) const fn let_go(&mut self) -> bool {
        std::mem::replace(&mut self.held, Held::NONE).op().is_some()
    }

    /// The core has fetched `op`, whose access must wait.
    pub(crate) const fn hold(&mut self, op: Op) {
        self.held = Held::of(op);
    }

    /// The address that `op` accesses.
    pub(crate) fn address_of(&self, op: Op) -> u32 {
        self.place(op.rs()).wrapping_add(op.imm())
    }
}
