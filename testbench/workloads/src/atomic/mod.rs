//! Programs that execute atomic operations over GM, alone or for a lock, and record them for a check.

mod engine;
mod keys;
pub mod linear;
mod summary;
mod workload;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use host_lib::gm::atomic::{
    AtomicError, AtomicOperation, Executor, Guard, Lock, Member, Wait, Word,
};
use host_lib::gm::collective::{AllToAll, Endpoint, Group, Host, Settings as Exchange};
use host_lib::gm::{Buffer, Gm};
use host_lib::window::{System, VirtualAddress};

use engine::MemberExecutor;
pub use engine::{SharedWords, serve};
pub use linear::{Linearity, TimedOperation};
pub use summary::AtomicUse;
pub use workload::KIND;

use crate::collective::ExecutedOn;
use lanigon_worlds::emp::text;
use lanigon_worlds::programs::deliveries::Deliveries;

/// The port of members.
const PORT: u8 = 2;
/// The port of servers.
const SERVER_PORT: u8 = 4;
/// The port through which nodes tell each other their addresses.
const EXCHANGE_PORT: u8 = 5;
/// Nodes tell their addresses so long after the start, so that all ports are open.
const LEAD_NS: u64 = 500_000;
/// Longest wait for the address of another node.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Longest wait for the routes of a mapper.
const LONGEST_MAPPING_NS: u64 = 60_000_000_000;
/// For so long a home counts iterations at a time, in ns (dissertation-200).
pub const WINDOW_NS: u64 = 1_000_000;
/// An iteration, in ns.
const ITERATION_NS: u64 = 100;
/// A home counts after so much computation, in ns: more than a usual time slice.
const SETTLED_NS: u64 = 100_000_000;
/// Most words of a home.
pub const MOST_WORDS: u32 = 512;
/// Distance of the two words of a lock's member from the lock's word, in bytes: they lie in another line of the cache.
const MEMBER: u64 = 64;
/// Values of random operations: few, so that comparisons succeed.
const VALUES: u64 = 4;

/// Operations that a program executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationMix {
    /// Any, with random operands.
    Random,
    /// Fetch and add of 1.
    FetchAdd,
    /// Fetch and write.
    FetchWrite,
    /// Compare and swap of the value that the member has seen last.
    CompareSwap,
    /// Compare and swap of a value that never stands there.
    CompareSwapMiss,
}

/// Work of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomicWork {
    /// Operations on random words of random homes.
    Operations {
        /// Choice of the operations.
        which: OperationMix,
        /// Words of each home.
        words: u32,
    },
    /// A lock, acquired and released.
    Lock {
        /// Time for which a member holds the lock, in ns.
        hold_ns: u64,
    },
}

/// The settings of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Work of the members.
    pub work: AtomicWork,
    /// Executor of the operations: boards, or servers on the hosts.
    pub on: ExecutedOn,
    /// Method by which servers wait for requests.
    pub wait: Wait,
    /// Results of boards go into memory, without events.
    pub direct: bool,
    /// Boards keep their operations apart from what their hosts do with the words.
    pub mutex: bool,
    /// Operations of each member, or how often it acquires the lock.
    pub count: u64,
    /// Operations of each member, or uses of the lock, before those whose times count.
    pub warm_up: u64,
    /// Homes that are no members count how far they come, in a loop.
    pub counter: bool,
    /// Pause after each of them, in ns.
    pub think_ns: u64,
    /// Each pause is up to this share longer or shorter.
    pub variation_percent: u32,
}

/// The part of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtomicPlan {
    /// The settings, the same for all nodes.
    pub settings: Settings,
    /// All nodes of the program: members first, then homes that are no members.
    pub nodes: Vec<u16>,
    /// Number of members.
    pub members: usize,
    /// The homes, as places in `nodes`.
    pub homes: Vec<usize>,
    /// The own place in `nodes`.
    pub place: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// The scenario's seed.
    pub seed: u64,
}

