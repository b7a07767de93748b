//! Switches, fault layers, nodes that run in rounds, and a second medium.

mod backpressure;
mod capture;
mod faults;
mod ranks;
mod rounds;
mod station;
mod switches;
mod wormhole;
