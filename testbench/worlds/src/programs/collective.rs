//! Programs that execute a collective operation over GM many times, and check each result.

use host_lib::gm::collective::{
    AllToAll, Barrier, Endpoint, Group, Host, Operation, Settings as HostSettings, Shape, Value,
    buffer_bytes,
};
use host_lib::window::System;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::deliveries::{Deliveries, Round};
use crate::gm::GmNode;
use crate::pairs::text;

/// The port of all members.
const PORT: u8 = 2;
/// The first round begins so long after the ports have been opened, so that all of them are.
const LEAD_NS: u64 = 500_000;
/// A wait without an event for so long fails, beyond the time that others may compute.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Longest wait for the routes of a mapper.
const LONGEST_MAPPING_NS: u64 = 60_000_000_000;

/// Type of a reduction's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Integers of 64 bits.
    Integer,
    /// Floating-point numbers of 64 bits.
    Float,
}

/// The operation of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A barrier.
    Barrier(Barrier),
    /// A reduction to one member.
    Reduction {
        /// What is computed.
        operation: Operation,
        /// Of what.
        of: Type,
        /// The tree.
        shape: Shape,
        /// The member's rank.
        root: usize,
    },
    /// An all-to-all broadcast.
    AllToAll {
        /// The algorithm.
        algorithm: AllToAll,
        /// Bytes of a block.
        bytes: usize,
    },
}

impl Work {
    /// Bytes of the longest message.
    fn longest_bytes(self, members: usize) -> usize {
        match self {
            Self::Barrier(_) => 0,
            Self::Reduction { .. } => Value::BYTES,
            Self::AllToAll { algorithm, bytes } => algorithm.longest_bytes(members, bytes),
        }
    }

    /// Whether only one member learns the result: its rank.
    #[must_use]
    pub const fn root(self) -> Option<usize> {
        match self {
            Self::Reduction { root, .. } => Some(root),
            Self::Barrier(_) | Self::AllToAll { .. } => None,
        }
    }
}

/// What a program does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The operation.
    pub work: Work,
    /// How often.
    pub rounds: u64,
    /// Computations before the operations, in turn, in ns; none: the members do not compute.
    pub compute_ns: Vec<u64>,
    /// Each member computes up to this share longer or shorter in each round.
    pub variation_percent: u32,
    /// Before each operation there are a barrier and then a delay of up to so long, in ns; `None`: neither.
    pub skew_ns: Option<u64>,
}

impl Settings {
    /// Mean computation before a round, in ns.
    fn compute_in(&self, round: u64) -> u64 {
        let index = round.checked_rem(self.compute_ns.len() as u64);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| self.compute_ns.get(index));
        found.copied().unwrap_or_default()
    }

    /// How long a member waits for an event, in ns: others may compute meanwhile.
    fn patience_ns(&self) -> u64 {
        let longest = self.compute_ns.iter().max().copied().unwrap_or_default();
        PATIENCE_NS + 3 * longest + self.skew_ns.unwrap_or_default()
    }

    /// Bytes of host memory that the buffers of a member take.
    #[must_use]
    pub fn memory_bytes(&self, members: usize) -> u64 {
        buffer_bytes(self.work.longest_bytes(members))
    }
}

/// The part of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectivePlan {
    /// The settings, the same for all members.
    pub settings: Settings,
    /// Nodes of the members, by rank.
    pub nodes: Vec<u16>,
    /// The own rank.
    pub rank: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// The scenario's seed.
    pub seed: u64,
}

impl CollectivePlan {
    /// The plans of all members, with their nodes.
    #[must_use]
    pub fn all(
        settings: &Settings,
        nodes: &[usize],
        start_ns: u64,
        seed: u64,
    ) -> Vec<(usize, Self)> {
        let numbers: Vec<u16> = nodes.iter().map(|&node| node as u16).collect();
        let plan = |(rank, &node): (usize, &usize)| {
            let plan = Self {
                settings: settings.clone(),
                nodes: numbers.clone(),
                rank,
                start_ns,
                seed,
            };
            (node, plan)
        };
        nodes.iter().enumerate().map(plan).collect()
    }

