//! Collective operations that return at once. Their requests are waited for and tested as those of messages are ([`Mpi::wait`], [`Mpi::test`]).
//!
//! On hosts ([`Config::collectives`](super::Config::collectives)) an operation goes on when its processes call the library, or in handlers of
//! signals ([`Bypass::immediate`](super::Bypass::immediate)). On boards it goes on while they compute. Both are for any number of operations under way, which end
//! in any order; members begin them in one order.

use super::Executor;
use super::bypass::combine;
use super::collective::CollectiveKind;
use super::communicator::Communicator;
use super::datatype::{Datatype, Operation, combine_all, from_bytes, to_bytes};
use super::engine::HostOperation;
use super::error::MpiError;
use super::request::{BarrierRequest, CollectiveRequest, Outcome, Request};
use super::script::{self, Script};
use super::transport::{BoardCollective, Transport};
use super::{MOST_BOARD_VALUES, Mpi};

/// The bits of a value of 64 bits.
fn bits<D: Datatype>(value: D) -> u64 {
    let bytes = to_bytes(&[value]);
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl<T: Transport> Mpi<T> {
    /// Begins a barrier.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Ibarrier")]
    pub async fn immediate_barrier(
        &mut self,
        world: &Communicator,
    ) -> Result<BarrierRequest, MpiError> {
        if self.is_on_boards(world) {
            // A reduction: a board has several under way, and only one barrier.
            let operation = defs::gm::collective::Operation::Or;
            let part = BoardCollective::AllReduce {
                operation,
                value: 0,
            };
            let request = self.engine.start_on_boards(vec![part], true).await?;
            return Ok(Request::new(request));
        }
        let kind = (CollectiveKind::ImmediateBarrier, "immediate_barrier");
        let script = script::barrier(world);
        let request = self.start(world, kind, script, Vec::new(), None).await?;
        Ok(Request::new(request))
    }

    /// Begins to give all members the root's `data`; that of the others only has the same length.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Ibcast")]
    pub async fn immediate_broadcast<D: Datatype>(
        &mut self,
        world: &Communicator,
        root: usize,
        data: &[D],
    ) -> Result<CollectiveRequest<D>, MpiError> {
        let kind = (CollectiveKind::ImmediateBroadcast, "immediate_broadcast");
        let bytes = to_bytes(data);
        let script = script::broadcast(world, root, bytes.len())?;
        let request = self.start(world, kind, script, bytes, None).await?;
        Ok(Request::new(request))
    }

    /// Begins to combine the `data` of all members, element by element; all get the result.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Iallreduce")]
    pub async fn immediate_all_reduce<D: Datatype>(
        &mut self,
        world: &Communicator,
        operation: Operation,
        data: &[D],
    ) -> Result<CollectiveRequest<D>, MpiError> {
        combine_all(&mut data.to_vec(), data, operation)?;
        if let Some(on_boards) = D::board_operation(operation)
            && self.reduces_on_boards::<D>(world, operation, data.len())
        {
            let part = |value: &D| BoardCollective::AllReduce {
                operation: on_boards,
                value: bits(*value),
            };
            let parts = data.iter().map(part).collect();
            let request = self.engine.start_on_boards(parts, true).await?;
            return Ok(Request::new(request));
        }
        let kind = (CollectiveKind::ImmediateAllReduce, "immediate_all_reduce");
        let bytes = to_bytes(data);
        let script = script::all_reduce(world, bytes.len())?;
        let combine = Some((combine::<D> as super::bypass::Combine, operation));
        let request = self.start(world, kind, script, bytes, combine).await?;
        Ok(Request::new(request))
    }

    /// Begins to give all members the `data` of all, in the order of ranks.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Iallgather")]
    pub async fn immediate_all_gather<D: Datatype>(
        &mut self,
        world: &Communicator,
        data: &[D],
    ) -> Result<CollectiveRequest<D>, MpiError> {
        let block = to_bytes(data);
        if self.gathers_on_boards::<D>(world, data.len()) {
            let parts = vec![BoardCollective::AllGather { block }];
            let request = self.engine.start_on_boards(parts, true).await?;
            return Ok(Request::new(request));
        }
        let kind = (CollectiveKind::ImmediateAllGather, "immediate_all_gather");
        let script = script::all_gather(world, block.len());
        let mut bytes = vec![0; block.len() * world.size()];
        let own = world.rank() * block.len();
        bytes[own..own + block.len()].copy_from_slice(&block);
        let request = self.start(world, kind, script, bytes, None).await?;
        Ok(Request::new(request))
    }

    /// Begins an operation on hosts.
    async fn start(
        &mut self,
        world: &Communicator,
        (kind, name): (CollectiveKind, &'static str),
        script: Script,
        bytes: Vec<u8>,
        combine: Option<(super::bypass::Combine, Operation)>,
    ) -> Result<u32, MpiError> {
        let call = self.operation(world, kind, name);
        let world = world.clone();
        let operation = HostOperation {
            world,
            call,
            script,
            bytes,
            combine,
        };
        self.engine.start(operation).await
    }

    /// Waits for the end of an operation in the call of that name.
    pub(super) async fn finish<R: Outcome>(
        &mut self,
        request: Request<R>,
        call: &'static str,
    ) -> Result<R::Output, MpiError> {
        let ended = self.engine.wait(request.id, call).await?;
        R::outcome(ended.status, ended.bytes)
    }

    /// A reduction on boards: only the root waits for it.
    pub(super) async fn board_reduce<D: Datatype>(
        &mut self,
        root: usize,
        operation: Operation,
        data: &[D],
    ) -> Result<Option<Vec<D>>, MpiError> {
        let Some(operation) = D::board_operation(operation) else {
            return Err(MpiError::Operation(operation));
        };
        let part = |value: &D| BoardCollective::Reduce {
            root,
            operation,
            value: bits(*value),
        };
        let is_root = self.engine.transport.rank() == root;
        let parts = data.iter().map(part).collect();
        let request = self.engine.start_on_boards(parts, is_root).await?;
        let ended = self.engine.wait(request, "reduce").await?;
        match is_root {
            true => Ok(Some(from_bytes(&ended.bytes)?)),
            false => Ok(None),
        }
    }

    /// Whether operations of a communicator are on boards: of the first one of all processes. Others could be begun in different orders by
    /// different processes, each of which has its board's room.
    fn is_on_boards(&self, world: &Communicator) -> bool {
        self.engine.config.collectives == Executor::Nic && world.context == 0 && world.size() > 1
    }

    /// Whether boards reduce so many elements of a type.
    pub(super) fn reduces_on_boards<D: Datatype>(
        &self,
        world: &Communicator,
        operation: Operation,
        count: usize,
    ) -> bool {
        let known = D::board_operation(operation).is_some();
        known && (1..=MOST_BOARD_VALUES).contains(&count) && self.is_on_boards(world)
    }

    /// Whether boards gather blocks of so many elements.
    pub(super) fn gathers_on_boards<D: Datatype>(
        &self,
        world: &Communicator,
        count: usize,
    ) -> bool {
        let longest = self.engine.transport.board_block_bytes();
        let bytes = count.saturating_mul(D::BYTES);
        (1..=longest).contains(&bytes) && self.is_on_boards(world)
    }
}
