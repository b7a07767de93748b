//! Workloads: what the hosts of a scenario do, beyond the messages and frames that this crate knows.
//!
//! A [`WorkloadType`] says which values of `run` it has, which keys, and how a `[[program]]` with them is read. Reading gives a checked
//! [`Workload`], which is data: nodes, limits, and a [`Job`] for each node. The simulation starts the jobs, each in a process of its
//! node's host ([`HostProcess`]); a job leaves records ([`Deliveries`]), from which the workload computes its [`Outcome`] when the run
//! has ended. An outcome is a part of the result's document and lines of its report.
//!
//! The types are a list that the caller of [`Workloads::parse`] gives: what depends on this crate pays for no workload that it does not
//! use.

use host_lib::gm::Gm;
use std::any::Any;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use emulator::sim::node::Node;
use emulator::state::{Reader, StateError, Value, Writer};

use crate::boards::Protocol;
use crate::programs::deliveries::Deliveries;
use crate::programs::verdict::ProgramLife;
use crate::scenario::nodes::Nodes;
use crate::scenario::reference::Key;
use crate::scenario::table::Table;
use crate::scenario::{Scenario, ScenarioError};

pub use crate::simulation::tasks::{HostProcess, Library};
pub use crate::text::grouped;

/// A kind of workload.
#[derive(Debug)]
pub struct WorkloadType {
    /// Values of `run`.
    pub names: &'static [&'static str],
    /// Description of the programs, for the reference.
    pub about: &'static str,
    /// Keys of its `[[program]]`, besides `run` and `start_us`.
    pub keys: &'static [Key],
    /// Key of its outcomes in the result's document.
    pub results: &'static str,
    /// Reads a program with one of the names.
    pub read: ReadWorkload,
}

/// Reads a `[[program]]` whose `run` has this value.
pub type ReadWorkload =
    fn(&'static str, &mut Table<'_>, &Nodes) -> Result<Arc<dyn Workload>, ScenarioError>;

/// The kinds of workloads that scenarios can name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workloads(pub &'static [&'static WorkloadType]);

impl Workloads {
    /// The kind with this value of `run`, and the value.
    pub(crate) fn find(self, name: &str) -> Option<(&'static WorkloadType, &'static str)> {
        self.0.iter().find_map(|kind| {
            let found = kind.names.iter().find(|known| **known == name);
            found.map(|name| (*kind, *name))
        })
    }

    /// Parses the text of a scenario; `name` is its file name, for messages.
    ///
    /// # Errors
    /// The first error.
    pub fn parse(self, name: &str, text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with(self, name, text)
    }

    /// Reads and parses a scenario file, or the example with that name.
    ///
    /// # Errors
    /// If the file cannot be read or contains an error.
    pub fn load(self, path: &Path) -> anyhow::Result<Scenario> {
        Ok(self.load_with_text(path)?.0)
    }

    /// As [`load`](Self::load), with the file's text.
    ///
    /// # Errors
    /// If the file cannot be read or contains an error.
    pub fn load_with_text(self, path: &Path) -> anyhow::Result<(Scenario, String)> {
        Scenario::load_with(self, path)
    }
}

/// Needs of a workload from GM on a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GmNeeds {
    /// Host memory that others may access, in bytes: the page table has room for it.
    pub shared_bytes: u64,
    /// The node's processes send messages to each other, by its crossbar.
    pub own_route: bool,
}

/// Inputs of a workload's jobs besides its own settings.
#[derive(Debug, Clone, Copy)]
pub struct JobContext<'a> {
    /// Scenario that has the workload.
    pub scenario: &'a Scenario,
    /// Start of the program, in ns after the start of all programs.
    pub start_ns: u64,
}

/// A checked program of a scenario.
pub trait Workload: Any + Debug + Send + Sync {
    /// Nodes of the workload, by rank.
    fn nodes(&self) -> Vec<usize>;

    /// Protocols over which it runs.
    fn protocols(&self) -> &'static [Protocol];

    /// Bytes of a host's memory that its buffers take.
    fn memory_bytes(&self) -> u64;

    /// Number of messages whose delivery is checked one by one.
    fn messages(&self) -> u64 {
        0
    }

    /// Whether its hosts may exchange messages beside it, as processes of their own.
    fn runs_beside_messages(&self) -> bool {
        false
    }

