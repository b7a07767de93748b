//! The debugger: sessions that stop a world anywhere and go back in time, a console for them, and a server for gdb.

pub mod debug;
pub mod gdb;
