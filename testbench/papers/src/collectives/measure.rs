//! The measurements, each a world of its own: nodes around one crossbar.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use host_lib::gm::collective::{Barrier, Operation, Shape};
use lanigon_experiments::Error;
use lanigon_experiments::grid::AxisValue::{self, Count, Flag, Name};
use lanigon_experiments::grid::PointKey;
use lanigon_experiments::interval::Estimate;
use lanigon_workloads::collective::{
    self, Broadcast, CollectivePlan, CollectiveWork, ExecutedOn, Layer, Round, Settings, Skew, Type,
};
use lanigon_worlds::end::{RunError, completed};
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::programs::deliveries::Deliveries;

use crate::gm::SHORT;
use crate::gm::bench::Setup;

/// Limit of simulated time.
const LIMIT: SimTime = SimTime::from_us(600_000_000);
/// Rounds before the measured ones (gossip-010).
const WARM_UP: usize = 20;
/// Variation of the synthetic applications each way (dissertation-121).
const SYNTHETIC_PERCENT: u32 = 10;
/// Runs of a synthetic application at least: fewer tell nothing about their variation.
const LEAST_RUNS: u64 = 5;
/// Seed of the programs' random numbers.
const SEED: u64 = 1;
/// The leaf whose reduction is measured comes so much later than the others: longer than the slowest tree takes without it.
pub(super) const LEAF_LATE_NS: u64 = 500_000;
/// Name of the programs.
const PROGRAM: &str = "collective";

/// Value that is taken from a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RunValue {
    /// The mean time from the end of so many rounds at the first member to that of the next ones.
    Period(u64),
    /// The mean time inside the call, over all members from this one on.
    Inside { first: usize },
    /// The mean time from the call of the last member, a leaf, to the return at the first one. The leaf comes when the others have done
    /// what they can without it: the publication's leaf waits for a message of the root (sections 4.3.1 and 4.3.2).
    LeafToRoot,
    /// The least computation between two rounds that takes this percentage of the time, to 1 % (section 3.5.4).
    Least(u64),
    /// Mean processor time of a host (gossip, section 6.3): for the operation on hosts with its polls, on which each step depends; for
    /// that on boards without polls, since the program may do something else meanwhile. The difference of a long run and a short one.
    HostTime,
    /// Mean number of packets that a board receives for an operation. The difference of a long run and a short one, likewise.
    Packets,
    /// Latency of a short message between two nodes; with collective operations switched on or off.
    Message(bool),
}

/// Counter of the packets that boards have received. Clones share it.
#[derive(Debug, Clone, Default)]
struct PacketCounter(Arc<AtomicU64>);