    /// The group, as the own member sees it.
    fn group(&self) -> Result<Group, String> {
        let member = |&node: &u16| Endpoint { node, port: PORT };
        let members: Vec<_> = self.nodes.iter().map(member).collect();
        let own = members.get(self.rank).copied();
        let own = own.ok_or("the own rank is outside of the group")?;
        Group::new(&members, own).map_err(text)
    }

    /// What a rank gives in a round.
    fn value(&self, of: Type, rank: usize, round: u64) -> Value {
        let bits = mixed(self.seed, rank as u64, round);
        match of {
            Type::Integer => Value::Integer(bits),
            // Sums of these are exact in any order.
            Type::Float => Value::Float((bits >> 40) as f64 / 16.0),
        }
    }

    /// The block that a rank gives in a round.
    fn block(&self, bytes: usize, rank: usize, round: u64) -> impl Iterator<Item = u8> {
        let seed = mixed(self.seed, rank as u64, round);
        let words = (0..bytes.div_ceil(8) as u64).map(move |word| mixed(seed, word, 0));
        words.flat_map(u64::to_be_bytes).take(bytes)
    }
}

/// A number that depends on all bits of three.
const fn mixed(a: u64, b: u64, c: u64) -> u64 {
    let mut bits = a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ c.rotate_left(32);
    let mut round = 0;
    while round < 2 {
        bits = (bits ^ bits >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        round += 1;
    }
    bits ^ bits >> 29
}

/// Executes the rounds of a member, and records the times of each in `deliveries`.
///
/// # Errors
/// An operation fails, or its result is wrong.
pub async fn run(
    mut gm: GmNode,
    plan: CollectivePlan,
    deliveries: Deliveries,
) -> Result<(), String> {
    let group = plan.group()?;
    let settings = &plan.settings;
    gm.open(PORT).await.map_err(text)?;
    let longest_bytes = settings.work.longest_bytes(group.size());
    let patience = HostSettings {
        longest_bytes,
        limit_ns: settings.patience_ns(),
    };
    let mut host = Host::new(&mut gm, group, patience).await.map_err(text)?;
    if gm.nodes() == 0 {
        gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
    }
    gm.system_mut().compute(LEAD_NS + plan.start_ns).await;
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(plan.rank as u64 + 1);
    for round in 0..settings.rounds {
        let compute = settings.compute_in(round);
        if compute > 0 {
            let compute = varied(&mut random, compute, settings.variation_percent);
            gm.system_mut().compute(compute).await;
        }
        if let Some(skew_ns) = settings.skew_ns {
            let barrier = host.barrier(&mut gm, Barrier::PairwiseExchange).await;
            barrier.map_err(text)?;
            let delay = random.next_u64() % (skew_ns + 1);
            gm.system_mut().compute(delay).await;
        }
        let began_ps = gm.system().now_ps();
        let result = execute(&mut gm, &mut host, &plan, round).await?;
        let ended_ps = gm.system().now_ps();
        check(&plan, round, &result)?;
        deliveries
            .records()
            .rounds
            .push(Round { began_ps, ended_ps });
    }
    host.flush(&mut gm).await.map_err(text)
}

/// A computation of about this length.
fn varied(random: &mut ChaCha8Rng, mean_ns: u64, percent: u32) -> u64 {
    let most = mean_ns * u64::from(percent) / 100;
    match most {
        0 => mean_ns,
        _ => mean_ns - most + random.next_u64() % (2 * most + 1),
    }
}

/// The result of an operation at a member.
enum Outcome {
    None,
    Value(Option<Value>),
    Blocks(Vec<u8>),
}

async fn execute(
    gm: &mut GmNode,
    host: &mut Host,
    plan: &CollectivePlan,
    round: u64,
) -> Result<Outcome, String> {
    match plan.settings.work {
        Work::Barrier(algorithm) => {
            let barrier = host.barrier(gm, algorithm).await;
            barrier.map(|()| Outcome::None).map_err(text)
        }
        Work::Reduction {
            operation,
            of,
            shape,
            root,
        } => {
            let value = plan.value(of, plan.rank, round);
            let result = host.reduce(gm, operation, shape, root, value).await;
            result.map(Outcome::Value).map_err(text)
        }
        Work::AllToAll { algorithm, bytes } => {
            let block: Vec<u8> = plan.block(bytes, plan.rank, round).collect();
            let all = host.all_to_all(gm, algorithm, &block).await;
            all.map(Outcome::Blocks).map_err(text)
        }
    }
}

/// Compares a result with what the program computes itself.
fn check(plan: &CollectivePlan, round: u64, result: &Outcome) -> Result<(), String> {
    let ranks = 0..plan.nodes.len();
    match (plan.settings.work, result) {
        (
            Work::Reduction {
                operation,
                of,
                root,
                ..
            },
            Outcome::Value(found),
        ) => {
            let mut values = ranks.map(|rank| Ok(plan.value(of, rank, round)));
            let first = values.next().unwrap_or(Err(String::new()));
            let all = values.fold(first, |sum, value| {
                operation.apply(sum?, value?).map_err(text)
            });
            let expected = Some(all?).filter(|_| plan.rank == root);
            match *found == expected {
                true => Ok(()),
                false => Err(format!("round {round} gives {found:?}, not {expected:?}")),
            }
        }
        (Work::AllToAll { bytes, .. }, Outcome::Blocks(found)) => {
            let expected = ranks.flat_map(|rank| plan.block(bytes, rank, round));
            match expected.eq(found.iter().copied()) {
                true => Ok(()),
                false => Err(format!(
                    "round {round}: a block is not as its sender gave it"
                )),
            }
        }
        _ => Ok(()),
    }
}

/// Results of a program, over all its members.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CollectiveUse {
    /// Name of the program.
    pub program: String,
    /// Number of members.
    pub members: usize,
    /// Rounds that all members have completed.
    pub rounds: usize,
    /// Time from the last arrival of a round to its end, in us: the last departure, or the result at the root.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Mean time from the end of a round to that of the next one, in us; 0 with one round.
    pub period_us: f64,
    /// Mean time of a member inside a call, which the host's processor spends on it, in us.
    pub cpu_us: f64,
}

