//! The Tigon2's MIPS core: big-endian, one branch delay slot, no exceptions, and the two dispatch
//! instructions PRI and JOFF (docs/tigon2.md, section 1).

mod alu;
pub mod architecture;
pub mod asm;
pub mod bits;
pub mod bus;
mod core;
pub mod disasm;
pub mod exec;
mod flow;
pub mod isa;
pub mod linear;
mod op;
mod private;
pub mod whole;
pub mod witness;