impl AtomicPlan {
    /// The plans of all nodes.
    #[must_use]
    pub fn all(
        settings: &Settings,
        members: &[usize],
        homes: &[usize],
        start_ns: u64,
        seed: u64,
    ) -> Vec<(usize, Self)> {
        let others = homes.iter().filter(|home| !members.contains(home));
        let nodes: Vec<usize> = members.iter().chain(others).copied().collect();
        let place_of = |node: &usize| nodes.iter().position(|other| other == node);
        let plan = Self {
            settings: *settings,
            nodes: nodes.iter().map(|node| *node as u16).collect(),
            members: members.len(),
            homes: homes.iter().filter_map(place_of).collect(),
            place: 0,
            start_ns,
            seed,
        };
        let of = |(place, node): (usize, &usize)| {
            let plan = plan.clone();
            (*node, Self { place, ..plan })
        };
        nodes.iter().enumerate().map(of).collect()
    }

    const fn is_member(&self) -> bool {
        self.place < self.members
    }

    /// Bytes of each node's words.
    fn bytes(&self) -> u32 {
        match self.settings.work {
            AtomicWork::Operations { words, .. } => 4 * words,
            AtomicWork::Lock { .. } => (MEMBER + Member::BYTES) as u32,
        }
    }

    /// The port of a word's process: that of the member, or that of its server.
    const fn port(&self) -> u8 {
        match self.settings.on {
            ExecutedOn::Nic => PORT,
            ExecutedOn::Host => SERVER_PORT,
        }
    }
}

/// An operation of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberOperation {
    /// The home, as its place among the program's nodes.
    pub home: usize,
    /// Index of the word at its home.
    pub word: u32,
    /// The operation with its times and its result.
    pub operated: TimedOperation,
}

/// A use of the lock by a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockUse {
    /// The call of acquire, and its return.
    pub acquired_ps: (u64, u64),
    /// The call of release, and its return; `None`: it has not returned.
    pub released_ps: (u64, Option<u64>),
}

/// The records of a node.
#[derive(Debug, Clone, Default)]
pub struct AtomicRecords {
    /// Operations, in order. Of a lock those on its word.
    pub executed: Vec<MemberOperation>,
    /// Uses of a lock.
    pub uses: Vec<LockUse>,
    /// Iterations that a home has counted, for each [`WINDOW_NS`].
    pub iterations: Vec<u64>,
}

/// Executes the part of a node, whose library is `gm`. `share` is called once with the words of the node, which its server is to serve.
///
/// # Errors
/// An operation fails, or what a member sees of the lock is wrong.
pub async fn run(
    mut gm: Gm,
    plan: AtomicPlan,
    share: impl FnOnce(&Gm, Buffer) -> Result<(), String>,
    deliveries: Deliveries,
) -> Result<(), String> {
    gm.open(PORT).await.map_err(text)?;
    let words = gm.allocate_dma(plan.bytes()).map_err(text)?;
    match plan.settings.on {
        ExecutedOn::Nic => {
            let allowed = gm.allow_remote_memory_access(PORT, true).await;
            allowed.map_err(text)?;
            if plan.settings.mutex {
                Guard::new(&mut gm, PORT).await.map_err(text)?;
            }
        }
        ExecutedOn::Host => share(&gm, words)?,
    }
    if gm.nodes() == 0 {
        gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
    }
    // A server of the host may need the processor to open its port.
    gm.system_mut().sleep(LEAD_NS + plan.start_ns).await;
    let addresses = exchange(&mut gm, &plan, words.address).await?;
    if !plan.is_member() {
        if plan.settings.counter {
            count(&mut gm, &deliveries).await;
        }
        return Ok(());
    }
    let mut engine = MemberExecutor::new(&mut gm, &plan.settings, PORT).await?;
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(plan.place as u64 + 1);
    let mut part = AtomicMember {
        plan,
        addresses,
        random,
        deliveries,
    };
    match part.plan.settings.work {
        AtomicWork::Operations { which, words } => {
            part.operations(&mut gm, &mut engine, which, words).await?;
        }
        AtomicWork::Lock { hold_ns } => part.lock(&mut gm, &mut engine, hold_ns).await?,
    }
    engine.flush(&mut gm).await
}

