//! Collective operations that hosts execute with plain sends and receives.

use std::fmt;

use super::error::CollectiveError;
use super::group::Group;
use super::messages::{CollectiveMessages, OperationKind};
use super::schedule::{self, BlockSet, Exchange, ExchangeStep, ScheduleError, Tree};
use super::value::{Operation, Value};
use crate::gm::Gm;
use crate::window::System;

/// Algorithm of a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// Pairwise exchange ([`schedule::exchange`]).
    PairwiseExchange,
    /// Gather and broadcast along a tree ([`schedule::tree`]).
    GatherBroadcast {
        /// The root's rank.
        root: usize,
        /// Children of a node.
        degree: usize,
    },
}

/// The tree of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// [`schedule::binomial`].
    Binomial,
    /// [`schedule::tree`].
    Fixed {
        /// Children of a node.
        degree: usize,
    },
}

impl Shape {
    /// Children of the own rank, in the order in which their values are combined.
    ///
    /// # Errors
    /// [`ScheduleError`].
    pub fn children(self, group: &Group, root: usize) -> Result<Vec<usize>, ScheduleError> {
        Ok(self.tree(group, root)?.children)
    }

    /// Parent and children of the own rank.
    pub(super) fn tree(self, group: &Group, root: usize) -> Result<Tree, ScheduleError> {
        match self {
            Self::Binomial => schedule::binomial(group, root),
            Self::Fixed { degree } => schedule::tree(group, root, degree),
        }
    }
}

/// Algorithm of an all-to-all broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllToAll {
    /// [`schedule::recursive_doubling`].
    RecursiveDoubling,
    /// [`schedule::ring`].
    Ring,
}

impl AllToAll {
    /// Bytes of the longest message, for blocks of this length.
    #[must_use]
    pub fn longest_bytes(self, members: usize, block_bytes: usize) -> usize {
        let most = match self {
            Self::RecursiveDoubling if members.is_power_of_two() => members / 2,
            Self::RecursiveDoubling => members.saturating_sub(1),
            Self::Ring => 1,
        };
        most.saturating_mul(block_bytes)
    }

    fn steps(self, group: &Group) -> Vec<ExchangeStep> {
        match self {
            Self::RecursiveDoubling => schedule::recursive_doubling(group),
            Self::Ring => schedule::ring(group),
        }
    }

    /// The number of a step in its messages. In recursive doubling a rank gets one message from each peer, which may count
    /// its steps differently.
    const fn label(self, step: u16) -> u16 {
        match self {
            Self::RecursiveDoubling => 0,
            Self::Ring => step,
        }
    }

    const fn kind(self) -> OperationKind {
        match self {
            Self::RecursiveDoubling => OperationKind::RecursiveDoubling,
            Self::Ring => OperationKind::Ring,
        }
    }
}

/// Most children of a member in a tree of a shape: those of its root.
#[must_use]
pub const fn most_children(shape: Shape, members: usize) -> usize {
    match shape {
        Shape::Binomial => members.next_power_of_two().ilog2() as usize,
        Shape::Fixed { degree } if degree < members => degree,
        Shape::Fixed { .. } => members.saturating_sub(1),
    }
}

/// Settings of a [`Host`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the longest content of a message: [`Value::BYTES`] for reductions, [`AllToAll::longest_bytes`], 0 for
    /// barriers. Equal for all members, since a message finds a buffer of its own size.
    pub longest_bytes: usize,
    /// A wait for an event fails after so long, in ns.
    pub limit_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            longest_bytes: Value::BYTES,
            limit_ns: 1_000_000_000,
        }
    }
}

/// Executes the collective operations of one endpoint on the host.
///
/// All members of the group execute the same operations in the same order. A message names its operation by a number and
/// its step; one that comes before its step is kept. The engine has the port to itself: other events are errors.
pub struct Host(CollectiveMessages);

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host").field(&self.0.group).finish()
    }
}

