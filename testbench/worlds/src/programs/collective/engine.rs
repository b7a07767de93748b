//! One engine over the operations that hosts execute and those that boards execute.

use host_lib::gm::collective::{
    AllToAll, Barrier, Gossip, Group, Host, LONGEST_BLOCK_BYTES, Nic, Settings, Value,
    buffer_bytes, channel_bytes,
};

use super::{On, Work};
use crate::gm::GmNode;
use crate::pairs::text;

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
    pub const fn is_on(self, on: On) -> bool {
        match on {
            On::Host => self.on_host().is_some(),
            On::Nic => self.on_nic().is_some(),
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
pub(super) enum Outcome {
    /// A barrier has none.
    None,
    /// Of a reduction; `None`: the member does not learn it.
    Value(Option<Value>),
    /// The blocks of all members, by rank.
    Blocks(Vec<u8>),
}

/// Executes the operations of a member.
pub(super) enum Engine {
    Host(Box<Host>),
    Nic(Box<Nic>),
}

/// Bytes of host memory that an engine's buffers take.
pub(super) fn memory_bytes(on: On, work: Work, members: usize) -> u64 {
    match (on, work.block_bytes()) {
        (On::Host, _) => buffer_bytes(work.longest_bytes(members)),
        (On::Nic, None) => 0,
        (On::Nic, Some(_)) => channel_bytes(members),
    }
}

impl Engine {
    /// The engine of a member whose port is open.
    pub(super) async fn new(
        gm: &mut GmNode,
        on: On,
        group: Group,
        work: Work,
        limit_ns: u64,
    ) -> Result<Self, String> {
        let longest_bytes = match on {
            On::Host => work.longest_bytes(group.size()),
            On::Nic => work.block_bytes().unwrap_or_default(),
        };
        let settings = Settings {
            longest_bytes,
            limit_ns,
        };
        match on {
            On::Host => {
                let host = Host::new(gm, group, settings).await.map_err(text)?;
                Ok(Self::Host(Box::new(host)))
            }
            On::Nic => {
                let nic = Nic::new(gm, group, settings).await.map_err(text)?;
                Ok(Self::Nic(Box::new(nic)))
            }
        }
    }

    pub(super) async fn barrier(
        &mut self,
        gm: &mut GmNode,
        algorithm: Barrier,
    ) -> Result<(), String> {
        match self {
            Self::Host(host) => host.barrier(gm, algorithm).await,
            Self::Nic(nic) => nic.barrier(gm, algorithm).await,
        }
        .map_err(text)
    }

    /// Executes an operation to which the member gives `value` or `block`.
    pub(super) async fn execute(
        &mut self,
        gm: &mut GmNode,
        work: Work,
        value: Value,
        block: &[u8],
    ) -> Result<Outcome, String> {
        match work {
            Work::Barrier(algorithm) => {
                let barrier = self.barrier(gm, algorithm).await;
                barrier.map(|()| Outcome::None)
            }
            Work::Reduction {
                operation,
                shape,
                root,
                all,
                ..
            } => {
                let result = match self {
                    Self::Host(_) if all => {
                        return Err("only boards give the result of a reduction to all".into());
                    }
                    Self::Host(host) => host.reduce(gm, operation, shape, root, value).await,
                    Self::Nic(nic) if all => {
                        let result = nic.all_reduce(gm, operation, shape, value).await;
                        result.map(Some)
                    }
                    Self::Nic(nic) => nic.reduce(gm, operation, shape, root, value).await,
                };
                result.map(Outcome::Value).map_err(text)
            }
            Work::AllToAll { algorithm, .. } => {
                let all = self.all_to_all(gm, algorithm, block).await;
                all.map(Outcome::Blocks)
            }
            Work::Random { .. } => Err("the operation of the round is not chosen".into()),
        }
    }

    async fn all_to_all(
        &mut self,
        gm: &mut GmNode,
        algorithm: Broadcast,
        block: &[u8],
    ) -> Result<Vec<u8>, String> {
        match self {
            Self::Host(host) => {
                let found = algorithm.on_host();
                let found = found.ok_or_else(|| algorithm.not_on("hosts"))?;
                host.all_to_all(gm, found, block).await.map_err(text)
            }
            Self::Nic(nic) => {
                let found = algorithm.on_nic();
                let found = found.ok_or_else(|| algorithm.not_on("boards"))?;
                pieces(nic, gm, found, block).await
            }
        }
    }

    /// Waits until everything has left.
    pub(super) async fn flush(&mut self, gm: &mut GmNode) -> Result<(), String> {
        match self {
            Self::Host(host) => host.flush(gm).await,
            Self::Nic(nic) => nic.flush(gm).await,
        }
        .map_err(text)
    }
}

/// Broadcasts a block of any length: one that is too long for a board in several operations.
async fn pieces(
    nic: &mut Nic,
    gm: &mut GmNode,
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
