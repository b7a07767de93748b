//! The simulation: time, order, nodes and worlds.

mod component;
mod earliest;
pub mod initiator;
pub mod node;
pub mod queue;
pub mod quiet;
pub mod ranks;
mod rounds;
pub mod saved;
mod slot;
mod team;
mod threads;
pub mod time;
pub mod world;
