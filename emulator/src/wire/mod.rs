//! What joins nodes: media, the units that travel on them, and the faults that meet them.
//!
//! [`medium`] says what a medium is and how it works together with boards and with the simulation. [`ethernet`] is the first
//! medium.

pub mod ethernet;
pub mod fault;
pub mod lane;
pub mod loss;
pub mod medium;
pub mod network;
pub mod port;
pub mod unit;
