//! Terms of every part of the emulator: times, queues of events, initiators, units that travel, losses, faults and random bytes.
#![deny(missing_docs)]

pub mod digest;
pub mod fault;
pub mod initiator;
pub mod loss;
pub mod queue;
pub mod random;
pub mod time;
pub mod unit;
