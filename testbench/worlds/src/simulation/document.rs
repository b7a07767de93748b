//! The result of a run as a JSON document, which commands print and sweeps store.

use std::collections::BTreeMap;

use defs::emp::control::Counter;
use emulator::sim::world::RunEnd;
use serde::Serialize;

use super::mapping::Mapping;
use super::result::{BoardUse, ProgramUse, RunSummary};
use crate::myrinet::host::HostReport;
use crate::programs::verdict::MessageCounts;
use crate::races::RaceReport;
use crate::scenario::Scenario;
use crate::stopped::Stopped;
use crate::workload::Outcome;

/// JSON document of a run.
#[derive(Debug, Serialize)]
pub struct RunDocument<'a> {
    scenario: String,
    description: &'a str,
    seed: u64,
    nodes: usize,
    /// `completed`, `deadlock`, `quiet`, `time limit` or `interrupted`.
    end: &'static str,
    /// Whether every check succeeded.
    good: bool,
    messages: MessageCounts,
    bytes: u64,
    retransmissions: u64,
    frames_sent: u64,
    acks_sent: u64,
    /// Counters of GM's firmware, if a board runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    gm: Option<&'a BTreeMap<&'static str, u64>>,
    /// Counters of FM's firmware, if a board runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fm: Option<&'a BTreeMap<&'static str, u64>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    maps: &'a [Mapping],
    /// Results of workloads, by kind.
    #[serde(flatten)]
    outcomes: BTreeMap<&'static str, Vec<&'a dyn Outcome>>,
    /// Hosts of control programs.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    hosts: &'a [HostReport],
    drops: &'a BTreeMap<String, u64>,
    faults: &'a BTreeMap<String, u64>,
    /// Positions of exact faults without a hit.
    idle_faults: &'a [String],
    latency_us: Latency,
    bandwidth_mbit: Option<f64>,
    simulated_us: f64,
    boards: &'a [BoardUse],
    programs: &'a [ProgramUse],
    problems: &'a [String],
    /// Warnings about images.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    /// CPUs that stopped by mistake.
    stopped: Vec<StoppedCpu<'a>>,
    failures: &'a [String],
    waiting: &'a [String],
    /// Places of CPUs that still run.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    running: &'a [String],
    /// Races on boards, if they were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    races: Option<&'a RaceReport>,
    /// 16 hexadecimal digits: JSON's numbers do not hold 64 bits.
    trace_hash: String,
}

/// A CPU that stopped by mistake.
#[derive(Debug, Serialize)]
struct StoppedCpu<'a> {
    /// Index of the node.
    node: usize,
    #[serde(flatten)]
    stopped: &'a Stopped,
}

/// Latencies of delivered messages, in us; `None` if no message was delivered.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Latency {
    /// The latencies of a run.
    #[must_use]
    pub fn from_summary(outcome: &RunSummary) -> Self {
        let verdict = &outcome.verdict;
        Self {
            p50: verdict.latency_us(50),
            p99: verdict.latency_us(99),
            max: verdict.latency_us(100),
        }
    }
}

/// Counters of GM's firmware, if the scenario uses it.
#[must_use]
pub fn gm<'a>(
    scenario: &Scenario,
    outcome: &'a RunSummary,
) -> Option<&'a BTreeMap<&'static str, u64>> {
    let counts = outcome.gm.as_ref();
    counts.filter(|_| scenario.uses_protocol())
}

/// Waiting programs of an unfinished run.
#[must_use]
pub fn waiting(outcome: &RunSummary) -> &[String] {
    match &outcome.end {
        RunEnd::Deadlock(lines) | RunEnd::Quiet(lines) => lines,
        _ => &[],
    }
}

/// The results of all kinds of workloads, none too.
fn by_kind<'a>(
    scenario: &Scenario,
    outcome: &'a RunSummary,
) -> BTreeMap<&'static str, Vec<&'a dyn Outcome>> {
    let kinds = scenario.workloads.0.iter();
    let mut all: BTreeMap<_, Vec<_>> = kinds.map(|kind| (kind.results, Vec::new())).collect();
    for (kind, outcome) in &outcome.outcomes {
        all.entry(*kind).or_default().push(&**outcome);
    }
    all
}

const fn end(outcome: &RunSummary) -> &'static str {
    match outcome.end {
        RunEnd::Completed => "completed",
        RunEnd::Deadlock(_) => "deadlock",
        RunEnd::Quiet(_) => "quiet",
        RunEnd::TimeLimit(_) => "time limit",
        RunEnd::Interrupted => "interrupted",
    }
}

impl<'a> RunDocument<'a> {
    /// The document of a run; `file` is the scenario's file name.
    #[must_use]
    pub fn new(file: String, scenario: &'a Scenario, outcome: &'a RunSummary) -> Self {
        Self {
            scenario: file,
            description: &scenario.description,
            seed: scenario.seed,
            nodes: scenario.nodes.len(),
            end: end(outcome),
            good: outcome.is_good(),
            messages: outcome.verdict.messages,
            bytes: outcome.verdict.bytes,
            retransmissions: outcome.counted(Counter::FramesResent),
            frames_sent: outcome.counted(Counter::FramesSent),
            acks_sent: outcome.counted(Counter::AcksSent),
            gm: gm(scenario, outcome),
            fm: outcome.fm.as_ref(),
            maps: &outcome.maps,
            outcomes: by_kind(scenario, outcome),
            hosts: &outcome.hosts,
            drops: &outcome.drops,
            faults: &outcome.faults,
            idle_faults: &outcome.idle_faults,
            latency_us: Latency::from_summary(outcome),
            bandwidth_mbit: outcome.verdict.megabits_per_s(),
            simulated_us: outcome.simulated.us(),
            boards: &outcome.boards,
            programs: &outcome.programs,
            problems: &outcome.problems,
            warnings: &outcome.warnings,
            stopped: outcome
                .stopped
                .iter()
                .map(|(node, stopped)| StoppedCpu {
                    node: *node,
                    stopped,
                })
                .collect(),
            failures: &outcome.failures,
            waiting: waiting(outcome),
            running: &outcome.running,
            races: outcome.races.as_ref(),
            trace_hash: format!("{:016x}", outcome.trace_hash),
        }
    }
}
