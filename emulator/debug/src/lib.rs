//! Stopping a world at any time of its history, and going back.
//!
//! A world is a function of its description and of time. It can be moved to any time, starting from a kept
//! checkpoint. So the basic operation is [`History::go_to`] a time; all other operations find that time:
//!
//! * a *search* ([`History::find`]) runs the world while an observer looks for an event, forwards or backwards;
//!   breakpoints and watchpoints are events too ([`Stops`](emulator_board::Stops));
//! * a *step* ([`History::step`]) finds the start of a core's next or previous instruction.
//!
//! A world at a time has executed everything before this time, on every node. Events at exactly this time,
//! such as the instruction at a breakpoint, have not happened.
//!
//! The world at the latest time (the front) is kept. The past is shown in a second world, whose host
//! programs do not run: they replay their logged actions. So loading a checkpoint takes constant time,
//! however long the history is.
//!
//! A manual change ([`History::change`]) becomes part of the history; the later history is discarded.
#![deny(missing_docs)]

mod checkpoints;
mod history;
mod past;
mod search;
mod settle;
mod step;

pub use history::{DebugError, History, Reached};
pub use search::{Found, Search, TimeDirection};
