//! Programmer's view of the Alteon Tigon2. Section numbers refer to `docs/tigon2.md`.

pub mod banks;
pub mod counters;
pub mod event;
pub mod map;
pub mod registers;
pub mod regs;
pub mod rings;
