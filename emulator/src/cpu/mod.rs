//! Processor cores. A core knows no board: it sees the world through its bus.

pub mod architecture;
pub mod clock;
pub mod mips;
