//! Tools that look into runs: traces, captures, messages and their ledgers, profiles of CPUs.

pub mod capture;
pub mod ledger;
pub mod messages;
pub mod output;
pub mod profiler;
pub mod trace;
