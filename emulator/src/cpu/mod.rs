//! Processor cores. A core does not depend on a board: it accesses everything through its bus.

pub mod architecture;
pub mod clock;
pub mod mips;
