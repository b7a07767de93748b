//! Running scenarios: world, programs, and results.

mod build;
mod counters;
pub mod document;
mod failed;
mod images;
pub mod inputs;
pub mod mapping;
mod media;
pub mod result;
mod settings;
pub mod shared;
pub mod snapshot;
mod started;
pub(crate) mod tasks;
mod ways;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use emulator::profile::Profile;
use emulator::sim::quiet::Patience;
use emulator::sim::time::SimTime;
use emulator::sim::world::{Clock, RunEnd, RunLimits, World};

pub use build::Blueprint;
pub use images::Images;

use crate::faults::Strikes;
use crate::myrinet::host::ControlHost;
use crate::nodes::START;
use crate::programs::deliveries::Deliveries;
use crate::programs::verdict::{self, ProgramLife};
use crate::replay::Replays;
use crate::scenario::Position;
use crate::workload::{ReadRecords, Workload};
use counters::Counters;
use mapping::Mappings;
use result::RunSummary;
use shared::report::NodeReport;
use started::StartedNodes;

/// Boards may work for so many times the time after which a run is quiet, if nothing else happens.
const LONGEST_WORK: u64 = 10;

/// Options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Time limit, relative to the start of the programs.
    pub max_time: Option<SimTime>,
    /// Interrupts the run when set.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Shows the simulated time that the run has reached.
    pub clock: Option<Arc<Clock>>,
    /// Number of threads.
    pub threads: NonZeroUsize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            max_time: None,
            interrupt: None,
            clock: None,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// The incarnations of one node's program: start times and records.
#[derive(Debug, Clone, Default)]
struct Lives {
    all: Arc<Mutex<Vec<(u64, Deliveries)>>>,
    /// Reads records of the workload's own type that another rank has written.
    read_records: Option<ReadRecords>,
}

impl Lives {
    /// The lives of a job whose own records are read in this way.
    fn with(read_records: Option<ReadRecords>) -> Self {
        Self {
            all: Arc::default(),
            read_records,
        }
    }

    const fn read_records(&self) -> Option<ReadRecords> {
        self.read_records
    }

    fn begin(&self, now_ps: u64) -> Deliveries {
        let deliveries = Deliveries::default();
        let mut lives = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        lives.push((now_ps, deliveries.clone()));
        deliveries
    }

    /// The records of the incarnation that has begun last.
    fn last(&self) -> Deliveries {
        let lives = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let last = lives.last();
        last.map(|(_, deliveries)| deliveries.clone())
            .unwrap_or_default()
    }

    /// Replaces them by those of another rank.
    fn set(&self, lives: impl Iterator<Item = (u64, Deliveries)>) {
        let mut mine = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        *mine = lives.collect();
    }

    fn all(&self) -> Vec<(u64, Deliveries)> {
        let lives = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        lives.clone()
    }
}

/// A workload of the scenario.
#[derive(Debug)]
struct StartedWorkload {
    /// The value of `run`.
    name: &'static str,
    /// Key of its outcome in the result's document.
    results: &'static str,
    workload: Arc<dyn Workload>,
}

/// A running scenario.
#[derive(Debug)]
pub struct Simulation {
    /// The world. Its time counts from power-on; the programs start at [`START`].
    pub world: World,
    /// Images on the boards.
    pub images: Images,
    /// Warnings for the user: images for other chips, settings without an effect.
    pub warnings: Vec<String>,
    /// Timing profile of each node.
    pub profiles: Vec<Arc<Profile>>,
    /// Incarnations of each node's program.
    lives: Vec<Lives>,
    /// Hosts of control programs, by node.
    pub hosts: BTreeMap<usize, ControlHost>,
    /// Record of the mappers.
    mappings: Mappings,
    /// Nodes on which only firmware runs.
    started: StartedNodes,
    /// Recordings that nodes repeat.
    replays: Replays,
    /// Resets of nodes, sorted by time.
    resets: Vec<(SimTime, usize)>,
    /// Counters that must be sampled during the run, and the number of samples so far.
    counters: Counters,
    looks: usize,
    /// Exact faults: positions in the scenario, and hit counters.
    exact_faults: Vec<(Position, Strikes)>,
    /// Programs that are workloads, in the scenario's order.
    workloads: Vec<StartedWorkload>,
    seed: u64,
    max_time: Option<SimTime>,
    /// The run ends when nothing but timers has happened for this time.
    quiet: Option<SimTime>,
    /// The time of programs from which the scenario states a cause for messages that fail, if it states one.
    may_fail_from: Option<SimTime>,
    names: Vec<String>,
    /// Boards look for races.
    pub(crate) looks_for_races: bool,
    /// Reports of nodes that other ranks executed.
    elsewhere: BTreeMap<usize, NodeReport>,
}

impl Simulation {
    /// Whether programs outside of the world take part, which a second run would start again.
    #[must_use]
    pub fn waits_outside(&self) -> bool {
        let mut workloads = self.workloads.iter();
        workloads.any(|own| own.workload.waits_outside())
    }

    /// Name of a node.
    pub(crate) fn name_of(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }

