//! Debugging a scenario: one session, which the console and gdb share.
//!
//! A [`Session`] is a scenario's world in a [`History`](emulator::debug::History), the CPU one looks at
//! ([`Focus`]), and what stops it ([`stop`]). It is told what to do in words, one [`command`] a line; the console,
//! scripts and gdb's `monitor` say the same words. What they show comes from [`show`], which only looks.
//!
//! ```text
//! console, script, gdb's monitor -> command -> motion, change -> History -> World
//! gdb's packets ------------------------------> motion, change        |
//!                                   show <----------------------------+
//! ```

pub mod command;
pub mod complete;
pub mod condition;
pub mod console;
pub mod motion;
pub mod place;
pub mod report;
pub mod session;
pub mod show;
pub mod stop;

pub use session::{Focus, Session};
