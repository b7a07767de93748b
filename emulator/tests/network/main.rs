//! Switches, fault layers, and nodes that run in rounds.

mod capture;
mod faults;
mod rounds;
mod station;
mod switches;
