//! GM's protocol between nodes of fake hardware.

mod atomic;
mod board;
mod cases;
mod collective;
mod fuzz;
mod gossip;
mod long;
mod model;
mod mutations;
mod nic;
mod node;
mod probe;
mod random;
mod remote;
mod schedule;
mod soak;
mod streams;
mod timers;
mod world;
