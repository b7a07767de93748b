//! Workloads of scenarios: a folder for each kind, and the list of all kinds.
//!
//! A folder has `keys.rs`, which reads the keys of its `[[program]]`; `workload.rs`, which is the
//! [`Workload`](lanigon_worlds::workload::Workload) with its records; `summary.rs`, its
//! [`Outcome`](lanigon_worlds::workload::Outcome); and what its hosts do. Programs of this machine are those of [`lanigon_processes`].

pub mod atomic;
pub mod collective;
pub mod dsm;
pub mod ethernet;
pub mod file;
pub mod linux;
pub mod mpi;
pub mod multicast;

pub use linux::{Terminal, open_console};

use std::path::Path;

use lanigon_worlds::scenario::{Scenario, ScenarioError};
use lanigon_worlds::workload::Workloads;

/// All kinds.
pub const ALL: Workloads = Workloads(&[
    &collective::KIND,
    &multicast::KIND,
    &atomic::KIND,
    &mpi::KIND,
    &dsm::KIND,
    &file::KIND,
    &ethernet::KIND,
    &linux::KIND,
    &lanigon_processes::KIND,
]);

/// Parses the text of a scenario with any workload; `name` is its file name, for messages.
///
/// # Errors
/// The first error.
pub fn parse(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    ALL.parse(name, text)
}

/// Reads and parses a scenario with any workload: a file, or the example with that name.
///
/// # Errors
/// If the file cannot be read or contains an error.
pub fn load(path: &Path) -> anyhow::Result<Scenario> {
    ALL.load(path)
}
