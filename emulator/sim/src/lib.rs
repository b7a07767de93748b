//! The simulation: time, order, nodes and worlds.
#![deny(missing_docs)]

pub use emulator_base::{initiator, queue, time};

mod component;
mod departure_tree;
pub mod node;
pub mod quiet;
pub mod ranks;
mod rounds;
pub mod saved;
mod slot;
mod team;
mod threads;
mod topology;
pub mod world;
