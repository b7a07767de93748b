//! A server for gdb (docs/gdb.md): the CPUs of one node are its threads, and it controls a
//! [`Session`](crate::debug::Session).
//!
//! ```text
//! gdb <-> connection -> server -> gdbstub -> target (registers, memory, points), resume, monitor -> debug::Session
//! ```
//!
//! * [`server`]: accepts gdb and serves it; [`connection`]: reads ahead, for interrupts; `framing`: checks packets;
//! * [`target`]: registers, memory and threads; [`points`]: breakpoints and watchpoints;
//! * [`resume`]: steps and runs, forwards and back; [`slots`]: delay slots and gdb's software stepping;
//! * [`arch`]: registers and their order.

pub mod arch;
mod chosen;
pub mod connection;
mod framing;
mod monitor;
mod news;
pub mod points;
pub mod resume;
pub mod server;
pub mod slots;
pub mod target;
