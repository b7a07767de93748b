//! Stopping a world anywhere in its history, and going back.
//!
//! All of a world can be brought to any moment: it is a function of its description and of time, and whoever keeps some of
//! its states need not begin at the start. So stopping is one thing, [`History::go_to`] a time, and all else is to find that
//! time:
//!
//! * a *search* ([`History::find`]) lets the world run while an observer looks for an event, forwards or backwards;
//!   breakpoints and watchpoints are events too ([`Stops`](crate::board::Stops));
//! * a *step* ([`History::step`]) looks when a core begins its next instruction, or began its last one.
//!
//! A world that stands at a time has done all that happens before it, on every node. What happens at that very time, say the
//! instruction at a breakpoint, has not happened.
//!
//! The world that has come farthest stays as it is while somebody looks at the past, in another one, whose host programs need not
//! run: they do what they are known to have done. So to take up a state does not take longer the longer the history is.
//!
//! What somebody changes by hand ([`History::change`]) belongs to the history from then on; what was known of later times is
//! forgotten.

mod history;
mod past;
mod search;
mod settle;
mod states;
mod step;

pub use history::{DebugError, History};
pub use search::{Direction, Found, Search};
