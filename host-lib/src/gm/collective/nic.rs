//! [`Nic`]: the collective operations of one endpoint, executed by its board.

use std::collections::BTreeMap;
use std::fmt;

use defs::gm::collective::{CHILD_LIMIT, DESCRIPTOR_COUNT, Operation as Code};

use super::board::{BoardOperation, Completed, PostError, Reduction};
use super::error::CollectiveError;
use super::gossip::{BoardGroup, Gossip};
use super::group::Group;
use super::host::{Barrier, Settings, Shape, most_children};
use super::schedule::{self, Tree};
use super::value::{Operation, Value};
use super::vector::Vector;
use crate::gm::{Event, Gm, Status};

/// Number of the groups of all-to-all broadcasts of these engines, which all members know.
const GROUP_NUMBER: u16 = 1;

/// Executes the collective operations of one endpoint on its board, with the calls of [`Host`](super::Host).
///
/// All members of the group execute the same operations in the same order. The engine has the port to itself.
pub struct Nic {
    group: Group,
    limit_ns: u64,
    /// Tag of the next reduction.
    next_tag: u32,
    gossip: Option<BoardGroup>,
    /// Reductions whose ends no caller waits for, and their number.
    under_way: u32,
    /// Operations that have ended and are not waited for yet.
    ended: BTreeMap<BoardOperation, Completed>,
}

impl fmt::Debug for Nic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nic").field(&self.group).finish()
    }
}