    /// Needs from GM on one of the workload's nodes.
    fn gm_needs(&self) -> GmNeeds {
        GmNeeds::default()
    }

    /// Checks it against the whole scenario.
    ///
    /// # Errors
    /// The reason for which it cannot run.
    fn check(&self, _scenario: &Scenario) -> Result<(), String> {
        Ok(())
    }

    /// Checks that what it needs beside the scenario is there.
    ///
    /// # Errors
    /// The first thing that is not.
    fn check_inputs(&self, _scenario: &Scenario) -> Result<(), String> {
        Ok(())
    }

    /// Files beside the scenario that it reads: results may be others when one of them changes.
    fn files(&self, _scenario: &Scenario) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether its hosts may sleep for long without saying so: by default a run with them does not end for that.
    fn may_be_quiet_for_long(&self) -> bool {
        false
    }

    /// Whether its jobs wait in turns for what is outside the world: one thread of one process runs all nodes then.
    fn waits_outside(&self) -> bool {
        false
    }

    /// Whether the workload's hosts have drivers of their own, which may set up a board that is reset.
    fn has_driver(&self) -> bool {
        false
    }

    /// Reason for which no snapshot can have the workload's hosts; `None` if one can.
    fn cannot_be_saved(&self) -> Option<&'static str> {
        None
    }

    /// The jobs of its nodes.
    fn jobs(&self, context: JobContext<'_>) -> Vec<(usize, Box<dyn Job>)>;

    /// Results of the workload, and its problems, at the end of a run.
    fn outcome(&self, records: &ProgramRecords<'_>) -> (Option<Arc<dyn Outcome>>, Vec<String>);
}

/// The future of a job.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Work of one host.
pub trait Job: Send + Sync {
    /// Operations that are left at its start; the run does not end before all have ended.
    fn operations(&self) -> usize {
        1
    }

    /// Changes its node before the run.
    fn prepare(&self, node: &mut Node, index: u16) {
        let _ = (node, index);
    }

    /// Boots the firmware and does the work; an error is a problem of the run.
    fn run<'a>(&'a self, process: HostProcess<'a>) -> Running<'a>;

    /// Names of further processes of the host. They begin when the first one has shared its board ([`HostProcess::share`]).
    fn further(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Runs a further process, by its place among these.
    fn run_further<'a>(&'a self, place: usize, gm: Gm, process: HostProcess<'a>) -> Running<'a> {
        drop((place, gm, process));
        Box::pin(async { Ok(()) })
    }

    /// Reads records of its kind that another process of a shared run has written.
    fn read_records(&self) -> ReadRecords;
}

/// Reads the records of a kind of job.
pub type ReadRecords = fn(&mut Reader<'_>) -> Result<Box<dyn OwnRecords>, StateError>;

/// Reads records of this type.
///
/// # Errors
/// If the bytes are none.
pub fn read_records<T: OwnRecords + Value>(
    from: &mut Reader<'_>,
) -> Result<Box<dyn OwnRecords>, StateError> {
    Ok(Box::new(T::read(from)?))
}

/// Records of a workload's own type.
pub trait OwnRecords: Any + Debug + Send {
    /// Writes them, for another process of a shared run.
    fn write(&self, out: &mut Writer);
}

impl<T: Value + Any + Debug + Send> OwnRecords for T {
    fn write(&self, out: &mut Writer) {
        Value::write(self, out);
    }
}

/// The records of a program's nodes.
#[derive(Debug, Clone, Copy)]
pub struct ProgramRecords<'a> {
    /// The value of `run`.
    pub name: &'static str,
    /// The scenario's seed.
    pub seed: u64,
    pub(crate) lives: &'a [ProgramLife],
}

impl ProgramRecords<'_> {
    /// The records of a node; empty ones if it has not begun.
    #[must_use]
    pub fn deliveries_of(&self, node: usize) -> Deliveries {
        let life = self.lives.iter().find(|life| life.node == node);
        life.map(|life| life.deliveries.clone()).unwrap_or_default()
    }
}

/// The results of a workload.
pub trait Outcome: erased_serde::Serialize + Any + Debug + Send + Sync {
    /// Lines of the report: what a line is about, in the first line of several, and its text.
    fn lines(&self) -> Vec<(&'static str, String)>;
}

erased_serde::serialize_trait_object!(Outcome);
