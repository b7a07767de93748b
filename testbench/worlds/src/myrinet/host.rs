//! The host of a control program on a node, and what it reports.

use std::collections::BTreeMap;

use emulator::host::machine::Machine;
use emulator::lanai::chip::Generation;
use emulator::sim::time::SimTime;
use host_lib::firmware::Firmware;
use host_lib::myrinet::{
    Adapter, EntryKind, Exchange, HostError, Journal, JournalEntry, NamedValue, mailbox, mcpshmem,
};
use host_lib::window::System;
use serde::Serialize;

use super::{HostKind, chip};
use crate::end::ResultSlot;

/// The host of a control program on a node; clones share its progress.
#[derive(Debug, Clone)]
pub struct ControlHost {
    /// Kind of the host.
    pub kind: HostKind,
    /// The chip of its adapter.
    pub generation: Generation,
    /// Record of the host's progress.
    pub journal: Journal,
    /// Index of the node.
    node: usize,
    /// Time from power-on to its start, in ns.
    start_ns: u64,
    exchange: Exchange,
    error: ResultSlot<HostError>,
}

impl ControlHost {
    /// A host that begins `start_ns` after power-on, and exchanges frames with others if it has a mailbox.
    #[must_use]
    pub fn new(
        kind: HostKind,
        generation: Generation,
        node: usize,
        start_ns: u64,
        exchange: Exchange,
    ) -> Self {
        Self {
            kind,
            generation,
            journal: Journal::default(),
            node,
            start_ns,
            exchange,
            error: ResultSlot::default(),
        }
    }

    /// Goes through the start with the control program. An error is kept for the [report](Self::report).
    pub async fn run(&self, mut machine: Machine, image: &Firmware) {
        machine.sleep(self.start_ns).await;
        let journal = self.journal.clone();
        let mut adapter = Adapter::take_over(
            machine.clone().into(),
            machine.into(),
            chip(self.generation),
            journal,
        )
        .await;
        let done = match self.kind {
            HostKind::Mailbox => mailbox::run(&mut adapter, image, &self.exchange).await,
            HostKind::Mcpshmem => {
                let number = self.node as u32 + 1;
                mcpshmem::run(&mut adapter, image, number).await
            }
        };
        if let Err(error) = done {
            self.error.set(error);
        }
    }

    /// The host's error.
    #[must_use]
    pub fn error(&self) -> Option<HostError> {
        self.error.with(|error| error.clone())
    }

    /// Milestones that were not reached, in order.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let meets = !self.exchange.peers.is_empty();
        let all = self.kind.milestones(self.generation, meets).iter();
        all.copied()
            .filter(|milestone| !self.journal.has(milestone))
            .collect()
    }

    /// Whether the program reached all milestones up to the first packet that must come back, and not that one.
    #[must_use]
    pub fn needs_other_way(&self) -> bool {
        let timed_out = matches!(self.error(), Some(HostError::TimedOut { .. }));
        let first = self.missing().first().copied();
        timed_out && matches!(first, Some("self_test" | "frame_received"))
    }

    /// Report of the progress so far; `node` is the name of the host's node.
    #[must_use]
    pub fn report(&self, node: &str) -> HostReport {
        let entries = self.journal.entries_from(0);
        let (milestones, remarks) = entries
            .into_iter()
            .map(JournalStep::from)
            .partition(|step: &JournalStep| step.milestone.is_some());
        let values = self.journal.values().into_iter();
        HostReport {
            node: node.into(),
            host: self.kind.name(),
            milestones,
            missing: self.missing(),
            remarks,
            values: values
                .map(|NamedValue { name, value }| (name, value))
                .collect(),
            error: self.error().map(|error| error.to_string()),
        }
    }
}

/// An entry of a host's journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JournalStep {
    /// Time since power-on, in microseconds.
    pub time_us: f64,
    /// The milestone that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<&'static str>,
    /// Description.
    pub text: String,
}

impl From<JournalEntry> for JournalStep {
    fn from(entry: JournalEntry) -> Self {
        Self {
            time_us: SimTime::from_ps(entry.time_ps).us(),
            milestone: match entry.kind {
                EntryKind::Milestone(name) => Some(name),
                EntryKind::Remark => None,
            },
            text: entry.text,
        }
    }
}

/// Progress of a control program's host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostReport {
    /// Name of its node.
    pub node: String,
    /// Name of the host.
    pub host: &'static str,
    /// Milestones that were reached.
    pub milestones: Vec<JournalStep>,
    /// Milestones that were not reached, in order.
    pub missing: Vec<&'static str>,
    /// Remarks in the order of time.
    pub remarks: Vec<JournalStep>,
    /// Values that the control program left in memory, and counts of frames.
    pub values: BTreeMap<String, i64>,
    /// The host's error.
    pub error: Option<String>,
}

impl HostReport {
    /// Problem of the host, in one line; `None` if there is none.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let missing = match self.missing.as_slice() {
            [] => None,
            [one] => Some(format!("missing milestone: {one}")),
            all => Some(format!("missing milestones: {}", all.join(", "))),
        };
        let parts: Vec<_> = self.error.clone().into_iter().chain(missing).collect();
        (!parts.is_empty()).then(|| format!("node {}: {}", self.node, parts.join("; ")))
    }

    /// Progress in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let last = match self.milestones.last() {
            Some(step) => {
                let (name, us) = (step.milestone.unwrap_or_default(), step.time_us);
                format!("last milestone {name} at {us:.1} us")
            }
            None => "no milestone".to_owned(),
        };
        let values = self.values.iter();
        let values: String = values
            .map(|(name, value)| format!(", {name} {value}"))
            .collect();
        format!("{}, host {}: {last}{values}", self.node, self.host)
    }
}
