//! A server for gdb (docs/gdb.md): the CPUs of one node are its threads, and a [`Session`](crate::debug::Session) is what
//! it controls.
//!
//! ```text
//! gdb <-> connection -> server -> gdbstub -> target (registers, memory, points), resume, monitor -> debug::Session
//! ```
//!
//! * [`server`]: waits for gdb, and converses with it; [`connection`]: what comes is read ahead, for interrupts;
//! * [`target`]: what gdb reads and changes; [`points`]: its breakpoints and watchpoints;
//! * [`resume`]: steps and runs, forwards and back; [`slots`]: how that goes together with gdb's own way of stepping;
//! * [`arch`]: the registers and their order.

pub mod arch;
mod chosen;
pub mod connection;
mod monitor;
mod news;
pub mod points;
pub mod resume;
pub mod server;
pub mod slots;
pub mod target;
