//! The measurements, each a world of its own: nodes around one crossbar.

use std::sync::Arc;

use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use host_lib::gm::collective::{Barrier, Operation, Shape};
use lanigon_workloads::collective::Round;
use lanigon_workloads::collective::{
    self, Broadcast, CollectivePlan, CollectiveWork, Layer, Settings, Type,
};
use lanigon_worlds::end::{RunError, completed};
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::programs::deliveries::Deliveries;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use lanigon_experiments::Error;

use super::{ExecutedOn, Setup};
use crate::gm::{SHORT, bench};
use lanigon_experiments::interval::Estimate;

/// Limit of simulated time.
const LIMIT: SimTime = SimTime::from_us(600_000_000);
/// Rounds before the measured ones (gossip-010).
const WARM_UP: usize = 20;
/// Variation of the synthetic applications each way (dissertation-121).
const SYNTHETIC_PERCENT: u32 = 10;
/// Seed of the programs' random numbers.
const SEED: u64 = 1;

/// Name of the programs.
const PROGRAM: &str = "collective";

/// A run.
pub(super) struct MeasuredRun {
    /// The rounds of all members, without those of the warm-up.
    rounds: Rounds,
    /// Mean time of the programs on a processor since power-on, in us: without and with polls.
    processor_us: [f64; 2],
}

impl MeasuredRun {
    /// The last round of each member.
    pub(super) fn last_rounds(&self) -> Result<Vec<Round>, Error> {
        let last = self.rounds.0.iter().map(|all| all.last().copied());
        last.collect::<Option<_>>().ok_or(Error::NoRound)
    }
}

/// The rounds of all members, without those of the warm-up.
struct Rounds(Vec<Vec<Round>>);

