//! One engine over the operations that hosts execute and those that boards execute.

use emulator::profile::costs::TrapCosts;
use host_lib::gm::Gm;
use host_lib::gm::collective::{
    AllToAll, Arithmetic, Barrier, Gossip, Group, Host, LONGEST_BLOCK_BYTES, Nic, Operation,
    Settings, Shape, TrapUse, Value, Vector, buffer_bytes, channel_bytes,
};
use host_lib::mpi::{Config, Executor, GmSettings, GmTransport, Mpi};

use super::{CollectiveWork, ExecutedOn, Layer, Traps, VectorWork};
use lanigon_worlds::emp::text;

/// Algorithm of an all-to-all broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Broadcast {
    /// Each step doubles the blocks that a member has.
    RecursiveDoubling,
    /// Each block goes around; only on hosts.
    Ring,
    /// Each block goes along a binomial tree of its own; only on boards.
    ConcurrentBroadcasting,
}

impl Broadcast {
    const fn on_host(self) -> Option<AllToAll> {
        match self {
            Self::RecursiveDoubling => Some(AllToAll::RecursiveDoubling),
            Self::Ring => Some(AllToAll::Ring),
            Self::ConcurrentBroadcasting => None,
        }
    }

    const fn on_nic(self) -> Option<Gossip> {
        match self {
            Self::RecursiveDoubling => Some(Gossip::RecursiveDoubling),
            Self::Ring => None,
            Self::ConcurrentBroadcasting => Some(Gossip::ConcurrentBroadcasting),
        }
    }

    /// Whether it can be executed there.
    #[must_use]
    pub const fn is_on(self, on: ExecutedOn) -> bool {
        match on {
            ExecutedOn::Host => self.on_host().is_some(),
            ExecutedOn::Nic => self.on_nic().is_some(),
        }
    }

    /// Bytes of the longest message between hosts, for blocks of this length.
    pub(super) fn longest_bytes(self, members: usize, block_bytes: usize) -> usize {
        let on_host = self.on_host();
        on_host.map_or(0, |algorithm| algorithm.longest_bytes(members, block_bytes))
    }

    fn not_on(self, place: &str) -> String {
        format!("{self:?} is no algorithm of {place}")
    }
}

/// The result of an operation at a member.
#[derive(Debug, PartialEq)]
pub(super) enum OperationOutcome {
    /// A barrier has none.
    None,
    /// The result of a reduction, by element; `None`: the member does not learn it.
    Values(Option<Vec<Value>>),
    /// The blocks of all members, by rank.
    Blocks(Vec<u8>),
}

/// A process of message passing.
type Process = Mpi<GmTransport>;

/// Library that executes the operations.
enum Library {
    Host(Gm, Box<Host>),
    Nic(Gm, Box<Nic>),
    /// Barriers of message passing.
    Mpi(Box<Process>),
}

/// Executes the operations of a member.
pub(super) struct CollectiveEngine {
    library: Library,
    /// Use of the host by light interrupts.
    traps: TrapUse,
    /// Costs of the host's arithmetic and light interrupts.
    costs: TrapCosts,
}

/// Bytes of host memory that an engine's buffers take.
pub(super) fn memory_bytes(
    layer: Layer,
    on: ExecutedOn,
    work: CollectiveWork,
    members: usize,
) -> u64 {
    if layer != Layer::Gm {
        return GmTransport::buffer_bytes(GmSettings::default());
    }
    match (on, work.block_bytes()) {
        (ExecutedOn::Host, _) => buffer_bytes(work.longest_bytes(members)),
        (ExecutedOn::Nic, None) => 0,
        (ExecutedOn::Nic, Some(_)) => channel_bytes(members),
    }
}

