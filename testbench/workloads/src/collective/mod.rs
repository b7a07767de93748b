//! Programs that execute a collective operation over GM many times, and check each result.

mod check;
mod engine;
mod keys;
mod random;
mod skew;
mod summary;
mod workload;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::host::machine::Machine;
use emulator::profile::costs::TrapCosts;
use host_lib::gm::Gm;
use host_lib::gm::collective::{Arithmetic, Barrier, Endpoint, Group, Operation, Shape, Value};
use host_lib::window::System;

use check::{check, is_ordered};
pub use engine::Broadcast;
use engine::CollectiveEngine;
pub(crate) use keys::read_skew;
pub(crate) use skew::SKEWS;
pub use skew::{Delays, Skew};
pub use summary::{CollectiveUse, TrapShare};
pub use workload::{KIND, Rounds};

use lanigon_worlds::emp::text;
use lanigon_worlds::programs::deliveries::Deliveries;

/// The port of members on nodes with no other program.
pub const PORT: u8 = 2;
/// The port of members of a program that has a node in common with a program of messages, which uses the other one.
pub const PORT_BESIDE: u8 = 4;
/// Ports of the further members of a node.
const MORE_PORTS: [u8; 3] = [5, 6, 7];
/// Most members of a node.
pub const MOST_PER_NODE: usize = 1 + MORE_PORTS.len();
/// The first round begins so long after the ports have been opened, so that all of them are.
pub(crate) const LEAD_NS: u64 = 500_000;
/// A wait without an event for so long fails, beyond the time that others may compute.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Longest wait for the routes of a mapper.
pub(crate) const LONGEST_MAPPING_NS: u64 = 60_000_000_000;

/// Executor of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutedOn {
    /// By the hosts, with plain sends and receives.
    Host,
    /// By the firmware.
    Nic,
}

impl ExecutedOn {
    /// Name of the executor in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Nic => "nic",
        }
    }
}

/// The library that executes operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// GM's.
    Gm,
    /// Message passing over GM; barriers only.
    Mpi {
        /// Processor time of the library for each send and receive, in ns.
        call_ns: u64,
    },
}

/// Type of a reduction's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Integers of 64 bits.
    Integer,
    /// Floating-point numbers of 64 bits.
    Float,
}

/// Vectors of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorWork {
    /// Number of elements.
    pub elements: usize,
    /// The processor that computes, of reductions on boards.
    pub arithmetic: Arithmetic,
}

impl VectorWork {
    /// Whether hosts compute for boards.
    pub(super) fn traps(self) -> bool {
        self.arithmetic == Arithmetic::FastTrap
    }
}

/// Another hold on a member's host, for the handler of light interrupts, and costs of the host.
pub struct Traps {
    /// The host.
    pub machine: Machine,
    /// Costs.
    pub costs: TrapCosts,
}

/// The operation of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveWork {
    /// A barrier of this algorithm.
    Barrier(Barrier),
    /// A reduction along a tree.
    Reduction {
        /// Operation on the values.
        operation: Operation,
        /// Type of the values.
        of: Type,
        /// The tree.
        shape: Shape,
        /// Rank of the root, the only member that gets the result unless all do.
        root: usize,
        /// Whether all members get the result; then the root is the first one.
        all: bool,
        /// The values are vectors; `None`: they are single ones.
        vector: Option<VectorWork>,
    },
    /// An all-to-all broadcast.
    AllToAll {
        /// Algorithm of the broadcasts.
        algorithm: Broadcast,
        /// Bytes of a block.
        bytes: usize,
    },
    /// One of these in each round, at random.
    Random {
        /// Most bytes of a block.
        bytes: usize,
    },
}

impl CollectiveWork {
    /// Name of the operation in messages.
    const fn operation(self) -> &'static str {
        match self {
            Self::Barrier(_) => "a barrier",
            Self::Reduction { .. } => "a reduction",
            Self::AllToAll { .. } => "an all-to-all broadcast",
            Self::Random { .. } => "one of all operations",
        }
    }

    /// Bytes of the longest message between hosts.
    fn longest_bytes(self, members: usize) -> usize {
        match self {
            Self::Barrier(_) => 0,
            Self::Reduction { vector, .. } => {
                Value::BYTES * vector.map_or(1, |vector| vector.elements)
            }
            Self::AllToAll { algorithm, bytes } => algorithm.longest_bytes(members, bytes),
            Self::Random { bytes } => {
                let blocks = Broadcast::RecursiveDoubling.longest_bytes(members, bytes);
                blocks.max(Value::BYTES)
            }
        }
    }

    /// Most bytes of a block; `None`: it has no blocks.
    const fn block_bytes(self) -> Option<usize> {
        match self {
            Self::Barrier(_) | Self::Reduction { .. } => None,
            Self::AllToAll { bytes, .. } | Self::Random { bytes } => Some(bytes),
        }
    }

    /// Whether only one member learns the result: its rank.
    #[must_use]
    pub const fn root(self) -> Option<usize> {
        match self {
            Self::Reduction {
                root, all: false, ..
            } => Some(root),
            Self::Barrier(_)
            | Self::Reduction { .. }
            | Self::AllToAll { .. }
            | Self::Random { .. } => None,
        }
    }

    /// The operation of a round.
    #[must_use]
    pub fn in_round(self, on: ExecutedOn, seed: u64, members: usize, round: u64) -> Self {
        match self {
            Self::Random { bytes } => random::work(on, bytes, members, mixed(seed, !0, round)),
            _ => self,
        }
    }
}

