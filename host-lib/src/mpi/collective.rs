//! Collective operations, with messages along trees and around rings.
//!
//! All members of a communicator call the same operations in the same order. A message carries the operation's kind, so that a
//! program in which the kinds differ fails instead of computing something else.

use super::bypass::Starting;
use super::communicator::Communicator;
use super::datatype::{Datatype, Operation, combine_all, from_bytes, to_bytes};
use super::engine::{Outgoing, PASSED_ON, RequestResult};
use super::envelope::{self, Envelope, MessageLabel};
use super::error::{MpiError, Partner};
use super::matching::Pattern;
use super::transport::Transport;
use super::{Executor, Mpi};
use crate::gm::collective::schedule::{self, Position, Tree};

/// Longest message that a member of a collective operation takes.
const ANY_LENGTH: usize = i32::MAX as usize;

/// A collective operation, as its messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectiveKind {
    Barrier = 1,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    AllGather,
    AllToAll,
    Scan,
    ExclusiveScan,
    ReduceScatter,
    GatherVarying,
    ScatterVarying,
    AllGatherVarying,
    AllToAllVarying,
    ImmediateBarrier,
    ImmediateBroadcast,
    ImmediateAllReduce,
    ImmediateAllGather,
}

/// A call of a collective operation, in its order among those of the communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectiveCall {
    pub(super) kind: CollectiveKind,
    pub(super) name: &'static str,
    /// Number of the call in the communicator, which is the tag of its messages.
    pub(super) number: i32,
}

impl Communicator {
    pub(super) const fn position(&self) -> Position {
        Position {
            rank: self.rank,
            size: self.members.len(),
        }
    }

    /// Elements of each rank's block.
    pub(super) const fn block(
        &self,
        call: &'static str,
        elements: usize,
    ) -> Result<usize, MpiError> {
        let ranks = self.members.len();
        match elements.is_multiple_of(ranks) {
            true => Ok(elements / ranks),
            false => Err(MpiError::Blocks {
                call,
                elements,
                ranks,
            }),
        }
    }

    /// Whether there is a block for each rank.
    pub(super) const fn check_blocks(
        &self,
        call: &'static str,
        blocks: usize,
    ) -> Result<(), MpiError> {
        let ranks = self.members.len();
        match blocks == ranks {
            true => Ok(()),
            false => Err(MpiError::Blocks {
                call,
                elements: blocks,
                ranks,
            }),
        }
    }

    /// Whether a root is a member.
    pub(super) const fn check_root(&self, root: usize) -> Result<(), MpiError> {
        let size = self.members.len();
        match root < size {
            true => Ok(()),
            false => Err(MpiError::Rank { rank: root, size }),
        }
    }

    /// The binomial tree.
    pub(super) fn binomial(&self, root: usize) -> Result<Tree, MpiError> {
        let size = self.size();
        schedule::binomial(self.position(), root).map_err(|_| MpiError::Rank { rank: root, size })
    }
}

impl<T: Transport> Mpi<T> {
    /// Begins a collective call, which is not refused any more: members count the same calls.
    pub(super) fn operation(
        &mut self,
        world: &Communicator,
        kind: CollectiveKind,
        name: &'static str,
    ) -> CollectiveCall {
        let number = self.engine.next_operation(world.collective());
        CollectiveCall { kind, name, number }
    }

    /// Waits until all members have called it.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Barrier")]
    pub async fn barrier(&mut self, world: &Communicator) -> Result<(), MpiError> {
        if self.engine.config.barrier == Executor::Nic {
            let library_ns = self.engine.config.library_ns;
            self.engine.transport.compute(library_ns).await;
            let limit_ns = self.engine.config.limit_ns;
            let members = &world.members;
            if !self.engine.is_quiet() {
                let request = self.engine.start_board_barrier(members).await?;
                return self.engine.wait(request, "barrier").await.map(|_| ());
            }
            let begin = self.engine.clocks.begin(&self.engine.transport);
            let ended = self.engine.transport.barrier(members, limit_ns).await?;
            let engine = &mut *self.engine;
            engine.clocks.waited(begin, &engine.transport);
            return match ended {
                true => Ok(()),
                false => Err(self.engine.timed_out("barrier", Partner::Several, None)),
            };
        }
        self.host_barrier(world, "barrier").await
    }