impl CollectiveEngine {
    /// The engine of a member whose port is open.
    pub(super) async fn new(
        mut gm: Gm,
        (layer, on): (Layer, ExecutedOn),
        group: Group,
        work: CollectiveWork,
        (limit_ns, host): (u64, Option<Traps>),
    ) -> Result<Self, String> {
        if let Layer::Mpi { call_ns } = layer {
            return Self::mpi(gm, on, &group, call_ns, limit_ns).await;
        }
        let longest_bytes = match on {
            ExecutedOn::Host => work.longest_bytes(group.size()),
            ExecutedOn::Nic => work.block_bytes().unwrap_or_default(),
        };
        let settings = Settings {
            longest_bytes,
            limit_ns,
        };
        let costs = host
            .as_ref()
            .map_or_else(Default::default, |host| host.costs);
        let traps = match (on, work) {
            (
                ExecutedOn::Nic,
                CollectiveWork::Reduction {
                    vector: Some(vector),
                    ..
                },
            ) => enable(&mut gm, vector, host).await?,
            _ => TrapUse::default(),
        };
        let library = match on {
            ExecutedOn::Host => {
                let host = Host::new(&mut gm, group, settings).await.map_err(text)?;
                Library::Host(gm, Box::new(host))
            }
            ExecutedOn::Nic => {
                let nic = Nic::new(&mut gm, group, settings).await.map_err(text)?;
                Library::Nic(gm, Box::new(nic))
            }
        };
        Ok(Self {
            library,
            traps,
            costs,
        })
    }

    /// Number of light interrupts so far, and the time of the processor in them, in ps.
    pub(super) fn traps(&self) -> (u64, u64) {
        let (count, inside_ps) = self.traps.so_far();
        let around = self.costs.entry + self.costs.exit;
        (count, inside_ps + count * around.ps())
    }

    async fn mpi(
        gm: Gm,
        on: ExecutedOn,
        group: &Group,
        call_ns: u64,
        limit_ns: u64,
    ) -> Result<Self, String> {
        let settings = GmSettings::default();
        let transport = GmTransport::new(gm, group.members(), group.own(), settings).await;
        let config = Config {
            library_ns: call_ns,
            limit_ns,
            barrier: match on {
                ExecutedOn::Host => Executor::Host,
                ExecutedOn::Nic => Executor::Nic,
            },
            ..Config::default()
        };
        let mpi = Mpi::with(transport.map_err(text)?, config).map_err(text)?;
        Ok(Self {
            library: Library::Mpi(Box::new(mpi)),
            traps: TrapUse::default(),
            costs: TrapCosts::default(),
        })
    }

    /// GM's library, for processor time and the mapper's routes.
    pub(super) fn gm(&mut self) -> &mut Gm {
        match &mut self.library {
            Library::Host(gm, _) | Library::Nic(gm, _) => gm,
            Library::Mpi(mpi) => mpi.transport_mut().gm_mut(),
        }
    }

    pub(super) async fn barrier(&mut self, algorithm: Barrier) -> Result<(), String> {
        match &mut self.library {
            Library::Host(gm, host) => host.barrier(gm, algorithm).await.map_err(text),
            Library::Nic(gm, nic) => nic.barrier(gm, algorithm).await.map_err(text),
            Library::Mpi(mpi) => {
                let world = mpi.world();
                mpi.barrier(&world).await.map_err(text)
            }
        }
    }

    /// Executes an operation to which the member gives `value` or `block`.
    pub(super) async fn execute(
        &mut self,
        work: CollectiveWork,
        values: &[Value],
        block: &[u8],
    ) -> Result<OperationOutcome, String> {
        match work {
            CollectiveWork::Barrier(algorithm) => {
                let barrier = self.barrier(algorithm).await;
                barrier.map(|()| OperationOutcome::None)
            }
            CollectiveWork::Reduction { .. } => {
                let reduced = self.reduce(work, values).await;
                reduced.map(OperationOutcome::Values)
            }
            CollectiveWork::AllToAll { algorithm, .. } => {
                let all = self.all_to_all(algorithm, block).await;
                all.map(OperationOutcome::Blocks)
            }
            CollectiveWork::Random { .. } => Err("the operation of the round is not chosen".into()),
        }
    }