/// Settings of a program, the same for all members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The operation.
    pub work: CollectiveWork,
    /// Executor of the operation.
    pub on: ExecutedOn,
    /// Through which library.
    pub layer: Layer,
    /// Members of each node: processes with ports of their own, whose ranks follow each other.
    pub per_node: usize,
    /// Number of rounds.
    pub rounds: u64,
    /// Computations before the operations, in turn, in ns; none: the members do not compute.
    pub compute_ns: Vec<u64>,
    /// Each member computes up to this share longer or shorter in each round.
    pub variation_percent: u32,
    /// Before each operation there are a barrier and then a delay, in the uniform model up to so long, in ns; `None`: neither.
    pub skew_ns: Option<u64>,
    /// Model of these delays.
    pub skew: Skew,
    /// The last rank comes so much later to each operation, in ns: what the others can do without it is done then.
    pub last_late_ns: u64,
}

impl Settings {
    /// Mean computation before a round, in ns.
    fn compute_in(&self, round: u64) -> u64 {
        let index = round.checked_rem(self.compute_ns.len() as u64);
        let index = index.and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| self.compute_ns.get(index));
        found.copied().unwrap_or_default()
    }

    /// The vectors of the reductions, if there are any.
    pub(super) const fn vector(&self) -> Option<VectorWork> {
        match self.work {
            CollectiveWork::Reduction { vector, .. } => vector,
            _ => None,
        }
    }

    /// Longest wait of a member for an event, in ns: others may compute meanwhile.
    fn patience_ns(&self) -> u64 {
        let longest = self.compute_ns.iter().max().copied().unwrap_or_default();
        let skew_ns = self.skew_ns.unwrap_or_default();
        PATIENCE_NS + 3 * longest + self.skew.longest_ns(skew_ns) + self.last_late_ns
    }

    /// Bytes of host memory that the buffers of a node's members take, with the members of this many nodes.
    #[must_use]
    pub fn memory_bytes(&self, nodes: usize) -> u64 {
        let members = nodes * self.per_node;
        engine::memory_bytes(self.layer, self.on, self.work, members) * self.per_node as u64
    }
}

/// A round of an operation at a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Index of the member among those of its node; of a multicast, that of the leaf that has answered.
    pub process: usize,
    /// The call.
    pub began_ps: u64,
    /// Time of the call's return.
    pub ended_ps: u64,
    /// Light interrupts since the round before.
    pub traps: u64,
    /// Time of the processor in them.
    pub trap_ps: u64,
}

/// The part of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectivePlan {
    /// The settings, the same for all members.
    pub settings: Settings,
    /// The members, by rank.
    pub members: Vec<Endpoint>,
    /// The own rank.
    pub rank: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// The scenario's seed.
    pub seed: u64,
    /// Index of the member among those of its node.
    pub process: usize,
}

/// The port of a member, by its number among those of its node. `beside`: the first one leaves [`PORT`] to another program.
fn port(process: usize, beside: bool) -> u8 {
    let first = if beside { PORT_BESIDE } else { PORT };
    let more = process
        .checked_sub(1)
        .and_then(|index| MORE_PORTS.get(index));
    more.copied().unwrap_or(first)
}

impl CollectivePlan {
    /// The plans of all members, with their nodes. `beside`: another program of the nodes has [`PORT`].
    #[must_use]
    pub fn all(
        settings: &Settings,
        nodes: &[usize],
        start_ns: u64,
        seed: u64,
        beside: bool,
    ) -> Vec<(usize, Self)> {
        let per_node = settings.per_node.clamp(1, MOST_PER_NODE);
        let member = |rank: usize| Endpoint {
            node: nodes[rank / per_node] as u16,
            port: port(rank % per_node, beside),
        };
        let members: Vec<_> = (0..nodes.len() * per_node).map(member).collect();
        let plan = |rank: usize| {
            let plan = Self {
                settings: settings.clone(),
                members: members.clone(),
                rank,
                start_ns,
                seed,
                process: rank % per_node,
            };
            (nodes[rank / per_node], plan)
        };
        (0..members.len()).map(plan).collect()
    }

