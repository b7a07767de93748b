//! Programs in which a root sends messages to all other nodes along a tree, one at a time, and every node checks every byte.
//!
//! Rounds are those of the dissertation's benchmark (section 2.5): one of the leaves that are the last children of their parents answers
//! each round with an empty message; after some rounds the next one of these leaves does. The root begins a round when it has the answer of
//! the one before.

mod fm;
mod gm;
mod keys;
mod summary;
mod workload;

use std::sync::Arc;

use defs::gm::packet::capacity;
use host_lib::fm::tree::{Postal, Tree, TreeError};
use host_lib::window::{System, SystemPort};

pub use host_lib::fm::predict::SendMethod;
pub use summary::{MulticastUse, NodeDelivery};
pub use workload::KIND;
use workload::MulticastRecords;

use lanigon_worlds::programs::content::{self, Flow};
use lanigon_worlds::programs::deliveries::{Deliveries, ReceivedEntry};
use lanigon_worlds::workload::Library;

use crate::collective::Round;

/// Longest message, in bytes: that of GM's buffers of 16 MB, over FM too.
pub const MOST_BYTES: u32 = capacity(24);
/// The first round begins so long after the start, so that all nodes can receive.
const LEAD_NS: u64 = 500_000;
/// Tag of all flows.
const NO_TAG: u16 = 0;
/// In place of the receiver in the label of a message, which is the same for all.
const ALL: u16 = u16::MAX;

/// Shape of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TreeKind {
    /// The best one of the postal model for this lambda; a star, if that is the number of nodes.
    Optimal {
        /// Latency of a message in the postal model, in times of a send.
        lambda: u32,
    },
    /// The binomial one.
    Binomial,
}

impl TreeKind {
    /// The tree for so many nodes.
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn build(self, nodes: usize) -> Result<Tree, TreeError> {
        match self {
            Self::Optimal { lambda } => Tree::optimal(nodes, Postal::lambda(lambda)),
            Self::Binomial => Tree::binomial(nodes),
        }
    }

    /// Name of the tree in results.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Optimal { lambda } => format!("optimal tree of lambda {lambda}"),
            Self::Binomial => "binomial tree".into(),
        }
    }
}

/// Settings of a program, the same for all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Kind of the tree along which messages go.
    pub tree: TreeKind,
    /// Method by which inner nodes send messages on.
    pub way: SendMethod,
    /// Length of a message.
    pub bytes: u32,
    /// Rounds for each answering leaf.
    pub rounds: u64,
    /// Pause before a round, in ns.
    pub pause_ns: u64,
}

impl Settings {
    /// Rounds of all answering leaves among so many nodes.
    #[must_use]
    pub fn all_rounds(&self, nodes: usize) -> u64 {
        let tree = self.tree.build(nodes);
        let leaves = tree.map_or(1, |tree| tree.last_leaves().len());
        self.rounds.saturating_mul(leaves as u64)
    }
}

/// Bytes of host memory that the buffers of a node take. Over FM there is the ring of packets instead.
#[must_use]
pub fn memory_bytes(settings: &Settings) -> u64 {
    gm::memory_bytes(settings.bytes)
}

/// The part of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastPlan {
    /// Settings of the program.
    pub settings: Settings,
    /// Tree of the ranks.
    pub tree: Arc<Tree>,
    /// The nodes, by rank: the first one is the root.
    pub members: Arc<[u16]>,
    /// The own rank.
    pub rank: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// The scenario's seed.
    pub seed: u64,
    /// Longest wait of a node for a packet over FM, in ns.
    pub timeout_ns: u64,
}

impl MulticastPlan {
    /// The plans of all nodes.
    ///
    /// # Errors
    /// The tree is not possible.
    pub fn all(
        settings: &Settings,
        nodes: &[usize],
        start_ns: u64,
        seed: u64,
        timeout_ns: u64,
    ) -> Result<Vec<(usize, Self)>, TreeError> {
        let tree = Arc::new(settings.tree.build(nodes.len())?);
        let members: Arc<[u16]> = nodes.iter().map(|&node| node as u16).collect();
        let plan = |(rank, &node): (usize, &usize)| {
            let plan = Self {
                settings: *settings,
                tree: Arc::clone(&tree),
                members: Arc::clone(&members),
                rank,
                start_ns,
                seed,
                timeout_ns,
            };
            (node, plan)
        };
        Ok(nodes.iter().enumerate().map(plan).collect())
    }

    /// The rank that answers a round, and which of the answering ones it is.
    fn answers(&self, round: u64) -> (usize, usize) {
        let leaves = self.tree.last_leaves();
        let place = (round / self.settings.rounds.max(1)) as usize % leaves.len().max(1);
        (leaves.get(place).copied().unwrap_or_default(), place)
    }

    /// The bytes of a round, the same for all receivers.
    fn content(&self, round: u64) -> Vec<u8> {
        let flow = self.flow(ALL);
        content::bytes(self.seed, flow, round as u32, self.settings.bytes)
    }

