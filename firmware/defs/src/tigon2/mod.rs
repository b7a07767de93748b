//! The Alteon Tigon2 as its programmers see it. Section numbers refer to `docs/tigon2.md`.

pub mod counters;
pub mod event;
pub mod map;
pub mod regs;
pub mod rings;
