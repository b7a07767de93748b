//! GM's protocol between nodes of fake hardware.

mod board;
mod cases;
mod long;
mod model;
mod nic;
mod node;
mod probe;
mod random;
mod remote;
mod schedule;
mod streams;
mod timers;
mod world;
