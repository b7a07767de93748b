//! The simulation: time, order, nodes and worlds.

pub mod board;
mod component;
pub mod initiator;
mod network;
pub mod node;
pub mod queue;
mod threads;
pub mod time;
mod topology;
pub mod world;
