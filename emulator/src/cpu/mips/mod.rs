//! The Tigon2's MIPS core: big-endian, one branch delay slot, no exceptions, and the two dispatch
//! instructions PRI and JOFF (docs/tigon2.md, section 1).

pub mod asm;
pub mod bus;
pub mod disasm;
pub mod exec;
pub mod isa;
mod op;
