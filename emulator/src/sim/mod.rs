//! The simulation: time, order, nodes and worlds.

pub mod board;
mod component;
pub mod initiator;
pub mod node;
pub mod queue;
mod threads;
pub mod time;
pub mod world;