impl Nic {
    /// Makes the group known to the board if it is to broadcast: if `settings.longest_bytes` is not 0 and the group is not too large
    /// for it. The group's own port is open.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn new(
        gm: &mut Gm,
        group: Group,
        settings: Settings,
    ) -> Result<Self, CollectiveError> {
        let gossip = match settings.longest_bytes {
            0 => None,
            _ => Some(gm.open_group(&group, GROUP_NUMBER).await?),
        };
        Ok(Self {
            group,
            limit_ns: settings.limit_ns,
            next_tag: 0,
            gossip,
            under_way: 0,
            ended: BTreeMap::new(),
        })
    }

    /// The group.
    #[must_use]
    pub const fn group(&self) -> &Group {
        &self.group
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
        let posted = self.post_barrier(gm, algorithm).await?;
        self.wait(gm, posted).await?;
        Ok(())
    }

    /// Begins a barrier, whose end [`wait`](Self::wait) awaits.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn post_barrier(
        &mut self,
        gm: &mut Gm,
        algorithm: Barrier,
    ) -> Result<BoardOperation, CollectiveError> {
        let posted = match algorithm {
            Barrier::PairwiseExchange => {
                let steps = schedule::exchange(&self.group);
                gm.post_exchange(&self.group, &steps).await?
            }
            Barrier::GatherBroadcast { root, degree } => {
                let tree = schedule::tree(&self.group, root, degree)?;
                gm.post_gather_broadcast(&self.group, &tree).await?
            }
        };
        Ok(posted)
    }

    /// Reduces the values of all members to one. The root gets the result; for the others it is over when it has been posted.
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
        let posted = self
            .post_reduction(gm, operation, shape, root, value, false)
            .await?;
        if self.group.rank() != root {
            self.under_way += 1;
            return Ok(None);
        }
        let completed = self.wait(gm, posted).await?;
        Ok(Some(value.with_bits(completed.value)))
    }

    /// Reduces the values of all members to one, which all get.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn all_reduce(
        &mut self,
        gm: &mut Gm,
        operation: Operation,
        shape: Shape,
        value: Value,
    ) -> Result<Value, CollectiveError> {
        let posted = self
            .post_reduction(gm, operation, shape, 0, value, true)
            .await?;
        let completed = self.wait(gm, posted).await?;
        Ok(value.with_bits(completed.value))
    }

    /// Begins a reduction, whose end [`wait`](Self::wait) awaits.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn post_reduction(
        &mut self,
        gm: &mut Gm,
        operation: Operation,
        shape: Shape,
        root: usize,
        value: Value,
        all: bool,
    ) -> Result<BoardOperation, CollectiveError> {
        let (tree, tag) = self.begin(gm, operation, (shape, root), value).await?;
        let reduction = Reduction {
            group: &self.group,
            tree: &tree,
            operation: operation.code(value),
            value: value.bits(),
            tag,
            all,
        };
        Ok(gm.post_reduction(&reduction).await?)
    }

    /// A reduction begins: parent and children, and its tag.
    async fn begin(
        &mut self,
        gm: &mut Gm,
        operation: Operation,
        (shape, root): (Shape, usize),
        value: Value,
    ) -> Result<(Tree, u32), CollectiveError> {
        let tree = shape.tree(&self.group, root)?;
        // Refused by all members alike, before the first packet.
        operation.apply(value, value)?;
        let children = most_children(shape, self.group.size());
        if children > CHILD_LIMIT as usize {
            return Err(PostError::Children { children }.into());
        }
        self.take_events(gm).await?;
        while self.under_way == DESCRIPTOR_COUNT {
            if let Some(completed) = self.event(gm).await? {
                self.end(completed);
            }
        }
        let tag = self.next_tag;
        self.next_tag = tag.wrapping_add(1);
        Ok((tree, tag))
    }

    /// Reduces the vectors of all members to one. The root gets the result, or `all` members; for the others it is over when it has been
    /// posted. All values are of one type.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn reduce_vector(
        &mut self,
        gm: &mut Gm,
        operation: Operation,
        (shape, root): (Shape, usize),
        vector: Vector<'_>,
        all: bool,
    ) -> Result<Option<Vec<Value>>, CollectiveError> {
        let elements = vector.values.len();
        let first = vector.values.first().copied();
        let value = first.ok_or(PostError::Elements { elements })?;
        let (tree, tag) = self.begin(gm, operation, (shape, root), value).await?;
        let reduction = Reduction {
            group: &self.group,
            tree: &tree,
            operation: operation.code(value),
            value: 0,
            tag,
            all,
        };
        let posted = gm.post_vector(&reduction, vector).await?;
        if !all && self.group.rank() != root {
            self.under_way += 1;
            return Ok(None);
        }
        let completed = self.wait(gm, posted).await?;
        let bits = gm.vector_result(self.group.own().port, &completed, elements)?;
        Ok(Some(
            bits.into_iter().map(|bits| value.with_bits(bits)).collect(),
        ))
    }

    /// Gives every member the blocks of all, which have one length: in the order of the ranks.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn all_to_all(
        &mut self,
        gm: &mut Gm,
        algorithm: Gossip,
        block: &[u8],
    ) -> Result<Vec<u8>, CollectiveError> {
        let mut gossip = self.gossip.take().ok_or(CollectiveError::Unexpected)?;
        let posted = gm.post_all_to_all(&mut gossip, algorithm, block).await;
        let completed = match posted {
            Ok(posted) => self.wait(gm, posted).await,
            Err(error) => Err(error.into()),
        };
        let blocks = gm.blocks(&gossip, algorithm, block.len());
        self.gossip = Some(gossip);
        completed?;
        Ok(blocks?)
    }

    /// Waits until an operation has ended.
    ///
    /// # Errors
    /// [`CollectiveError`]: [`CollectiveError::Board`] if it has failed.
    pub async fn wait(
        &mut self,
        gm: &mut Gm,
        posted: BoardOperation,
    ) -> Result<Completed, CollectiveError> {
        loop {
            if let Some(completed) = self.ended.remove(&posted) {
                return Ok(completed);
            }
            if let Some(completed) = self.event(gm).await? {
                if completed.operation == posted {
                    return Ok(completed);
                }
                self.end(completed);
            }
        }
    }

    /// Waits until all reductions of others' results have left.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub async fn flush(&mut self, gm: &mut Gm) -> Result<(), CollectiveError> {
        while self.under_way > 0 {
            if let Some(completed) = self.event(gm).await? {
                self.end(completed);
            }
        }
        Ok(())
    }

    /// Takes the events that are there.
    async fn take_events(&mut self, gm: &mut Gm) -> Result<(), CollectiveError> {
        while gm.receive_pending(self.group.own().port)? {
            if let Some(completed) = self.event(gm).await? {
                self.end(completed);
            }
        }
        Ok(())
    }

    /// An operation has ended that is not the one that is waited for.
    fn end(&mut self, completed: Completed) {
        match completed.operation {
            BoardOperation::Reduction(_) if self.under_way > 0 => self.under_way -= 1,
            operation => {
                self.ended.insert(operation, completed);
            }
        }
    }

    /// Takes the next event.
    async fn event(&mut self, gm: &mut Gm) -> Result<Option<Completed>, CollectiveError> {
        let port = self.group.own().port;
        let waited_ns = self.limit_ns;
        match gm.receive_within(port, waited_ns).await? {
            None => Err(CollectiveError::Silent { waited_ns }),
            Some(Event::Completed(completed)) => match completed.status {
                Status::Success => Ok(Some(completed)),
                status => Err(CollectiveError::Board { status }),
            },
            Some(Event::Sent(_)) => Ok(None),
            Some(_) => Err(CollectiveError::Unexpected),
        }
    }
}

impl Value {
    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Integer(value) => value,
            Self::Float(value) => value.to_bits(),
        }
    }

    /// A value of the same type.
    pub(super) const fn with_bits(self, bits: u64) -> Self {
        match self {
            Self::Integer(_) => Self::Integer(bits),
            Self::Float(_) => Self::Float(f64::from_bits(bits)),
        }
    }
}

impl Operation {
    /// The operation on values of this type, as boards know it.
    #[must_use]
    pub const fn code(self, value: Value) -> Code {
        match (self, value) {
            (Self::And, _) => Code::And,
            (Self::Or, _) => Code::Or,
            (Self::Sum, Value::Integer(_)) => Code::Sum,
            (Self::Min, Value::Integer(_)) => Code::Min,
            (Self::Max, Value::Integer(_)) => Code::Max,
            (Self::Sum, Value::Float(_)) => Code::DoubleSum,
            (Self::Min, Value::Float(_)) => Code::DoubleMin,
            (Self::Max, Value::Float(_)) => Code::DoubleMax,
        }
    }
}