    /// Number of messages received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        received(&self.lives)
    }

    /// Runs until everything is done or a limit is reached. `watch` is called periodically with the number
    /// of received messages.
    pub fn run(&mut self, options: &RunOptions, watch: impl FnMut(u64) + Send) -> RunSummary {
        let last = self.last(options);
        let mut end = self.advance(options, last, watch);
        if self.replays.any() && matches!(end, RunEnd::TimeLimit(_)) {
            // Nothing runs any more: this tells who waits for what.
            end = self.world.run(&RunLimits {
                max_time: Some(self.world.now()),
                ..RunLimits::default()
            });
        }
        self.outcome(end)
    }

    /// The time limit.
    fn last(&self, options: &RunOptions) -> Option<SimTime> {
        let limits = [self.max_time, options.max_time].into_iter().flatten();
        limits.min().map(|time| START.saturating_add(time))
    }

    /// Runs up to `last` or until everything is done; returns the reason of the end.
    fn advance(
        &mut self,
        options: &RunOptions,
        last: Option<SimTime>,
        mut watch: impl FnMut(u64) + Send,
    ) -> RunEnd {
        // Counters must be sampled at the start of the programs, and before a reset clears them.
        while let Some((time, node)) = self.next_look()
            && last.is_none_or(|last| time < last)
        {
            let reached = self.advance_world(options, Some(time), false, &mut watch);
            if !matches!(reached, RunEnd::TimeLimit(_)) {
                return reached;
            }
            self.counters.look(&self.world, node);
            self.looks += 1;
        }
        // The run cannot be over before the programs start.
        let may_settle = self.looks > 0;
        self.advance_world(options, last, may_settle, &mut watch)
    }

    /// Runs up to `until`. If `may_settle`, ends early when no program has anything left to do.
    fn advance_world(
        &mut self,
        options: &RunOptions,
        until: Option<SimTime>,
        may_settle: bool,
        watch: &mut (impl FnMut(u64) + Send),
    ) -> RunEnd {
        let limits = RunLimits {
            max_time: until,
            interrupt: options.interrupt.clone(),
            clock: options.clock.clone(),
            quiet: self.patience(),
            threads: match self.waits_outside() {
                true => NonZeroUsize::MIN,
                false => options.threads,
            },
        };
        if self.replays.any() && until.is_some() {
            // As the recorded run: whether programs have ended or not.
            return match self.world.pass_time(&limits) {
                true => RunEnd::TimeLimit(Vec::new()),
                false => RunEnd::Interrupted,
            };
        }
        let (lives, resets) = (&self.lives, &self.resets);
        let settled = || verdict::is_settled(&lives_at(lives, resets, SimTime::MAX));
        // Bare firmware may always have more to do.
        let may_end = may_settle && !self.started.any();
        let stop = self.started.stop();
        loop {
            if self.started.failed(&self.world) {
                return RunEnd::Completed;
            }
            let end = self.world.run_until(&limits, &mut || {
                watch(received(lives));
                stop.load(Ordering::Relaxed) || may_end && settled()
            });
            // A CPU may have stopped because its firmware is done: the others continue.
            let stopped = stop.swap(false, Ordering::Relaxed);
            match end {
                RunEnd::Completed if stopped => {}
                RunEnd::Deadlock(_) | RunEnd::Quiet(_) if may_settle && !may_end && settled() => {
                    return RunEnd::Completed;
                }
                end => return end,
            }
        }
    }

    /// When the run is quiet. Bare firmware may compute for ever; other firmware works for its host.
    fn patience(&self) -> Option<Patience> {
        let idle = self.quiet?;
        let longest = SimTime::from_ps(idle.ps().saturating_mul(LONGEST_WORK));
        Some(Patience {
            idle,
            work: Some(longest).filter(|_| !self.started.any()),
        })
    }

    /// Time of the next sample of counters, and the node if it precedes a reset.
    fn next_look(&self) -> Option<(SimTime, Option<usize>)> {
        match self.looks.checked_sub(1) {
            None => Some((START, None)),
            Some(done) => {
                let (time, node) = *self.resets.get(done)?;
                Some((time, Some(node)))
            }
        }
    }

    /// Time of the next sample, if it is before `time`: a world to be saved must stop there.
    #[must_use]
    pub fn next_look_before(&self, time: SimTime) -> Option<SimTime> {
        let (look, _) = self.next_look()?;
        (look < time).then_some(look)
    }

    /// Samples the counters of a world at the time of the next sample, in place of this simulation's world.
    pub fn look(&mut self, world: &World) {
        if let Some((_, node)) = self.next_look() {
            self.counters.look(world, node);
            self.looks += 1;
        }
    }

    /// Result of the run.
    fn outcome(&self, end: RunEnd) -> RunSummary {
        let lives = lives_at(&self.lives, &self.resets, self.world.now());
        RunSummary::new(self, &lives, end)
    }
}

fn received(lives: &[Lives]) -> u64 {
    let deliveries = lives.iter().flat_map(Lives::all);
    deliveries
        .map(|(_, deliveries)| deliveries.records().received)
        .sum()
}

/// The incarnations up to `now`, with their ends.
fn lives_at(lives: &[Lives], resets: &[(SimTime, usize)], now: SimTime) -> Vec<ProgramLife> {
    let of_node = |(node, lives): (usize, &Lives)| {
        let lives = lives.all();
        let ends: Vec<Option<u64>> = (0..lives.len())
            .map(|life| {
                let (began, next) = (lives[life].0, lives.get(life + 1).map(|next| next.0));
                let mine = resets.iter().filter(|(_, reset)| *reset == node);
                let mut times = mine.map(|(time, _)| time.ps());
                times.find(|&time| time >= began && time <= next.unwrap_or(now.ps()))
            })
            .collect();
        let lives = lives.into_iter().zip(ends);
        lives.map(move |((_, deliveries), ended_ps)| ProgramLife {
            node,
            ended_ps,
            deliveries,
        })
    };
    lives.iter().enumerate().flat_map(of_node).collect()
}
