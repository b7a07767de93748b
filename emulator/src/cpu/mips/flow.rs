//! Control flow after an instruction.

use super::core::Registers;
use super::isa::Kind::{
    Beq, Beql, Bgez, Bgezal, Bgezall, Bgezl, Bgtz, Bgtzl, Blez, Blezl, Bltz, Bltzal, Bltzall,
    Bltzl, Bne, Bnel, J, Jal, Jalr, Joff, Jr,
};
use super::isa::Op;

/// Control flow after an instruction.
pub(super) enum Next {
    /// To the next instruction.
    Sequence,
    /// To the next instruction and then to this address.
    Target(u32),
    /// Past the next instruction.
    Annul,
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
        Jr => Next::Target(rs),
        Jalr => {
            link();
            Next::Target(rs)
        }
        Joff => Next::Target(rs.wrapping_add(rt << 3)),
        _ => return None,
    })
}