    /// The group, as the own member sees it.
    fn group(&self) -> Result<Group, String> {
        let own = self.members.get(self.rank).copied();
        let own = own.ok_or("the own rank is outside of the group")?;
        Group::new(&self.members, own).map_err(text)
    }

    /// The delays before the operations.
    fn delays(&self) -> Delays {
        let most_ns = self.settings.skew_ns.unwrap_or_default();
        let ranks = (0..self.members.len(), self.rank);
        Delays::new(self.settings.skew, most_ns, ranks, self.seed)
    }

    /// The operation of a round.
    fn work_in(&self, round: u64) -> CollectiveWork {
        let Settings { work, on, .. } = self.settings;
        work.in_round(on, self.seed, self.members.len(), round)
    }

    /// The values and the block that a rank gives in a round; those that the operation does not take are empty.
    fn given(&self, work: CollectiveWork, rank: usize, round: u64) -> (Vec<Value>, Vec<u8>) {
        match work {
            CollectiveWork::Reduction { of, vector, .. } => {
                let elements = vector.map_or(1, |vector| vector.elements);
                let value = |element| self.element(work, of, (rank, round, element));
                ((0..elements as u64).map(value).collect(), Vec::new())
            }
            CollectiveWork::AllToAll { bytes, .. } => {
                let block = self.block(bytes, rank, round).collect();
                (Vec::new(), block)
            }
            CollectiveWork::Barrier(_) | CollectiveWork::Random { .. } => (Vec::new(), Vec::new()),
        }
    }

    /// An element that a rank gives to the reduction of a round. Sums of those that hosts add are rounded: the order of the additions
    /// matters.
    fn element(
        &self,
        work: CollectiveWork,
        of: Type,
        (rank, round, element): (usize, u64, u64),
    ) -> Value {
        let place = round ^ element << 40;
        match of {
            Type::Float if is_ordered(self.settings.on, work) => {
                let bits = mixed(self.seed, rank as u64, place);
                let scale = 2_f64.powi((bits % 60) as i32 - 30);
                Value::Float((bits >> 11) as f64 * scale - (bits >> 40) as f64)
            }
            _ => self.value(of, rank, place),
        }
    }

    /// Value that a rank gives to the reduction of a round.
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
    mut gm: Gm,
    plan: CollectivePlan,
    deliveries: Deliveries,
    traps: Option<Traps>,
) -> Result<(), String> {
    let group = plan.group()?;
    let settings = &plan.settings;
    gm.open(group.own().port).await.map_err(text)?;
    let limit_ns = settings.patience_ns();
    let place = (settings.layer, settings.on);
    let mut engine =
        CollectiveEngine::new(gm, place, group, settings.work, (limit_ns, traps)).await?;
    let mut traps_before = (0, 0);
    let gm = engine.gm();
    if gm.nodes() == 0 {
        gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
    }
    let lead_ns = LEAD_NS + plan.start_ns;
    match settings.per_node {
        1 => gm.system_mut().compute(lead_ns).await,
        // Another process of the host may need the processor to open its port.
        _ => gm.system_mut().sleep(lead_ns).await,
    }
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(plan.rank as u64 + 1);
    let mut delays = plan.delays();
    for round in 0..settings.rounds {
        let compute = settings.compute_in(round);
        if compute > 0 {
            let compute = varied(&mut random, compute, settings.variation_percent);
            engine.gm().system_mut().compute(compute).await;
        }
        if settings.skew_ns.is_some() {
            engine.barrier(Barrier::PairwiseExchange).await?;
            if let Some(delay) = delays.next(&mut random) {
                engine.gm().system_mut().compute(delay).await;
            }
        }
        if settings.last_late_ns > 0 && plan.rank + 1 == plan.members.len() {
            let late_ns = settings.last_late_ns;
            engine.gm().system_mut().compute(late_ns).await;
        }
        let work = plan.work_in(round);
        let (values, block) = plan.given(work, plan.rank, round);
        let began_ps = engine.gm().system().now_ps();
        let result = engine.execute(work, &values, &block).await;
        let result =
            result.map_err(|error| format!("round {round}, {}: {error}", work.operation()))?;
        let ended_ps = engine.gm().system().now_ps();
        let traps = engine.traps();
        check(&plan, work, round, &result)?;
        let round = Round {
            process: plan.process,
            began_ps,
            ended_ps,
            traps: traps.0 - traps_before.0,
            trap_ps: traps.1 - traps_before.1,
        };
        traps_before = traps;
        deliveries.record(|Rounds(rounds)| rounds.push(round));
    }
    engine.flush().await
}

/// A computation of about this length.
pub(super) fn varied(random: &mut ChaCha8Rng, mean_ns: u64, percent: u32) -> u64 {
    let most = mean_ns * u64::from(percent) / 100;
    match most {
        0 => mean_ns,
        _ => mean_ns - most + random.next_u64() % (2 * most + 1),
    }
}