/// Counts iterations of a loop for ever.
async fn count(gm: &mut Gm, deliveries: &Deliveries) {
    {
        let mut records = deliveries.records();
        records.operations_left = 0;
        records.sending_over = true;
    }
    // Until the program has computed for a whole time slice, others do not go before it.
    gm.system_mut().compute(SETTLED_NS).await;
    loop {
        let end_ps = gm.system().now_ps() + 1000 * WINDOW_NS;
        let mut iterations = 0;
        while gm.system().now_ps() < end_ps {
            gm.system_mut().compute(ITERATION_NS).await;
            iterations += 1;
        }
        deliveries.record(|own: &mut AtomicRecords| own.iterations.push(iterations));
    }
}

/// Tells the other nodes where the own words lie; where those of all nodes do.
async fn exchange(
    gm: &mut Gm,
    plan: &AtomicPlan,
    own: VirtualAddress,
) -> Result<Vec<VirtualAddress>, String> {
    let endpoint = |node: &u16| Endpoint {
        node: *node,
        port: EXCHANGE_PORT,
    };
    let members: Vec<_> = plan.nodes.iter().map(endpoint).collect();
    let group = Group::new(&members, members[plan.place]).map_err(text)?;
    gm.open(EXCHANGE_PORT).await.map_err(text)?;
    let settings = Exchange {
        longest_bytes: 8 * members.len(),
        limit_ns: PATIENCE_NS,
    };
    let mut host = Host::new(gm, group, settings).await.map_err(text)?;
    // The others open their ports.
    gm.system_mut().sleep(LEAD_NS).await;
    let block = own.0.to_be_bytes();
    let all = host.all_to_all(gm, AllToAll::RecursiveDoubling, &block);
    let all = all.await.map_err(text)?;
    host.flush(gm).await.map_err(text)?;
    let address = |bytes: &[u8]| {
        let bytes = bytes.try_into().unwrap_or_default();
        VirtualAddress(u64::from_be_bytes(bytes))
    };
    Ok(all.chunks_exact(8).map(address).collect())
}

/// A member at work.
struct AtomicMember {
    plan: AtomicPlan,
    /// Addresses of each node's words.
    addresses: Vec<VirtualAddress>,
    random: ChaCha8Rng,
    deliveries: Deliveries,
}