    async fn reduce(
        &mut self,
        work: CollectiveWork,
        values: &[Value],
    ) -> Result<Option<Vec<Value>>, String> {
        let CollectiveWork::Reduction {
            operation,
            shape,
            root,
            all,
            vector,
            ..
        } = work
        else {
            return Err("the operation is no reduction".into());
        };
        if let Some(VectorWork { arithmetic, .. }) = vector {
            let vector = Vector { values, arithmetic };
            return self
                .reduce_vector(operation, (shape, root), vector, all)
                .await;
        }
        let [value] = *values else {
            return Err("a reduction of one value".into());
        };
        let result = match &mut self.library {
            Library::Host(..) if all => {
                Err("only boards give the result of a reduction to all".into())
            }
            Library::Host(gm, host) => {
                let result = host.reduce(gm, operation, shape, root, value).await;
                result.map_err(text)
            }
            Library::Nic(gm, nic) if all => {
                let result = nic.all_reduce(gm, operation, shape, value).await;
                result.map(Some).map_err(text)
            }
            Library::Nic(gm, nic) => {
                let result = nic.reduce(gm, operation, shape, root, value).await;
                result.map_err(text)
            }
            Library::Mpi(_) => Err(BARRIERS_ONLY.into()),
        };
        Ok(result?.map(|value| vec![value]))
    }

    async fn reduce_vector(
        &mut self,
        operation: Operation,
        place: (Shape, usize),
        vector: Vector<'_>,
        all: bool,
    ) -> Result<Option<Vec<Value>>, String> {
        let operand_ns = self.costs.operand.ps() / 1000;
        match &mut self.library {
            Library::Host(gm, host) => {
                let values = vector.values;
                let result = host.reduce_vector(gm, operation, place, values, operand_ns);
                result.await.map_err(text)
            }
            Library::Nic(gm, nic) => {
                let result = nic.reduce_vector(gm, operation, place, vector, all);
                result.await.map_err(text)
            }
            Library::Mpi(_) => Err(BARRIERS_ONLY.into()),
        }
    }

    async fn all_to_all(&mut self, algorithm: Broadcast, block: &[u8]) -> Result<Vec<u8>, String> {
        match &mut self.library {
            Library::Host(gm, host) => {
                let found = algorithm.on_host();
                let found = found.ok_or_else(|| algorithm.not_on("hosts"))?;
                host.all_to_all(gm, found, block).await.map_err(text)
            }
            Library::Nic(gm, nic) => {
                let found = algorithm.on_nic();
                let found = found.ok_or_else(|| algorithm.not_on("boards"))?;
                pieces(nic, gm, found, block).await
            }
            Library::Mpi(_) => Err(BARRIERS_ONLY.into()),
        }
    }

    /// Waits until everything has left.
    pub(super) async fn flush(&mut self) -> Result<(), String> {
        match &mut self.library {
            Library::Host(gm, host) => host.flush(gm).await.map_err(text),
            Library::Nic(gm, nic) => nic.flush(gm).await.map_err(text),
            Library::Mpi(mpi) => mpi.finalize().await.map(drop).map_err(text),
        }
    }
}

/// Enables vectors, and has the host compute if it is to.
async fn enable(gm: &mut Gm, vector: VectorWork, host: Option<Traps>) -> Result<TrapUse, String> {
    if vector.arithmetic == Arithmetic::Nic {
        gm.enable_vectors().await.map_err(text)?;
        return Ok(TrapUse::default());
    }
    let host = host.ok_or("no host computes for this member")?;
    let (window, system) = (host.machine.clone().into(), Box::new(host.machine));
    let operand_ns = host.costs.operand.ps() / 1000;
    let traps = gm.compute_in_traps((window, system), operand_ns).await;
    traps.map_err(text)
}

/// Operations of message passing have a program of their own.
const BARRIERS_ONLY: &str = "this program executes barriers of message passing only";

/// Broadcasts a block of any length: one that is too long for a board in several operations.
async fn pieces(
    nic: &mut Nic,
    gm: &mut Gm,
    algorithm: Gossip,
    block: &[u8],
) -> Result<Vec<u8>, String> {
    if block.len() <= LONGEST_BLOCK_BYTES {
        return nic.all_to_all(gm, algorithm, block).await.map_err(text);
    }
    let mut all = vec![0; nic.group().size() * block.len()];
    for (place, piece) in block.chunks(LONGEST_BLOCK_BYTES).enumerate() {
        let blocks = nic.all_to_all(gm, algorithm, piece).await.map_err(text)?;
        let at = place * LONGEST_BLOCK_BYTES;
        let whole = all.chunks_exact_mut(block.len());
        for (to, from) in whole.zip(blocks.chunks_exact(piece.len())) {
            to[at..at + piece.len()].copy_from_slice(from);
        }
    }
    Ok(all)
}
