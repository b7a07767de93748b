//! The machinery that runs the cores: exact, and in as few host instructions as possible.
//!
//! * `bus`: where a core's access goes and when it may take effect;
//! * `turns`: the cores take turns, idle rounds are skipped, host polls happen on the way;
//! * `ahead`: execution of cached SRAM code ahead of the other core, with a checkpoint to go back to;
//! * `private_memory`: memory that a core reaches within its inner loop, without the bus;
//! * `idle`: detection of idle loops;
//! * `period`: idle loops that follow the timer and repeat periodically.

pub(super) mod ahead;
pub(super) mod bus;
pub(super) mod idle;
pub(super) mod period;
pub(super) mod private_memory;
pub(super) mod turns;