impl Host {
    /// Allocates and provides the buffers. The group's own port is open. No member may send before the ports of all are
    /// open.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn new(
        gm: &mut Gm,
        group: Group,
        settings: Settings,
    ) -> Result<Self, CollectiveError> {
        let Settings {
            longest_bytes,
            limit_ns,
        } = settings;
        let messages = CollectiveMessages::new(gm, group, longest_bytes, limit_ns).await?;
        Ok(Self(messages))
    }

    /// The group.
    #[must_use]
    pub const fn group(&self) -> &Group {
        &self.0.group
    }

    /// Waits until every member has called it.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn barrier(
        &mut self,
        gm: &mut Gm,
        algorithm: Barrier,
    ) -> Result<(), CollectiveError> {
        match algorithm {
            Barrier::PairwiseExchange => self.exchange(gm).await,
            Barrier::GatherBroadcast { root, degree } => {
                let tree = schedule::tree(&self.0.group, root, degree)?;
                self.gather_broadcast(gm, &tree).await
            }
        }
    }

    async fn exchange(&mut self, gm: &mut Gm) -> Result<(), CollectiveError> {
        let messages = &mut self.0;
        let Exchange { guest, peers } = schedule::exchange(&messages.group);
        messages.begin(OperationKind::PairwiseExchange);
        // A pair exchanges one message each way at most, which needs no number.
        if let Some(guest) = guest {
            messages.receive(gm, guest, 0).await?;
        }
        for peer in peers {
            messages.send(gm, peer, 0, &[]).await?;
            messages.receive(gm, peer, 0).await?;
        }
        if let Some(guest) = guest {
            messages.send(gm, guest, 0, &[]).await?;
        }
        Ok(())
    }

    async fn gather_broadcast(&mut self, gm: &mut Gm, tree: &Tree) -> Result<(), CollectiveError> {
        let messages = &mut self.0;
        messages.begin(OperationKind::GatherBroadcast);
        for &child in &tree.children {
            messages.receive(gm, child, 0).await?;
        }
        if let Some(parent) = tree.parent {
            messages.send(gm, parent, 0, &[]).await?;
            messages.receive(gm, parent, 0).await?;
        }
        for &child in &tree.children {
            messages.send(gm, child, 0, &[]).await?;
        }
        Ok(())
    }

    /// Reduces the values of all members to one. The root gets the result; for the others it is over when their value has
    /// been posted. A member applies the operation to its own value and those of its children, in the order of the tree.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn reduce(
        &mut self,
        gm: &mut Gm,
        operation: Operation,
        shape: Shape,
        root: usize,
        value: Value,
    ) -> Result<Option<Value>, CollectiveError> {
        let messages = &mut self.0;
        let tree = shape.tree(&messages.group, root)?;
        // Refused by all members alike, before the first message.
        operation.apply(value, value)?;
        messages.begin(OperationKind::Reduction);
        let mut result = value;
        for from in tree.children {
            let bytes = messages.receive(gm, from, 0).await?;
            let other = Value::read(&bytes).ok_or(CollectiveError::Damaged { from })?;
            result = operation.apply(result, other)?;
        }
        let Some(parent) = tree.parent else {
            return Ok(Some(result));
        };
        messages.send(gm, parent, 0, &result.bytes()).await?;
        Ok(None)
    }

    /// Reduces the vectors of all members to one, as [`reduce`](Self::reduce) does with values. Each operand takes `operand_ns` of the
    /// processor.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn reduce_vector(
        &mut self,
        gm: &mut Gm,
        operation: Operation,
        (shape, root): (Shape, usize),
        values: &[Value],
        operand_ns: u64,
    ) -> Result<Option<Vec<Value>>, CollectiveError> {
        let messages = &mut self.0;
        let tree = shape.tree(&messages.group, root)?;
        for value in values {
            operation.apply(*value, *value)?;
        }
        messages.begin(OperationKind::Reduction);
        let mut result = values.to_vec();
        for from in tree.children {
            let bytes = messages.receive(gm, from, 0).await?;
            let others = Value::read_all(&bytes).ok_or(CollectiveError::Damaged { from })?;
            if others.len() != result.len() {
                return Err(CollectiveError::Damaged { from });
            }
            gm.system.compute(operand_ns * result.len() as u64).await;
            for (own, other) in result.iter_mut().zip(others) {
                *own = operation.apply(*own, other)?;
            }
        }
        let Some(parent) = tree.parent else {
            return Ok(Some(result));
        };
        let bytes: Vec<u8> = result.iter().flat_map(|value| value.bytes()).collect();
        messages.send(gm, parent, 0, &bytes).await?;
        Ok(None)
    }

    /// Gives every member the blocks of all, which have one length: in the order of the ranks.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn all_to_all(
        &mut self,
        gm: &mut Gm,
        algorithm: AllToAll,
        block: &[u8],
    ) -> Result<Vec<u8>, CollectiveError> {
        let messages = &mut self.0;
        let (size, rank) = (messages.group.size(), messages.group.rank());
        messages.begin(algorithm.kind());
        let length = block.len();
        let mut all = vec![0; length * size];
        all[rank * length..][..length].copy_from_slice(block);
        let steps = algorithm.steps(&messages.group);
        // A group has fewer than 2^16 members, so there are fewer steps.
        for (step, number) in steps.into_iter().zip(0..) {
            let label = algorithm.label(number);
            if let Some(part) = step.send {
                let ranges = part.blocks.iter();
                let content = ranges.map(|range| &all[range.start * length..range.end * length]);
                let content = content.collect::<Vec<_>>().concat();
                messages.send(gm, part.peer, label, &content).await?;
            }
            if let Some(part) = step.receive {
                let content = messages.receive(gm, part.peer, label).await?;
                place(&mut all, length, &part, &content)?;
            }
        }
        Ok(all)
    }

    /// Waits until all messages of the operations so far have been sent and acknowledged.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn flush(&mut self, gm: &mut Gm) -> Result<(), CollectiveError> {
        self.0.flush(gm).await
    }
}

/// Puts received blocks of this length into their places.
fn place(
    all: &mut [u8],
    length: usize,
    part: &BlockSet,
    mut content: &[u8],
) -> Result<(), CollectiveError> {
    let (bytes, expected) = (content.len(), part.count() * length);
    if bytes != expected {
        let from = part.peer;
        return Err(CollectiveError::Length {
            from,
            bytes,
            expected,
        });
    }
    for range in &part.blocks {
        let place = &mut all[range.start * length..range.end * length];
        let (blocks, rest) = content.split_at(place.len());
        place.copy_from_slice(blocks);
        content = rest;
    }
    Ok(())
}
