//! Control flow after an instruction.

use super::core::{CoreTiming, JUMPED_FROM, Registers};
use super::isa::Kind::{
    Beq, Beql, Bgez, Bgezal, Bgezall, Bgezl, Bgtz, Bgtzl, Blez, Blezl, Bltz, Bltzal, Bltzall,
    Bltzl, Bne, Bnel, J, Jal, Jalr, Joff, Jr,
};
use super::isa::Op;
use super::witness::Witness;

/// Control flow after an instruction.
#[derive(Clone, Copy)]
pub(super) enum Next {
    /// The next instruction.
    Sequence,
    /// The next instruction, and then the one at this address.
    Target(u32),
    /// Past the next instruction.
    Annul,
}

impl Next {
    /// Cycles that it costs.
    #[inline(always)]
    pub(super) const fn cycles(self, timing: &CoreTiming) -> u32 {
        match self {
            Self::Sequence => 0,
            Self::Target(_) => timing.taken_branch_cycles,
            Self::Annul => timing.annulled_slot_cycles,
        }
    }

    /// Reports how control leaves the instruction at `pc`, before the one at `next_pc`, of a core whose cycle takes `ticks`.
    #[inline(always)]
    pub(super) fn report<W: Witness>(
        self,
        witness: &mut W,
        timing: &CoreTiming,
        ticks: u64,
        pc: u32,
        next_pc: u32,
    ) {
        let cycles = self.cycles(timing);
        if cycles > 0 {
            witness.branched(pc, next_pc, u64::from(cycles) * ticks);
        }
        let behind = next_pc.wrapping_add(4);
        match self {
            Self::Sequence => {}
            Self::Target(target) => witness.jumps(next_pc, target),
            Self::Annul => witness.leaves_out(next_pc, behind, behind),
        }
    }
}

/// The successor of `op`, which stands at `pc`; `None` if it is no branch or jump, or carries a probe.
/// A call leaves its link.
#[inline(always)]
pub(super) fn next(registers: &mut Registers, op: Op, pc: u32) -> Option<Next> {
    let rs = registers[op.rs() as usize];
    let rt = registers[op.rt() as usize];
    let signed = rs.cast_signed();
    let target = || Next::Target(pc.wrapping_add(op.imm()));
    let branch = |taken: bool| if taken { target() } else { Next::Sequence };
    let likely = |taken: bool| if taken { target() } else { Next::Annul };
    let jump = || Next::Target(pc.wrapping_add(4) & 0xf000_0000 | op.imm());
    let mut link = || registers[op.dst() as usize] = pc.wrapping_add(8);
    Some(match op.plain_kind() {
        Beq => branch(rs == rt),
        Bne => branch(rs != rt),
        Blez => branch(signed <= 0),
        Bgtz => branch(signed > 0),
        Bltz => branch(signed < 0),
        Bgez => branch(signed >= 0),
        Bltzal => {
            link();
            branch(signed < 0)
        }
        Bgezal => {
            link();
            branch(signed >= 0)
        }
        Beql => likely(rs == rt),
        Bnel => likely(rs != rt),
        Blezl => likely(signed <= 0),
        Bgtzl => likely(signed > 0),
        Bltzl => likely(signed < 0),
        Bgezl => likely(signed >= 0),
        Bltzall => {
            link();
            likely(signed < 0)
        }
        Bgezall => {
            link();
            likely(signed >= 0)
        }
        J => jump(),
        Jal => {
            link();
            jump()
        }
        Jr => {
            registers[JUMPED_FROM] = pc;
            Next::Target(rs)
        }
        Jalr => {
            link();
            Next::Target(rs)
        }
        Joff => Next::Target(rs.wrapping_add(rt << 3)),
        _ => return None,
    })
}
