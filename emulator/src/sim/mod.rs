//! The simulation: time, order, nodes and worlds.

pub mod board;
pub mod initiator;
pub mod node;
pub mod queue;
pub mod time;
pub mod world;