    fn flow(&self, to: u16) -> Flow {
        Flow {
            from: self.members[0],
            to,
            tag: NO_TAG,
            life: 0,
        }
    }
}

/// The two engines.
enum MulticastEngine {
    Fm(Box<fm::FmEngine>),
    Gm(Box<gm::GmEngine>),
}

impl MulticastEngine {
    async fn new(library: Library, plan: &MulticastPlan) -> Result<Self, String> {
        Ok(match library {
            Library::Fm(fm) => Self::Fm(Box::new(fm::FmEngine::new(*fm, plan)?)),
            Library::Gm(gm) => Self::Gm(Box::new(gm::GmEngine::new(*gm, plan).await?)),
            Library::Emp(_) => return Err("the board runs neither FM nor GM".into()),
        })
    }

    fn system(&mut self) -> &mut dyn SystemPort {
        match self {
            Self::Fm(engine) => engine.fm.system(),
            Self::Gm(engine) => engine.gm.system_mut(),
        }
    }

    /// Sends a message, at the root.
    async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Fm(engine) => engine.send(bytes).await,
            Self::Gm(engine) => engine.send(bytes).await,
        }
    }

    /// Receives a message and sends it on, at the others; the bytes, and when they had come, in ps.
    async fn receive(&mut self) -> Result<(Vec<u8>, u64), String> {
        match self {
            Self::Fm(engine) => engine.receive().await,
            Self::Gm(engine) => engine.receive().await,
        }
    }

    /// Sends the answer to the root.
    async fn answer(&mut self, root: u16) -> Result<(), String> {
        match self {
            Self::Fm(engine) => engine.answer(root).await,
            Self::Gm(engine) => engine.answer(root).await,
        }
    }

    /// Waits for the answer, at the root.
    async fn await_answer(&mut self) -> Result<(), String> {
        match self {
            Self::Fm(engine) => engine.await_answer().await,
            Self::Gm(engine) => engine.await_answer().await,
        }
    }

    /// Waits for the ends of the own sends.
    async fn flush(&mut self) -> Result<(), String> {
        match self {
            // FM has no acknowledgments: what was given to the board has been sent.
            Self::Fm(_) => Ok(()),
            Self::Gm(engine) => engine.flush().await,
        }
    }
}

/// Executes the rounds of a node, and records messages and the root's times in `deliveries`.
///
/// # Errors
/// A message is not sent or does not come.
pub async fn run(
    library: Library,
    plan: MulticastPlan,
    deliveries: Deliveries,
) -> Result<(), String> {
    let mut engine = MulticastEngine::new(library, &plan).await?;
    engine.system().compute(LEAD_NS + plan.start_ns).await;
    for round in 0..plan.settings.all_rounds(plan.members.len()) {
        let (answering, place) = plan.answers(round);
        let done = match plan.rank {
            0 => lead(&mut engine, &plan, &deliveries, (round, place)).await,
            _ => follow(&mut engine, &plan, &deliveries, (round, answering)).await,
        };
        done.map_err(|error| format!("round {round}: {error}"))?;
    }
    engine.flush().await
}

/// A round at the root.
async fn lead(
    engine: &mut MulticastEngine,
    plan: &MulticastPlan,
    deliveries: &Deliveries,
    (round, place): (u64, usize),
) -> Result<(), String> {
    if plan.settings.pause_ns > 0 {
        engine.system().compute(plan.settings.pause_ns).await;
    }
    let bytes = plan.content(round);
    let began_ps = engine.system().now_ps();
    for &node in &plan.members[1..] {
        let flow = plan.flow(node);
        let mut records = deliveries.records();
        let sequence = records.post(flow, began_ps, plan.settings.bytes);
        // What is sent counts as lost if it does not arrive.
        records.sent(flow, sequence, Ok(()));
    }
    engine.send(&bytes).await?;
    let called_ps = engine.system().now_ps() - began_ps;
    deliveries.record(|own: &mut MulticastRecords| own.calls_ps.push(called_ps));
    engine.await_answer().await?;
    let ended_ps = engine.system().now_ps();
    let round = Round {
        traps: 0,
        trap_ps: 0,
        process: place,
        began_ps,
        ended_ps,
    };
    deliveries.record(|own: &mut MulticastRecords| own.rounds.push(round));
    Ok(())
}

/// A round at another node.
async fn follow(
    engine: &mut MulticastEngine,
    plan: &MulticastPlan,
    deliveries: &Deliveries,
    (round, answering): (u64, usize),
) -> Result<(), String> {
    let (bytes, time_ps) = engine.receive().await?;
    if plan.rank == answering {
        engine.answer(plan.members[0]).await?;
    }
    let flow = plan.flow(plan.members[plan.rank]);
    let length = bytes.len() as u32;
    let got = ReceivedEntry {
        sequence: round as u32,
        number: content::number_in(round as u32, length),
        time_ps,
        length,
        intact: bytes == plan.content(round),
    };
    deliveries.records().receive(flow, got);
    Ok(())
}
