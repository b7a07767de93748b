//! Results of a run: messages, frames, and utilisation of the boards.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use defs::emp::control::Counter;
use emulator::observe::event::DropReason;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, World};
use emulator::wire::ethernet::Ethernet;
use emulator::wire::ethernet::switch::Switch;
use emulator::wire::fault::FaultKind;
use emulator::wire::loss::LossReason;
use serde::Serializer;

use super::counters::{BusyTimes, NicCounters, Sums};
use super::mapping::Mapping;
use super::shared::report::NodeReport;
use super::{Simulation, StartedWorkload, failed, media};
use crate::boards::Protocol;
use crate::myrinet::host::HostReport;
use crate::nodes::START;
use crate::programs::verdict::{NetworkCounts, ProgramLife, Verdict, judge};
use crate::races::RaceReport;
use crate::stopped::Stopped;
use crate::workload::{Outcome, ProgramRecords};

/// Drop counters of a NIC, with their names in reports.
const NIC_DROPS: [(&str, Counter); 7] = [
    ("nic_unmatched", Counter::DropUnmatched),
    ("nic_duplicate", Counter::DropDuplicate),
    ("nic_early", Counter::DropEarly),
    (DAMAGED, Counter::DropDamaged),
    ("nic_foreign", Counter::DropForeign),
    ("nic_epoch", Counter::DropEpoch),
    ("nic_resources", Counter::DropResources),
];

/// Utilisation of a board since the start of the programs.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BoardUse {
    /// Name of the node.
    pub node: String,
    /// Use of the board's units, in the order of the board.
    #[serde(flatten, serialize_with = "by_name")]
    pub units: Vec<UnitUse>,
}

impl BoardUse {
    /// Share of the time in which this unit was busy; `None` if the board has no such unit.
    #[must_use]
    pub fn share(&self, unit: &str) -> Option<f64> {
        let found = self.units.iter().find(|known| known.name == unit);
        found.map(|unit| unit.share)
    }
}

/// Time of a host program, in microseconds, since power-on.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ProgramUse {
    /// Name of the node.
    pub node: String,
    /// Name of the program.
    pub program: String,
    /// On a CPU: computation, system calls, single accesses to the board's window.
    pub computing_us: f64,
    /// On a CPU: polls of window and memory.
    pub polling_us: f64,
    /// On a CPU, which served an interrupt or the delivery of a signal.
    pub stolen_us: f64,
    /// Runnable, without a CPU.
    pub ready_us: f64,
    /// Blocked: asleep until an interrupt, a signal, or a time.
    pub blocked_us: f64,
}

fn program_use<'a>(report: &'a NodeReport, name: &'a str) -> impl Iterator<Item = ProgramUse> + 'a {
    report.programs.iter().map(|program| ProgramUse {
        node: name.to_owned(),
        program: program.name.clone(),
        computing_us: program.computing.us(),
        polling_us: program.polling.us(),
        stolen_us: program.stolen.us(),
        ready_us: program.ready.us(),
        blocked_us: program.blocked.us(),
    })
}

/// Utilisation of a unit of a board.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitUse {
    /// Name in files: `cpu_a`.
    pub name: &'static str,
    /// Name in tables: `CPU A`.
    pub title: &'static str,
    /// Share of the time.
    pub share: f64,
}