impl Observer for PacketCounter {
    fn event(&mut self, event: &TraceEvent) {
        if matches!(event.kind, TraceKind::FrameReceived { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A measurement: a program of these members, in the order of their ranks, and what is taken from its run: packets, or a time in us.
#[derive(Debug, Clone)]
pub(super) struct MeasuredProgram {
    members: Vec<usize>,
    settings: Settings,
    value: RunValue,
}

/// Rounds of an operation without computation.
#[must_use]
pub const fn rounds_of(work: CollectiveWork, on: ExecutedOn, rounds: u64) -> Settings {
    Settings {
        work,
        on,
        layer: Layer::Gm,
        per_node: 1,
        rounds,
        compute_ns: Vec::new(),
        variation_percent: 0,
        skew_ns: None,
        skew: Skew::Uniform,
        last_late_ns: 0,
    }
}

/// Rounds of a barrier of message passing.
#[must_use]
pub fn mpi_rounds(on: ExecutedOn, rounds: u64) -> Settings {
    Settings {
        // The profile has the time of a call.
        layer: Layer::Mpi { call_ns: 0 },
        ..rounds_of(
            CollectiveWork::Barrier(Barrier::PairwiseExchange),
            on,
            rounds,
        )
    }
}

/// Reductions to the first rank, each after a barrier and a random delay up to `skew_ns`.
pub(super) fn reductions(
    shape: Shape,
    of: Type,
    skew_ns: u64,
    (on, rounds): (ExecutedOn, u64),
) -> Settings {
    let work = CollectiveWork::Reduction {
        operation: Operation::Sum,
        of,
        shape,
        root: 0,
        all: false,
        vector: None,
    };
    Settings {
        skew_ns: Some(skew_ns),
        ..rounds_of(work, on, rounds)
    }
}

/// The type of values with this name.
fn values(name: &str) -> Option<Type> {
    Some(match name {
        "integer" => Type::Integer,
        "float" => Type::Float,
        _ => return None,
    })
}

/// All-to-all broadcasts, which have a fourth of the others' rounds.
fn broadcasts(
    name: &str,
    bytes: u64,
    (on, rounds): (ExecutedOn, u64),
    value: RunValue,
) -> Option<(Settings, RunValue)> {
    let algorithm = match name {
        "doubling" => Broadcast::RecursiveDoubling,
        "ring" => Broadcast::Ring,
        "concurrent" => Broadcast::ConcurrentBroadcasting,
        _ => return None,
    };
    let bytes = bytes as usize;
    let work = CollectiveWork::AllToAll { algorithm, bytes };
    Some((rounds_of(work, on, rounds.div_ceil(4)), value))
}

impl MeasuredProgram {
    /// The measurement at a point: a measure, boards, place and number of nodes, and what the measure has; `None`: there is no such point.
    pub(super) fn read(key: &PointKey, rounds: u64) -> Option<Self> {
        let [Name(measure), Name(_), Name(on), Count(nodes), of @ ..] = &key[..] else {
            return None;
        };
        let on = match on.as_str() {
            "host" => ExecutedOn::Host,
            "nic" => ExecutedOn::Nic,
            _ => return None,
        };
        let mut members: Vec<_> = (0..*nodes as usize).collect();
        let found = barriers(measure, of, (on, rounds));
        let (settings, value) =
            found.or_else(|| others(measure, of, (on, rounds), &mut members))?;
        Some(Self {
            members,
            settings,
            value,
        })
    }
}

/// Barriers, over GM and of message passing, alone and between computations.
fn barriers(
    measure: &str,
    of: &[AxisValue],
    (on, rounds): (ExecutedOn, u64),
) -> Option<(Settings, RunValue)> {
    let barrier = |algorithm| rounds_of(CollectiveWork::Barrier(algorithm), on, rounds);
    Some(match (measure, of) {
        ("exchange", []) => (barrier(Barrier::PairwiseExchange), RunValue::Period(1)),
        ("tree", [Count(degree)]) => {
            let degree = *degree as usize;
            let tree = Barrier::GatherBroadcast { root: 0, degree };
            (barrier(tree), RunValue::Period(1))
        }
        ("mpi", []) => (mpi_rounds(on, rounds), RunValue::Period(1)),
        ("loop", [Count(compute_ns), Count(percent)]) => {
            let settings = Settings {
                compute_ns: vec![*compute_ns],
                variation_percent: *percent as u32,
                ..mpi_rounds(on, rounds)
            };
            (settings, RunValue::Period(1))
        }
        ("least", [Count(percent)]) => (mpi_rounds(on, rounds), RunValue::Least(*percent)),
        // Steps of 10, 20, 30, ... us, each followed by a barrier (section 3.5.6).
        ("synthetic", [Count(steps)]) => {
            let runs = rounds.div_ceil(*steps).max(LEAST_RUNS);
            let settings = Settings {
                compute_ns: (1..=*steps).map(|step| step * 10_000).collect(),
                variation_percent: SYNTHETIC_PERCENT,
                ..mpi_rounds(on, steps * runs)
            };
            (settings, RunValue::Period(*steps))
        }
        ("message", [Flag(is_on)]) => (
            barrier(Barrier::PairwiseExchange),
            RunValue::Message(*is_on),
        ),
        _ => return None,
    })
}

/// Reductions and all-to-all broadcasts.
fn others(
    measure: &str,
    of: &[AxisValue],
    program: (ExecutedOn, u64),
    members: &mut [usize],
) -> Option<(Settings, RunValue)> {
    match (measure, of) {
        ("reduction", [Name(form), Name(of)]) => {
            let shape = match form.as_str() {
                "binomial" => Shape::Binomial,
                "chain" => Shape::Fixed { degree: 1 },
                "star" => Shape::Fixed {
                    degree: members.len() - 1,
                },
                _ => return None,
            };
            let settings = Settings {
                last_late_ns: LEAF_LATE_NS,
                ..reductions(shape, values(of)?, 0, program)
            };
            Some((settings, RunValue::LeafToRoot))
        }
        ("processor" | "others", [Name(of), Count(skew_us)]) => {
            let settings = reductions(Shape::Binomial, values(of)?, skew_us * 1_000, program);
            let first = usize::from(measure == "others");
            Some((settings, RunValue::Inside { first }))
        }
        ("all_to_all", [Name(name), Count(bytes)]) => {
            broadcasts(name, *bytes, program, RunValue::Inside { first: 0 })
        }
        // The ranks are at other nodes, in one of several random orders.
        ("placed", [Name(name), Count(bytes), Count(order)]) => {
            shuffle(members, *order);
            broadcasts(name, *bytes, program, RunValue::Inside { first: 0 })
        }
        ("packets", [Name(name), Count(bytes)]) => {
            broadcasts(name, *bytes, program, RunValue::Packets)
        }
        ("host_time", [Name(name), Count(bytes)]) => {
            broadcasts(name, *bytes, program, RunValue::HostTime)
        }
        _ => None,
    }
}

/// Brings numbers into a random order, another one for each `order`.
fn shuffle(all: &mut [usize], order: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(order);
    for last in (1..all.len()).rev() {
        all.swap(last, random.next_u64() as usize % (last + 1));
    }
}

/// A run.
pub(super) struct MeasuredRun {
    /// The rounds of all members, without those of the warm-up.
    rounds: Vec<Vec<Round>>,
    /// Mean time of the programs on a processor since power-on, in us: without and with polls.
    processor_us: [f64; 2],
}

impl MeasuredRun {
    /// The last round of each member.
    pub(super) fn last_rounds(&self) -> Result<Vec<Round>, Error> {
        let last = self.rounds.iter().map(|all| all.last().copied());
        last.collect::<Option<_>>().ok_or(Error::NoRound)
    }

    /// Mean time of `each` rounds at the first member, in us.
    fn period_us(&self, each: u64) -> Result<Estimate, Error> {
        let all = self.rounds.first().ok_or(Error::NoRound)?;
        let ends: Vec<_> = all.iter().map(|round| round.ended_ps).collect();
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
            return Err(Error::NoRound);
        };
        let mean = (last - first) as f64 / 1e6 / (ends.len() - 1).max(1) as f64;
        let stamps: Vec<_> = ends.iter().copied().step_by(each as usize).collect();
        // The measured periods are whole ones but for one round of the first.
        Ok(Estimate::of_rounds(mean, &stamps).times(each as f64))
    }

    fn inside_us(&self, first: usize) -> Result<Estimate, Error> {
        let members = self.rounds.get(first..).unwrap_or_default();
        let rounds = members.iter().map(Vec::len).min().unwrap_or_default();
        let inside = |round: usize| {
            let times = members.iter().map(|all| all[round]);
            times.map(|round| round.ended_ps - round.began_ps).sum()
        };
        let count = members.len().max(1) as f64;
        Ok(mean_us((0..rounds).map(inside))?.times(1.0 / count))
    }

    fn leaf_to_root_us(&self) -> Result<Estimate, Error> {
        let ends = self.rounds.first().zip(self.rounds.last());
        let (root, leaf) = ends.ok_or(Error::NoRound)?;
        let times = root.iter().zip(leaf);
        mean_us(times.map(|(root, leaf)| root.ended_ps.saturating_sub(leaf.began_ps)))
    }
}

/// The mean of the times of rounds, which are in ps, in us.
fn mean_us(rounds: impl Iterator<Item = u64>) -> Result<Estimate, Error> {
    // As if each round began when the one before ended.
    let mut stamps = vec![0];
    stamps.extend(rounds.scan(0, |end, time| {
        *end += time;
        Some(*end)
    }));
    let (count, sum) = (stamps.len() - 1, stamps[stamps.len() - 1]);
    match count {
        0 => Err(Error::NoRound),
        count => Ok(Estimate::of_rounds(
            sum as f64 / 1e6 / count as f64,
            &stamps,
        )),
    }
}

impl Setup<'_> {
    /// Measures a point.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(&self, key: &PointKey, rounds: u64) -> Result<Estimate, Error> {
        let point = MeasuredProgram::read(key, rounds).ok_or(Error::NoRound)?;
        let run = |settings| self.run_program(&point.members, settings, None);
        let settings = point.settings.clone();
        let with_rounds = |rounds| Settings {
            rounds,
            ..settings.clone()
        };
        match point.value {
            RunValue::Period(each) => run(settings)?.period_us(each),
            RunValue::Inside { first } => run(settings)?.inside_us(first),
            RunValue::LeafToRoot => run(settings)?.leaf_to_root_us(),
            RunValue::Least(percent) => self.least_computation(&point, percent as f64 / 100.0),
            RunValue::HostTime => {
                let time = |rounds| {
                    let [computing, all] = run(with_rounds(rounds))?.processor_us;
                    Ok::<_, Error>(match point.settings.on {
                        ExecutedOn::Host => all,
                        ExecutedOn::Nic => computing,
                    })
                };
                let rounds = settings.rounds;
                let time = (time(2 * rounds)? - time(rounds)?) / rounds as f64;
                Ok(Estimate::single(time))
            }
            RunValue::Packets => {
                let received = |rounds| {
                    let counter = PacketCounter::default();
                    let observer = Box::new(counter.clone());
                    self.run_program(&point.members, with_rounds(rounds), Some(observer))?;
                    Ok::<_, Error>(counter.0.load(Ordering::Relaxed))
                };
                let rounds = settings.rounds;
                let packets = received(2 * rounds)? - received(rounds)?;
                let operations = rounds as f64 * point.members.len() as f64;
                Ok(Estimate::single(packets as f64 / operations))
            }
            RunValue::Message(on) => self.latency_with(SHORT, rounds as u32, on),
        }
    }

    fn least_computation(
        &self,
        point: &MeasuredProgram,
        efficiency: f64,
    ) -> Result<Estimate, Error> {
        let period = |compute_ns| {
            let settings = Settings {
                compute_ns,
                ..point.settings.clone()
            };
            let run = self.run_program(&point.members, settings, None)?;
            Ok::<_, Error>(run.period_us(1)?.value)
        };
        let barrier = period(Vec::new())?;
        let (mut least, mut most) = (0.0, 2.0 * barrier * efficiency / (1.0 - efficiency));
        while most - least > 0.01 * most {
            let middle: f64 = (least + most) / 2.0;
            let whole = period(vec![(middle * 1e3).round() as u64])?;
            match middle / whole < efficiency {
                true => least = middle,
                false => most = middle,
            }
        }
        Ok(Estimate::single(most))
    }

    /// Runs a program on the nodes with these numbers, in the order of the ranks: all from 0 on.
    pub(super) fn run_program(
        &self,
        members: &[usize],
        mut settings: Settings,
        observer: Option<Box<dyn Observer>>,
    ) -> Result<MeasuredRun, Error> {
        if let Layer::Mpi { call_ns } = &mut settings.layer {
            *call_ns = self.profile.host.mpi_call.ps() / 1000;
        }
        settings.rounds += WARM_UP as u64;
        let nodes = members.len();
        let mut world = GmWorld::new(nodes as u16, self.image, self.profile)?;
        if let Some(observer) = observer {
            world.world.observe(observer);
        }
        let plans = CollectivePlan::all(&settings, members, 0, SEED, false);
        let spawn = |(node, plan): (usize, CollectivePlan)| {
            let deliveries = Deliveries::default();
            let records = deliveries.clone();
            let end = world.spawn(node, PROGRAM, move |gm| {
                collective::run(gm, plan, deliveries, None)
            });
            (end, records)
        };
        let ends: Vec<_> = plans.into_iter().map(spawn).collect();
        let limits = RunLimits {
            max_time: Some(LIMIT),
            interrupt: Some(Arc::clone(self.interrupt)),
            ..RunLimits::default()
        };
        let run = world.world.run(&limits);
        world.world.finish_observing();
        let mut rounds = Vec::with_capacity(ends.len());
        for (end, records) in ends {
            if let Some(Err(message)) = end.take() {
                let program = "a member";
                return Err(RunError::Program { program, message }.into());
            }
            let collective::Rounds(all) = records.records().own_copy();
            rounds.push(all.into_iter().skip(WARM_UP).collect());
        }
        completed(run)?;
        let mut processor_us = [0.0; 2];
        for node in &world.world.nodes {
            let mut programs = node.programs.cpu_times(node.now());
            if let Some((_, time)) = programs.find(|(name, _)| *name == PROGRAM) {
                processor_us[0] += time.computing.us() / nodes as f64;
                processor_us[1] += time.on_cpu().us() / nodes as f64;
            }
        }
        Ok(MeasuredRun {
            rounds,
            processor_us,
        })
    }
}
