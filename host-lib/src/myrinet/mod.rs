//! Hosts of control programs that were written for real Myrinet adapters (docs/control-programs.md).
//!
//! * [`mailbox`]: the host of the MyriAPI program of 1996, which the Linux driver for SBus loads;
//! * [`mcpshmem`]: the host of the control programs of Cplant.
//!
//! Both load the program through an [`Adapter`], go through its start, and check that data arrives unchanged. They
//! record their progress in a [`Journal`]. Behaviour that sources do not settle has several forms; a host tries
//! them in turn and records each attempt.

pub mod adapter;
pub mod error;
pub mod exchange;
pub mod journal;
pub mod mailbox;
pub mod mcpshmem;

pub use adapter::{Adapter, ChipGeneration};
pub use error::HostError;
pub use exchange::Exchange;
pub use journal::{EntryKind, Journal, JournalEntry, NamedValue};
