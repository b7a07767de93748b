//! Boards with a LANai, by small programs in its assembler (docs/lanai.md, section 3).
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bench;
mod depended;
mod engines;
mod host;
mod network;
mod polls;
mod registers;
mod robust;
mod tools;
mod watchdog;