fn by_name<S: Serializer>(units: &[UnitUse], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(units.iter().map(|unit| (unit.name, unit.share)))
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// Reason of the end.
    pub end: RunEnd,
    /// Result of the messages.
    pub verdict: Verdict,
    /// Counters of EMP's firmware on each NIC.
    pub nics: Vec<NicCounters>,
    /// Counters of GM's firmware, of all boards together and with their names; none if no board runs it.
    pub gm: Option<BTreeMap<&'static str, u64>>,
    /// Counters of FM's firmware, likewise.
    pub fm: Option<BTreeMap<&'static str, u64>>,
    /// Times at which a mapper gave routes.
    pub maps: Vec<Mapping>,
    /// Results of workloads, with their keys in the document.
    pub outcomes: Vec<(&'static str, Arc<dyn Outcome>)>,
    /// Reports of hosts of control programs.
    pub hosts: Vec<HostReport>,
    /// Lost frames, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Other faults of frames.
    pub faults: BTreeMap<String, u64>,
    /// Positions of exact faults that hit no frame.
    pub idle_faults: Vec<String>,
    /// Utilisation of each board.
    pub boards: Vec<BoardUse>,
    /// Time of each host program.
    pub programs: Vec<ProgramUse>,
    /// Errors of programs, and stopped CPUs.
    pub problems: Vec<String>,
    /// Places of CPUs that still run, of nodes that only firmware drives.
    pub running: Vec<String>,
    /// Warnings about images: control programs for other chips.
    pub warnings: Vec<String>,
    /// The stopped CPUs: index of the node, and report.
    pub stopped: Vec<(usize, Stopped)>,
    /// Error statuses of transfers: the first of each node.
    pub failures: Vec<String>,
    /// Duration from the start of the programs to the end of the run.
    pub simulated: SimTime,
    /// Races on boards, if they were looked for.
    pub races: Option<RaceReport>,
    /// Hash of all events.
    pub trace_hash: u64,
}

impl RunSummary {
    pub(super) fn new(simulation: &Simulation, lives: &[ProgramLife], end: RunEnd) -> Self {
        let Simulation {
            world,
            counters,
            names,
            started,
            ..
        } = simulation;
        let over = matches!(
            end,
            RunEnd::Completed | RunEnd::Deadlock(_) | RunEnd::Quiet(_)
        );
        let reports = simulation.reports();
        let sums = counters.sums(&reports, started, lives);
        let drops = drops(simulation, &sums, &reports);
        let simulated = world.now().saturating_sub(START);
        let boards = world.nodes.iter().zip(&reports).zip(names);
        let idle_faults = simulation.exact_faults.iter();
        let idle_faults = idle_faults.filter(|(_, strikes)| strikes.count() == 0);
        let mut problems = host_problems(lives, names);
        problems.extend(simulation.mappings.problem());
        let outcomes = outcomes(simulation, lives, &mut problems);
        let hosts = simulation.hosts.iter();
        let hosts: Vec<_> = hosts
            .map(|(node, host)| host.report(&names[*node]))
            .collect();
        problems.extend(hosts.iter().filter_map(HostReport::problem));
        problems.extend(reports.iter().flat_map(|report| report.problems.clone()));
        let stopped = reports.iter().enumerate().flat_map(|(node, report)| {
            let stopped = report.stopped.iter().cloned();
            stopped.map(move |stopped| (node, stopped))
        });
        let verdict = verdict(simulation, lives, (&reports, &drops), over);
        failed::check(simulation, lives, &verdict, &mut problems);
        Self {
            verdict,
            drops,
            faults: faults(world),
            idle_faults: idle_faults.map(|(place, _)| place.to_string()).collect(),
            boards: boards
                .map(|((node, report), name)| board_use(node, &report.busy, name, simulated))
                .collect(),
            programs: reports
                .iter()
                .zip(names)
                .flat_map(|(report, name)| program_use(report, name))
                .collect(),
            hosts,
            problems,
            running: reports
                .iter()
                .flat_map(|report| report.running.clone())
                .collect(),
            warnings: simulation.warnings.clone(),
            stopped: stopped.collect(),
            failures: failures(lives, names),
            nics: sums.emp,
            gm: sums.gm,
            fm: sums.fm,
            maps: simulation.mappings.done(),
            outcomes,
            simulated,
            races: simulation.races(),
            trace_hash: world.trace_hash(),
            end,
        }
    }

    /// The results of the workloads of one kind, in the scenario's order.
    #[must_use]
    pub fn results<T: Outcome>(&self) -> Vec<&T> {
        let all = self.outcomes.iter();
        all.filter_map(|(_, outcome)| (&**outcome as &dyn Any).downcast_ref())
            .collect()
    }

    /// The first result of a workload of this kind.
    #[must_use]
    pub fn result<T: Outcome>(&self) -> Option<&T> {
        self.results().first().copied()
    }

    /// Sum of a counter over all NICs.
    #[must_use]
    pub fn counted(&self, counter: Counter) -> u64 {
        self.nics.iter().map(|nic| nic[counter as usize]).sum()
    }

    /// Whether all messages were handled correctly, every program ran without error, and no race was found.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.verdict.messages.is_good()
            && self.problems.is_empty()
            && self.races.as_ref().is_none_or(RaceReport::is_empty)
            && !matches!(self.end, RunEnd::Deadlock(_) | RunEnd::Quiet(_))
    }
}

/// The results of all messages. Those of frames are compared with what the network is known to have done.
fn verdict(
    simulation: &Simulation,
    lives: &[ProgramLife],
    (boards, drops): (&[NodeReport], &BTreeMap<String, u64>),
    over: bool,
) -> Verdict {
    let framed = |node: usize| simulation.counters.protocol(node) == Some(Protocol::Acenic);
    let (frames, others): (Vec<_>, Vec<_>) =
        lives.iter().cloned().partition(|life| framed(life.node));
    let mut all = judge(&others, over);
    if !frames.is_empty() {
        let world = &simulation.world;
        // Other firmware drops none of these frames, and damaged ones only if a reliable protocol sends them again.
        let of_frames = drops
            .iter()
            .filter(|(name, _)| *name == DAMAGED || !NIC_DROPS.iter().any(|(nic, _)| nic == name));
        let duplicated = injected(world, FaultKind::Duplicated);
        let known = NetworkCounts {
            dropped: of_frames.map(|(_, count)| count).sum(),
            duplicated,
            reordered: injected(world, FaultKind::Delayed) + duplicated > 0,
            under_way: under_way(world, boards),
        };
        let mut frames = judge(&frames, over);
        frames.explain(known);
        all.add(frames);
    }
    all
}

