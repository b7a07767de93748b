//! The machinery that runs the cores: exact, and in as few host instructions as possible.
//!
//! * `bus`: target and time of a core's accesses;
//! * `rest`: the cores of a board with more than two, beside the two of a turn;
//! * `turn`: the core that runs next;
//! * `turns`: scheduling of the cores, skipping of idle rounds, host polls in between;
//! * `ahead`: execution of cached SRAM code ahead of the other cores, with a checkpoint to go back to;
//! * `private_memory`: memory accessed by a core's inner loop without the bus;
//! * `idle`: detection of idle loops;
//! * `period`: idle loops that follow the timer and repeat periodically;
//! * `pair`: two of the cores, and the rest;
//! * `wild`: execution that has left the code of the firmware.

pub(super) mod ahead;
pub(super) mod bus;
pub(super) mod idle;
pub(super) mod pair;
pub(super) mod period;
pub(super) mod private_memory;
pub(super) mod rest;
mod turn;
pub(super) mod turns;
mod wild;
