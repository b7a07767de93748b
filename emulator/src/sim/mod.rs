//! The simulation: time, order, nodes and worlds.

mod component;
pub mod initiator;
mod look_ahead;
mod network;
pub mod node;
pub mod queue;
mod rounds;
pub mod saved;
mod slot;
mod threads;
pub mod time;
mod topology;
pub mod world;