/// Frames between boards, and in the rings of these.
fn under_way(world: &World, boards: &[NodeReport]) -> u64 {
    let on_boards = boards
        .iter()
        .map(|board| board.queued + board.traffic.coming());
    let ethernet = world.network::<Ethernet>();
    let between = ethernet.map_or(0, |network| network.under_way());
    on_boards.sum::<u64>() + between as u64
}

/// Name of the frames that firmware dropped because they were damaged.
const DAMAGED: &str = "nic_damaged";

/// Every lost frame, counted once, by the place and the reason of its loss: fault layers (`fault_`), lines and switches (`wire_`), boards and their
/// firmware (`nic_`).
fn drops(simulation: &Simulation, sums: &Sums, nodes: &[NodeReport]) -> BTreeMap<String, u64> {
    let world = &simulation.world;
    let mut drops = BTreeMap::new();
    for (name, counter) in NIC_DROPS {
        let sum = sums.emp.iter().map(|nic| nic[counter as usize]).sum();
        drops.insert(name.to_owned(), sum);
    }
    // EMP counts its damaged frames. Other firmware drops those that the board marks.
    let counts = |node: usize| {
        let protocol = simulation.counters.protocol(node);
        !simulation.started.contains(node) && protocol == Some(Protocol::Emp)
    };
    let damaged = nodes.iter().enumerate().filter(|(node, _)| !counts(*node));
    let damaged: u64 = damaged.map(|(_, node)| node.traffic.damaged).sum();
    *drops.entry(DAMAGED.to_owned()).or_default() += damaged;
    for reason in DropReason::ALL {
        let name = format!("nic_{}", reason.words().replace(' ', "_"));
        let boards = nodes.iter().map(|node| node.traffic.dropped.of(reason));
        drops.insert(name, boards.sum());
    }
    for reason in LossReason::ALL {
        let name = format!("wire_{}", reason.name().replace(' ', "_"));
        let lines = media::lanes(world).map(|counts| counts.lost.of(reason));
        let switches = world.switches().iter().flat_map(Switch::counts);
        let switches = switches.map(|port| port.dropped.of(reason));
        drops.insert(name, lines.chain(switches).sum());
    }
    drops.insert("fault_lost".into(), injected(world, FaultKind::Lost));
    drops
}

fn injected(world: &World, kind: FaultKind) -> u64 {
    let layers = media::fault_counts(world);
    layers.map(|counts| counts.of(kind)).sum()
}

fn faults(world: &World) -> BTreeMap<String, u64> {
    let kinds = FaultKind::ALL.into_iter();
    kinds
        .map(|kind| (kind.name().to_owned(), injected(world, kind)))
        .collect()
}

fn board_use(
    node: &Node,
    (before, now): &(BusyTimes, BusyTimes),
    name: &str,
    span: SimTime,
) -> BoardUse {
    let share = |ps: u64| match span.ps() {
        0 => 0.0,
        span => (ps as f64 / span as f64).min(1.0),
    };
    let units = node.inspect().busy_units().into_iter().enumerate();
    let units = units.map(|(index, unit)| {
        let at = |times: &BusyTimes| times.get(index).copied().unwrap_or_default();
        UnitUse {
            name: unit.name,
            title: unit.title,
            share: share(at(now).saturating_sub(at(before))),
        }
    });
    BoardUse {
        node: name.to_owned(),
        units: units.collect(),
    }
}

/// Errors of programs.
fn host_problems(lives: &[ProgramLife], names: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for life in lives {
        let records = life.deliveries.records();
        let name = &names[life.node];
        let text = records.problem.iter();
        problems.extend(text.map(|problem| format!("node {name}: {problem}")));
    }
    problems
}

/// The results of workloads, with their keys in the document, in the scenario's order; and what was wrong.
fn outcomes(
    simulation: &Simulation,
    lives: &[ProgramLife],
    problems: &mut Vec<String>,
) -> Vec<(&'static str, Arc<dyn Outcome>)> {
    let outcome = |started: &StartedWorkload| {
        let records = ProgramRecords {
            name: started.name,
            seed: simulation.seed,
            lives,
        };
        let (outcome, found) = started.workload.outcome(&records);
        problems.extend(found);
        outcome.map(|outcome| (started.results, outcome))
    };
    simulation.workloads.iter().filter_map(outcome).collect()
}

fn failures(lives: &[ProgramLife], names: &[String]) -> Vec<String> {
    let mut failures = Vec::new();
    for life in lives {
        let records = life.deliveries.records();
        let name = &names[life.node];
        for text in [records.failures.first(), records.failed_receives.first()] {
            failures.extend(text.map(|text| format!("node {name}: {text}")));
        }
    }
    failures
}
