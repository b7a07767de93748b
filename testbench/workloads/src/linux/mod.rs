//! Linux on a node's host: a guest with a driver of its own starts the board's firmware and runs a script (docs/linux.md).

mod console;
mod files;
mod keys;
mod summary;
mod workload;

pub use console::{Terminal, open_console};
pub use files::{missing, program};
pub use summary::{ConsoleLine, GuestUse, GuestsUse};
pub use workload::KIND;