impl AtomicMember {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit.max(1)
    }

    /// The first word of a node.
    fn first(&self, place: usize) -> Word {
        Word {
            node: self.plan.nodes[place],
            port: self.plan.port(),
            address: self.addresses[place],
        }
    }

    async fn think(&mut self, gm: &mut Gm) {
        let Settings {
            think_ns,
            variation_percent,
            ..
        } = self.plan.settings;
        if think_ns > 0 {
            let span = super::collective::varied(&mut self.random, think_ns, variation_percent);
            gm.system_mut().compute(span).await;
        }
    }

    async fn operations(
        &mut self,
        gm: &mut Gm,
        engine: &mut MemberExecutor,
        which: OperationMix,
        words: u32,
    ) -> Result<(), String> {
        let homes = self.plan.homes.clone();
        let mut seen = vec![vec![0; words as usize]; homes.len()];
        for number in 0..self.plan.settings.count {
            let home = self.below(homes.len() as u64) as usize;
            let word = self.below(words.into()) as u32;
            let seen = &mut seen[home][word as usize];
            let operation = self.operation(which, *seen);
            let home = homes[home];
            let at = self.first(home).after(word.into());
            let mut recorded = Recorded {
                engine,
                deliveries: &self.deliveries,
                only: None,
                place: (home, word),
            };
            let before = recorded.execute(gm, at, operation).await;
            let before = before.map_err(|error| format!("operation {number}: {error}"))?;
            *seen = operation.apply(before);
            self.think(gm).await;
        }
        Ok(())
    }

    /// The next operation on a word of which the member has seen this value.
    fn operation(&mut self, which: OperationMix, seen: u32) -> AtomicOperation {
        match which {
            OperationMix::FetchAdd => AtomicOperation::FetchAdd(1),
            OperationMix::FetchWrite => AtomicOperation::FetchWrite(self.below(VALUES) as u32),
            OperationMix::CompareSwap => AtomicOperation::CompareSwap {
                expected: seen,
                new: (seen + 1) & 0xFFFF,
            },
            OperationMix::CompareSwapMiss => AtomicOperation::CompareSwap {
                expected: u32::MAX,
                new: 0,
            },
            OperationMix::Random => {
                let value = self.below(VALUES) as u32;
                match self.below(4) {
                    0 => AtomicOperation::FetchAdd(value),
                    1 => AtomicOperation::FetchWrite(value),
                    2 => AtomicOperation::CompareSwap {
                        expected: seen,
                        new: value,
                    },
                    _ => AtomicOperation::CompareSwap {
                        expected: self.below(VALUES) as u32,
                        new: value,
                    },
                }
            }
        }
    }

    async fn lock(
        &mut self,
        gm: &mut Gm,
        engine: &mut MemberExecutor,
        hold_ns: u64,
    ) -> Result<(), String> {
        let member = |place: usize| {
            let first = self.first(place);
            Member(first.after(MEMBER / 4))
        };
        let members = (0..self.plan.members).map(member).collect();
        let home = self.plan.homes.first().copied().unwrap_or_default();
        let word = self.first(home);
        let mut lock = Lock::new(word, members, self.plan.place).map_err(text)?;
        let deliveries = self.deliveries.clone();
        let mut recorded = Recorded {
            engine,
            deliveries: &deliveries,
            only: Some(word),
            place: (home, 0),
        };
        for number in 0..self.plan.settings.count {
            let failed = |error| format!("use {number} of the lock: {error}");
            let called = gm.system().now_ps();
            lock.acquire(gm, &mut recorded).await.map_err(failed)?;
            let acquired = gm.system().now_ps();
            if hold_ns > 0 {
                gm.system_mut().compute(hold_ns).await;
            }
            let released = gm.system().now_ps();
            deliveries.record(|own: &mut AtomicRecords| {
                own.uses.push(LockUse {
                    acquired_ps: (called, acquired),
                    released_ps: (released, None),
                });
            });
            lock.release(gm, &mut recorded).await.map_err(failed)?;
            let ended = gm.system().now_ps();
            deliveries.record(|own: &mut AtomicRecords| {
                if let Some(last) = own.uses.last_mut() {
                    last.released_ps.1 = Some(ended);
                }
            });
            self.think(gm).await;
        }
        Ok(())
    }
}

/// Executes operations and records those on one word, or all.
struct Recorded<'a> {
    engine: &'a mut MemberExecutor,
    deliveries: &'a Deliveries,
    only: Option<Word>,
    /// The home and the number of the word.
    place: (usize, u32),
}

impl Executor for Recorded<'_> {
    async fn execute(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<u32, AtomicError> {
        if self.only.is_some_and(|only| only != word) {
            return self.engine.execute(gm, word, operation).await;
        }
        let (home, number) = self.place;
        let executed = MemberOperation {
            home,
            word: number,
            operated: TimedOperation {
                operation,
                began_ps: gm.system().now_ps(),
                end: None,
            },
        };
        self.deliveries
            .record(|own: &mut AtomicRecords| own.executed.push(executed));
        let before = self.engine.execute(gm, word, operation).await?;
        let ended_ps = gm.system().now_ps();
        self.deliveries.record(|own: &mut AtomicRecords| {
            if let Some(last) = own.executed.last_mut() {
                last.operated.end = Some((ended_ps, before));
            }
        });
        Ok(before)
    }
}
