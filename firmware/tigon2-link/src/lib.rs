//! Multiplication and division in software for the Alteon Tigon2, which has neither, at link time.
//!
//! `rustc` generates `mult`, `divu`, `mfhi` and the like for every MIPS. `driver` links with `rust-lld`; an image without
//! such instructions is complete. Otherwise it links once more, with space for code, and changes the image:
//!
//! * LO is the register `$k1`, so `mflo` and `mtlo` become moves. HI is a word of the CPU's scratchpad.
//! * All others move out of line (`plan`): a jump replaces the instruction, and since the jump has a delay slot, a
//!   neighbour moves too, or the branch in whose slot the instruction was. There (`emit`), `mult`, `multu`, `div` and
//!   `divu` call a routine of the HAL, which keeps all registers.
//!
//! No other instruction changes its address, so that debugging information, probes and branches stay right. What the routines and
//! the moved code share is in `defs::software`.

pub mod driver;
mod elf;
mod emit;
mod error;
mod instruction;
mod plan;

pub use emit::{Chunk, Routines};
pub use error::{LinkError, Reason, UnmovableInstruction};
pub use plan::{CodeRun, LinkedProgram, Plan, plan};
