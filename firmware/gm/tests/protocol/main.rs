//! GM's protocol between nodes of fake hardware.

mod board;
mod cases;
mod nic;
mod node;
mod probe;
mod random;
mod world;
