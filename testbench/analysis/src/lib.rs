//! Analysis of runs: traces, captures, messages and their ledgers, CPU profiles.

pub mod capture;
pub mod ledger;
pub mod messages;
pub mod output;
pub mod profiler;
pub mod trace;
