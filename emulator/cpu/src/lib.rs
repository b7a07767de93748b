//! Processor cores. A core does not depend on a board: it accesses everything through its bus.
#![deny(missing_docs)]

pub mod ahead;
pub mod architecture;
pub mod asm;
pub mod bus;
pub mod clock;
pub mod code_map;
pub mod decoded;
pub mod exit;
pub mod lanai;
pub mod mips;
pub mod pages;
pub mod shared;
pub mod shell;
pub mod witness;
