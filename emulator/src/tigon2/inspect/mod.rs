//! What a debugger and a trace see of the board, and what a debugger changes.
//!
//! * `debugger`: reads and writes of memory and registers at rest;
//! * `stops`: breakpoints and watchpoints;
//! * `probes`: the firmware's probes and the stages that they mark;
//! * `handlers`: dispatches to event handlers;
//! * `event_bits`: who raises which bit of the event registers;
//! * `instruction_log`: the log of executed instructions;
//! * `names`: names of registers and their bits.

pub mod debugger;
pub(super) mod event_bits;
pub(super) mod handlers;
pub mod instruction_log;
pub mod names;
pub mod probes;
pub mod stops;