    /// Pairwise exchange.
    pub(super) async fn host_barrier(
        &mut self,
        world: &Communicator,
        name: &'static str,
    ) -> Result<(), MpiError> {
        let call = self.operation(world, CollectiveKind::Barrier, name);
        let schedule::Exchange { guest, peers } = schedule::exchange(world.position());
        if let Some(guest) = guest {
            self.receive_empty(world, call, guest).await?;
        }
        for peer in peers {
            self.send_to(world, call, peer, &[]).await?;
            self.receive_empty(world, call, peer).await?;
        }
        if let Some(guest) = guest {
            self.send_to(world, call, guest, &[]).await?;
        }
        Ok(())
    }

    /// Gives all members the root's `data`, along a binomial tree.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Bcast")]
    #[doc(alias = "broadcast_into")]
    pub async fn broadcast<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        data: &mut [D],
    ) -> Result<(), MpiError> {
        let tree = world.binomial(root)?;
        let call = self.operation(world, CollectiveKind::Broadcast, "broadcast");
        let mut passed_on = false;
        if let Some(parent) = tree.parent {
            let request = self.await_member(world, call, parent).await?;
            let ended = self.member_message(call, parent, request).await?;
            let values = elements_of(call, parent, data.len(), &ended.bytes)?;
            passed_on = ended.mark & PASSED_ON != 0;
            data.copy_from_slice(&values);
        }
        if passed_on {
            return Ok(());
        }
        let bytes = to_bytes(data);
        if self.engine.bypassing.settings.broadcast && self.is_eager(&bytes) {
            return self.begin_broadcast(world, call, root, &bytes).await;
        }
        // The largest subtree first.
        for child in tree.children.iter().rev() {
            self.send_to(world, call, *child, &bytes).await?;
        }
        Ok(())
    }

    /// Combines the `data` of all members, element by element, along a binomial tree. The root gets the result.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Reduce")]
    #[doc(alias = "reduce_into_root")]
    pub async fn reduce<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        operation: Operation,
        data: &[D],
    ) -> Result<Option<Vec<D>>, MpiError> {
        let tree = world.binomial(root)?;
        let mut values = data.to_vec();
        // Refused here, before anything is sent.
        combine_all(&mut values.clone(), data, operation)?;
        if self.reduces_on_boards::<D>(world, operation, data.len()) {
            return self.board_reduce(root, operation, data).await;
        }
        let call = self.operation(world, CollectiveKind::Reduce, "reduce");
        let bypasses = self.engine.bypassing.settings.reduce && self.is_eager(&to_bytes(data));
        if let Some(parent) = tree.parent.filter(|_| bypasses) {
            let children = &tree.children;
            let start = Starting {
                world,
                root,
                parent,
                children,
                tag: call.number,
                mark: call.kind as u16,
                operation,
                data,
            };
            self.engine.begin_reduction(start).await?;
            return Ok(None);
        }
        for child in &tree.children {
            let others = self.elements(world, call, *child, data.len()).await?;
            combine_all(&mut values, &others, operation)?;
        }
        match tree.parent {
            None => Ok(Some(values)),
            Some(parent) => {
                let bytes = to_bytes(&values);
                self.send_to(world, call, parent, &bytes).await?;
                Ok(None)
            }
        }
    }

    /// Combines the `data` of all members, element by element; all get the result.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Allreduce")]
    #[doc(alias = "all_reduce_into")]
    pub async fn all_reduce<D: Datatype>(
        &mut self,
        world: &Communicator,
        operation: Operation,
        data: &[D],
    ) -> Result<Vec<D>, MpiError> {
        if self.reduces_on_boards::<D>(world, operation, data.len()) {
            let request = self.immediate_all_reduce(world, operation, data).await?;
            return self.finish(request, "all_reduce").await;
        }
        let reduced = self.reduce(world, 0, operation, data).await?;
        let mut values = reduced.unwrap_or_else(|| data.to_vec());
        self.broadcast(world, 0, &mut values).await?;
        Ok(values)
    }

    /// Gives the root the `data` of all members, in the order of ranks, along a binomial tree.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Gather")]
    #[doc(alias = "gather_into_root")]
    pub async fn gather<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        data: &[D],
    ) -> Result<Option<Vec<D>>, MpiError> {
        let tree = world.binomial(root)?;
        let call = self.operation(world, CollectiveKind::Gather, "gather");
        // The blocks of the own subtree, in the order of the distances from the root.
        let mut blocks = data.to_vec();
        for child in &tree.children {
            let count = subtree(world, root, *child).saturating_mul(data.len());
            blocks.extend(self.elements::<D>(world, call, *child, count).await?);
        }
        if let Some(parent) = tree.parent {
            let bytes = to_bytes(&blocks);
            self.send_to(world, call, parent, &bytes).await?;
            return Ok(None);
        }
        // The root's own block comes first.
        let behind = (world.size() - root) % world.size();
        blocks.rotate_left(behind * data.len());
        Ok(Some(blocks))
    }

    /// Gives each member its block of the root's `data`, in the order of ranks, along a binomial tree. `count` is the number of elements of a
    /// block.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Blocks`] if the root has not as many elements.
    #[doc(alias = "MPI_Scatter")]
    #[doc(alias = "scatter_into_root")]
    pub async fn scatter<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        data: Option<&[D]>,
        count: usize,
    ) -> Result<Vec<D>, MpiError> {
        let tree = world.binomial(root)?;
        let name = "scatter";
        if tree.parent.is_none() {
            let (elements, ranks) = (data.map_or(0, <[D]>::len), world.size());
            if Some(elements) != count.checked_mul(ranks) {
                return Err(MpiError::Blocks {
                    call: name,
                    elements,
                    ranks,
                });
            }
        }
        let call = self.operation(world, CollectiveKind::Scatter, name);
        let mut blocks = match tree.parent {
            None => {
                let data = data.unwrap_or_default();
                let mut blocks = data.to_vec();
                blocks.rotate_left(root * count);
                blocks
            }
            Some(parent) => {
                let count = subtree(world, root, world.rank).saturating_mul(count);
                self.elements(world, call, parent, count).await?
            }
        };
        for child in tree.children.iter().rev() {
            let own = subtree(world, root, *child) * count;
            let rest = blocks.split_off(blocks.len() - own);
            self.send_to(world, call, *child, &to_bytes(&rest)).await?;
        }
        Ok(blocks)
    }

    /// Gives all members the `data` of all, in the order of ranks, around a ring.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Allgather")]
    #[doc(alias = "all_gather_into")]
    pub async fn all_gather<D: Datatype>(
        &mut self,
        world: &Communicator,
        data: &[D],
    ) -> Result<Vec<D>, MpiError> {
        if self.gathers_on_boards::<D>(world, data.len()) {
            let request = self.immediate_all_gather(world, data).await?;
            return self.finish(request, "all_gather").await;
        }
        let call = self.operation(world, CollectiveKind::AllGather, "all_gather");
        let blocks = self.ring(world, call, data, Some(data.len())).await?;
        Ok(blocks.concat())
    }

    /// Gives each member its block of the `data` of each, in the order of ranks.
    ///
    /// # Errors
    /// [`MpiError`]; [`MpiError::Blocks`] if the elements are no whole number for each rank, [`MpiError::Count`] if lengths differ.
    #[doc(alias = "MPI_Alltoall")]
    #[doc(alias = "all_to_all_into")]
    pub async fn all_to_all<D: Datatype>(
        &mut self,
        world: &Communicator,
        data: &[D],
    ) -> Result<Vec<D>, MpiError> {
        let ranks = world.size();
        let count = world.block("all_to_all", data.len())?;
        let call = self.operation(world, CollectiveKind::AllToAll, "all_to_all");
        let mut all = data.to_vec();
        for distance in 1..ranks {
            let to = (world.rank + distance) % ranks;
            let from = (world.rank + ranks - distance) % ranks;
            let receive = self.await_member(world, call, from).await?;
            let block = to_bytes(&data[to * count..(to + 1) * count]);
            let send = self.member_send(world, call, to, &block).await?;
            let values = self.member_elements(call, from, count, receive).await?;
            all[from * count..(from + 1) * count].copy_from_slice(&values);
            self.engine.wait(send, call.name).await?;
        }
        Ok(all)
    }

    fn is_eager(&self, bytes: &[u8]) -> bool {
        bytes.len() <= self.engine.transport.eager_bytes()
    }

    /// Sends a message that its receivers pass on at once.
    async fn begin_broadcast(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        root: usize,
        bytes: &[u8],
    ) -> Result<(), MpiError> {
        let label = MessageLabel {
            context: world.collective(),
            source: world.rank as u32,
            tag: call.number,
        };
        let envelope = Envelope {
            kind: envelope::EnvelopeKind::Broadcast,
            mark: call.kind as u16,
            label,
            length: bytes.len() as u32,
            send: root as u32,
            landing: 0,
        };
        self.engine.pass_on(&envelope, bytes).await.map(|_| ())
    }

    /// Sends a message of an operation.
    pub(super) async fn send_to(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        to: usize,
        bytes: &[u8],
    ) -> Result<(), MpiError> {
        let sent = self.member_send(world, call, to, bytes).await?;
        self.engine.wait(sent, call.name).await.map(|_| ())
    }

    pub(super) async fn member_send(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        to: usize,
        bytes: &[u8],
    ) -> Result<u32, MpiError> {
        let out = Outgoing {
            to: world.members[to],
            member: to,
            label: MessageLabel {
                context: world.collective(),
                source: world.rank as u32,
                tag: call.number,
            },
            mark: call.kind as u16,
            bytes,
            synchronous: false,
        };
        self.engine.send(out, call.name).await
    }

    /// Begins to receive a message of an operation.
    pub(super) async fn await_member(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        from: usize,
    ) -> Result<u32, MpiError> {
        let pattern = Pattern {
            context: world.collective(),
            source: Some(from as u32),
            tag: Some(call.number),
        };
        self.engine.receive(pattern, ANY_LENGTH).await
    }

    pub(super) async fn member_message(
        &mut self,
        call: CollectiveCall,
        from: usize,
        request: u32,
    ) -> Result<RequestResult, MpiError> {
        let ended = self.engine.wait(request, call.name).await?;
        match ended.mark & !PASSED_ON == call.kind as u16 {
            true => Ok(ended),
            false => Err(MpiError::Different {
                call: call.name,
                from,
            }),
        }
    }

    pub(super) async fn member_elements<D: Datatype>(
        &mut self,
        call: CollectiveCall,
        from: usize,
        count: usize,
        request: u32,
    ) -> Result<Vec<D>, MpiError> {
        let ended = self.member_message(call, from, request).await?;
        elements_of(call, from, count, &ended.bytes)
    }

    /// Receives an empty message of an operation.
    pub(super) async fn receive_empty(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        from: usize,
    ) -> Result<(), MpiError> {
        let request = self.await_member(world, call, from).await?;
        self.member_message(call, from, request).await.map(|_| ())
    }

    /// Receives so many elements in an operation.
    pub(super) async fn elements<D: Datatype>(
        &mut self,
        world: &Communicator,
        call: CollectiveCall,
        from: usize,
        count: usize,
    ) -> Result<Vec<D>, MpiError> {
        let request = self.await_member(world, call, from).await?;
        self.member_elements(call, from, count, request).await
    }
}

/// The elements of a message.
fn elements_of<D: Datatype>(
    call: CollectiveCall,
    from: usize,
    count: usize,
    bytes: &[u8],
) -> Result<Vec<D>, MpiError> {
    let expected = count.saturating_mul(D::BYTES);
    if bytes.len() != expected {
        return Err(MpiError::Count {
            call: call.name,
            from,
            bytes: bytes.len(),
            expected,
        });
    }
    from_bytes(bytes)
}

/// Number of ranks of a member's subtree in the binomial tree.
fn subtree(world: &Communicator, root: usize, rank: usize) -> usize {
    let size = world.size();
    let place = (rank + size - root) % size;
    match place {
        0 => size,
        _ => (1 << place.trailing_zeros()).min(size - place),
    }
}
