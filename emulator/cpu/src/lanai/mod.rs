//! The LANai core: big-endian, jumps with slots, and by generation exposed loads (docs/lanai-core.md, sections 1 and 2).

pub mod alu;
pub mod architecture;
pub mod asm;
pub mod bus;
mod core;
mod decode;
pub mod disasm;
pub mod exec;
mod fields;
pub mod isa;
mod kind;
mod op;
mod packed;
pub mod pipeline;
mod private;
mod runs;

pub use kind::Kind;
pub use op::Op;