impl CollectiveUse {
    /// The results of the rounds of all members, by rank; `None` before the first round is complete. With the rounds in which
    /// a member left a barrier, or had all blocks, before another one came.
    #[must_use]
    pub fn of(program: &str, work: Work, members: &[Vec<Round>]) -> Option<(Self, Vec<usize>)> {
        let rounds = members.iter().map(Vec::len).min().unwrap_or_default();
        let mut times = Vec::with_capacity(rounds);
        let mut ends = Vec::with_capacity(rounds);
        let (mut early, mut inside_ps) = (Vec::new(), 0_u64);
        for round in 0..rounds {
            let of_round = || members.iter().map(|member| member[round]);
            let last = of_round().map(|one| one.began_ps).max()?;
            let leaving = match work.root() {
                Some(root) => members.get(root)?[round]..members.get(root)?[round],
                None => {
                    let first = of_round().min_by_key(|one| one.ended_ps)?;
                    first..of_round().max_by_key(|one| one.ended_ps)?
                }
            };
            if leaving.start.ended_ps < last {
                early.push(round);
            }
            let end = leaving.end.ended_ps;
            times.push(end.saturating_sub(last));
            ends.push(end);
            inside_ps += of_round()
                .map(|one| one.ended_ps - one.began_ps)
                .sum::<u64>();
        }
        let (first, last) = ends.first().zip(ends.last())?;
        times.sort_unstable();
        let us = |ps: u64, count: usize| ps as f64 / 1e6 / count.max(1) as f64;
        let place = |percent: usize| times[(rounds * percent).div_ceil(100).max(1) - 1];
        let result = Self {
            program: program.to_owned(),
            members: members.len(),
            rounds,
            mean_us: us(times.iter().sum(), rounds),
            p50_us: us(place(50), 1),
            p99_us: us(place(99), 1),
            period_us: us(last - first, rounds - 1),
            cpu_us: us(inside_ps, rounds * members.len()),
        };
        Some((result, early))
    }
}
