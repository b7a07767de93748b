//! The debugger: sessions that stop a world anywhere and go back in time, a console, and a gdb server.

pub mod busy;
pub mod debug;
pub mod gdb;
