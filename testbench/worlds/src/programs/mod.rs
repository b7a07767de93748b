//! Host programs that scenarios name: what they do is a [`plan`], one engine carries every plan out, and every
//! message is checked. One program needs no EMP: [`start`].

pub mod content;
pub mod ledger;
pub mod plan;
pub mod start;
pub mod traffic;
pub mod verdict;
