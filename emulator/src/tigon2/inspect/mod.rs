//! Inspection of the board for debuggers and traces, and its modification by a debugger.
//!
//! * `debugger`: reads and writes of memory and registers at rest;
//! * `stops`: breakpoints and watchpoints;
//! * `handlers`: dispatches to event handlers;
//! * `event_bits`: initiators that set bits of the event registers;
//! * `instruction_log`: the log of executed instructions;
//! * `names`: names of registers and their bits.

pub mod debugger;
pub(super) mod event_bits;
pub(super) mod handlers;
pub mod instruction_log;
pub mod names;
pub mod stops;