impl Rounds {
    /// Mean time from the end of a round at the first member to that of the next one, in us. Every `each` rounds are alike.
    fn period_us(&self, each: usize) -> Result<Estimate, Error> {
        let all = self.0.first().ok_or(Error::NoRound)?;
        let ends: Vec<_> = all.iter().map(|round| round.ended_ps).collect();
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
            return Err(Error::NoRound);
        };
        let mean = (last - first) as f64 / 1e6 / (ends.len() - 1).max(1) as f64;
        let stamps: Vec<_> = ends.iter().copied().step_by(each).collect();
        Ok(Estimate::of_rounds(mean, &stamps))
    }

    /// Mean time inside the call, over all members and rounds, in us.
    fn inside_us(&self) -> Result<Estimate, Error> {
        let members = self.0.len().max(1) as f64;
        let rounds = self.0.iter().map(Vec::len).min().unwrap_or_default();
        let inside = |round: usize| {
            let times = self.0.iter().map(|all| all[round]);
            times.map(|round| round.ended_ps - round.began_ps).sum()
        };
        Ok(mean_us((0..rounds).map(inside))?.times(1.0 / members))
    }

    /// Mean time from the call of the last member to the return at the first one, in us.
    fn leaf_to_root_us(&self) -> Result<Estimate, Error> {
        let ends = self.0.first().zip(self.0.last());
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

/// The leaf whose reduction is measured comes so much later than the others: longer than the slowest tree takes without it.
pub(super) const LEAF_LATE_NS: u64 = 500_000;

/// Rounds of an operation without computation.
#[must_use]
pub const fn rounds_of(work: CollectiveWork, rounds: u64) -> Settings {
    Settings {
        work,
        on: ExecutedOn::Host,
        layer: Layer::Gm,
        per_node: 1,
        rounds,
        compute_ns: Vec::new(),
        variation_percent: 0,
        skew_ns: None,
        last_late_ns: 0,
    }
}

/// Rounds of a barrier of message passing.
#[must_use]
pub fn mpi_rounds(rounds: u64) -> Settings {
    Settings {
        // The profile has the time of a call.
        layer: Layer::Mpi { call_ns: 0 },
        ..rounds_of(CollectiveWork::Barrier(Barrier::PairwiseExchange), rounds)
    }
}

impl Setup<'_> {
    /// Runs a program on all nodes; its rounds.
    fn run(&self, nodes: u16, settings: Settings) -> Result<Rounds, Error> {
        let members: Vec<_> = (0..usize::from(nodes)).collect();
        Ok(self.run_on(&members, settings)?.rounds)
    }

    /// Runs a program on the nodes with these numbers, in the order of the ranks: all from 0 on.
    fn run_on(&self, members: &[usize], settings: Settings) -> Result<MeasuredRun, Error> {
        self.run_observed(members, settings, None)
    }

    /// Runs a program of these members with an observer.
    pub(super) fn run_observed(
        &self,
        members: &[usize],
        mut settings: Settings,
        observer: Option<Box<dyn Observer>>,
    ) -> Result<MeasuredRun, Error> {
        settings.on = self.on;
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
                collective::run(gm, plan, deliveries)
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
            rounds: Rounds(rounds),
            processor_us,
        })
    }

    /// Mean latency of consecutive barriers, in us (section 3.5.1).
    ///
    /// # Errors
    /// [`Error`].
    pub fn barrier(&self, nodes: u16, algorithm: Barrier, rounds: u64) -> Result<Estimate, Error> {
        let settings = rounds_of(CollectiveWork::Barrier(algorithm), rounds);
        self.run(nodes, settings)?.period_us(1)
    }

    /// Mean latency of consecutive pairwise-exchange barriers of message passing, in us (section 3.5.3).
    ///
    /// # Errors
    /// [`Error`].
    pub fn mpi_barrier(&self, nodes: u16, rounds: u64) -> Result<Estimate, Error> {
        self.run(nodes, mpi_rounds(rounds))?.period_us(1)
    }

    /// Mean time of a loop of a computation and a pairwise-exchange barrier of message passing, in us: every node computes for this time,
    /// plus or minus `percent` at random (sections 3.5.4 and 3.5.5).
    ///
    /// # Errors
    /// [`Error`].
    pub fn computing_loop(
        &self,
        nodes: u16,
        compute_ns: u64,
        percent: u32,
        rounds: u64,
    ) -> Result<Estimate, Error> {
        let settings = Settings {
            compute_ns: vec![compute_ns],
            variation_percent: percent,
            ..mpi_rounds(rounds)
        };
        self.run(nodes, settings)?.period_us(1)
    }

    /// The least computation between two pairwise-exchange barriers of message passing that takes this share of the time, in us, to 1 %
    /// (section 3.5.4).
    ///
    /// # Errors
    /// [`Error`].
    pub fn least_computation(
        &self,
        nodes: u16,
        efficiency: f64,
        rounds: u64,
    ) -> Result<f64, Error> {
        let barrier = self.mpi_barrier(nodes, rounds)?.value;
        let (mut least, mut most) = (0.0, 2.0 * barrier * efficiency / (1.0 - efficiency));
        while most - least > 0.01 * most {
            let middle: f64 = (least + most) / 2.0;
            let compute_ns = (middle * 1e3).round() as u64;
            let whole = self.computing_loop(nodes, compute_ns, 0, rounds)?.value;
            match middle / whole < efficiency {
                true => least = middle,
                false => most = middle,
            }
        }
        Ok(most)
    }

    /// Mean time of a run of the synthetic application with `steps` steps of 10, 20, 30, ... us, each followed by a barrier
    /// of message passing, in us (section 3.5.6).
    ///
    /// # Errors
    /// [`Error`].
    pub fn synthetic(&self, nodes: u16, steps: u64, runs: u64) -> Result<Estimate, Error> {
        let settings = Settings {
            compute_ns: (1..=steps).map(|step| step * 10_000).collect(),
            variation_percent: SYNTHETIC_PERCENT,
            ..mpi_rounds(steps * runs)
        };
        // The measured periods are whole runs but for one step of the first.
        let period = self.run(nodes, settings)?.period_us(steps as usize)?;
        Ok(period.times(steps as f64))
    }

    /// Mean latency of a reduction to the first rank, in us: from the call of the last rank, a leaf, to the result at the root
    /// (sections 4.3.1 and 4.3.2). The leaf comes when the others have done what they can without it: the publication's leaf waits
    /// for a message of the root.
    ///
    /// # Errors
    /// [`Error`].
    pub fn reduction(
        &self,
        nodes: u16,
        shape: Shape,
        of: Type,
        rounds: u64,
    ) -> Result<Estimate, Error> {
        let settings = Settings {
            last_late_ns: LEAF_LATE_NS,
            ..reductions(shape, of, 0, rounds)
        };
        self.run(nodes, settings)?.leaf_to_root_us()
    }

    /// Mean time of a node inside a reduction, in us: each begins after a barrier and a random delay up to `skew_ns`
    /// (sections 4.3.3 and 4.3.4).
    ///
    /// # Errors
    /// [`Error`].
    pub fn reduction_cpu(
        &self,
        nodes: u16,
        of: Type,
        skew_ns: u64,
        rounds: u64,
    ) -> Result<Estimate, Error> {
        let settings = reductions(Shape::Binomial, of, skew_ns, rounds);
        self.run(nodes, settings)?.inside_us()
    }

    /// Mean time of an all-to-all broadcast at a node, in us (gossip, section 6).
    ///
    /// # Errors
    /// [`Error`].
    pub fn all_to_all(
        &self,
        nodes: u16,
        algorithm: Broadcast,
        bytes: usize,
        rounds: u64,
    ) -> Result<Estimate, Error> {
        let settings = rounds_of(CollectiveWork::AllToAll { algorithm, bytes }, rounds);
        self.run(nodes, settings)?.inside_us()
    }

    /// [`all_to_all`](Self::all_to_all) with the ranks at other nodes: `places` numbers the orders, which are random.
    ///
    /// # Errors
    /// [`Error`].
    pub fn placed_all_to_all(
        &self,
        nodes: u16,
        algorithm: Broadcast,
        bytes: usize,
        places: u64,
        rounds: u64,
    ) -> Result<Estimate, Error> {
        let settings = rounds_of(CollectiveWork::AllToAll { algorithm, bytes }, rounds);
        let members = shuffled(usize::from(nodes), places);
        self.run_on(&members, settings)?.rounds.inside_us()
    }

    /// Mean processor time of a host for an all-to-all broadcast, in us (gossip, section 6.3): for the operation on hosts with its polls,
    /// on which each step depends; for that on boards without polls, since the program may do something else meanwhile. It is the
    /// difference of a long run and a short one.
    ///
    /// # Errors
    /// [`Error`].
    pub fn host_time(
        &self,
        nodes: u16,
        algorithm: Broadcast,
        bytes: usize,
        rounds: u64,
    ) -> Result<f64, Error> {
        let members: Vec<_> = (0..usize::from(nodes)).collect();
        let time = |rounds| {
            let settings = rounds_of(CollectiveWork::AllToAll { algorithm, bytes }, rounds);
            let [computing, all] = self.run_on(&members, settings)?.processor_us;
            Ok::<_, Error>(match self.on {
                ExecutedOn::Host => all,
                ExecutedOn::Nic => computing,
            })
        };
        Ok((time(2 * rounds)? - time(rounds)?) / rounds as f64)
    }

    /// Latency of a short message between two nodes, in us; with collective operations switched on or off.
    ///
    /// # Errors
    /// [`Error`].
    pub fn message(&self, collectives: bool, rounds: u64) -> Result<Estimate, Error> {
        let pair = bench::Setup {
            image: self.image,
            profile: self.profile,
            interrupt: self.interrupt,
        };
        let rounds = rounds as u32;
        Ok(match collectives {
            true => pair.latency(SHORT, rounds)?,
            false => pair.latency_without_collectives(SHORT, rounds)?,
        })
    }
}

/// The numbers below `count` in a random order, another one for each `order`.
fn shuffled(count: usize, order: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(order);
    let mut all: Vec<_> = (0..count).collect();
    for last in (1..count).rev() {
        all.swap(last, random.next_u64() as usize % (last + 1));
    }
    all
}

fn reductions(shape: Shape, of: Type, skew_ns: u64, rounds: u64) -> Settings {
    let work = CollectiveWork::Reduction {
        operation: Operation::Sum,
        of,
        shape,
        root: 0,
        all: false,
    };
    Settings {
        skew_ns: Some(skew_ns),
        ..rounds_of(work, rounds)
    }
}
