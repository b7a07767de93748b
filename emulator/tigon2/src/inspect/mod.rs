//! Inspection of the board for debuggers and traces, and its modification by a debugger.
//!
//! * `debugger`: reads and writes of memory and registers at rest;
//! * `stops`: breakpoints and watchpoints;
//! * `handlers`: dispatches to event handlers;
//! * `event_bits`: initiators that set bits of the event registers;
//! * `instruction_log`: the log of executed instructions;
//! * `events`: causes of events, as text;
//! * `rings`: rings and buffers, as text;
//! * `gauges`: fill levels of rings and buffers;
//! * `names`: names of registers and their bits.

pub mod debugger;
pub(super) mod event_bits;
mod events;
mod gauges;
pub(super) mod handlers;
pub mod instruction_log;
pub mod names;
mod rings;
pub mod stops;
