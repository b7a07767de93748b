//! Switches, fault layers, and nodes that go on in rounds.

mod capture;
mod faults;
mod rounds;
mod station;
mod switches;
