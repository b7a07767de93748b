//! Sends and receives that are made again and again with the same arguments.

use std::marker::PhantomData;

use super::Mpi;
use super::communicator::Communicator;
use super::datatype::{Datatype, to_bytes};
use super::engine::{Outgoing, room};
use super::envelope::MessageLabel;
use super::error::MpiError;
use super::matching::Pattern;
use super::point::pattern;
use super::request::{ReceiveRequest, Request, SendRequest, Source, Tag};
use super::transport::Transport;

/// A send that can be made again and again, of what stands in [`data`](Self::data) then.
#[doc(alias = "MPI_Send_init")]
#[derive(Debug, Clone)]
pub struct PersistentSend<D> {
    /// The target's rank among all processes.
    to: usize,
    /// Rank of the target in the communicator.
    member: usize,
    label: MessageLabel,
    synchronous: bool,
    /// The elements of the next message.
    pub data: Vec<D>,
}

impl<D> PersistentSend<D> {
    /// Makes the send synchronous: it ends only when its receive has begun.
    #[doc(alias = "MPI_Ssend_init")]
    #[must_use]
    pub const fn synchronous(mut self) -> Self {
        self.synchronous = true;
        self
    }
}

/// A receive that can be made again and again.
#[doc(alias = "MPI_Recv_init")]
#[derive(Debug, Clone, Copy)]
pub struct PersistentReceive<D> {
    pattern: Pattern,
    /// Elements of the longest message.
    most: usize,
    element: PhantomData<D>,
}

impl<T: Transport> Mpi<T> {
    /// Prepares a send. Nothing is sent before [`Mpi::start_send`].
    ///
    /// # Errors
    /// [`MpiError::Rank`], [`MpiError::Tag`].
    pub fn send_init<D: Datatype>(
        &self,
        world: &Communicator,
        to: usize,
        tag: i32,
        data: Vec<D>,
    ) -> Result<PersistentSend<D>, MpiError> {
        let member = to;
        let (to, label) = world.address(member, tag)?;
        Ok(PersistentSend {
            to,
            member,
            label,
            synchronous: false,
            data,
        })
    }

    /// Prepares a receive of at most `most` elements. Nothing is received before [`Mpi::start_receive`].
    ///
    /// # Errors
    /// [`MpiError::Rank`], [`MpiError::Tag`].
    pub fn receive_init<D: Datatype>(
        &self,
        world: &Communicator,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        most: usize,
    ) -> Result<PersistentReceive<D>, MpiError> {
        let pattern = pattern(world, source.into(), tag.into())?;
        let element = PhantomData;
        Ok(PersistentReceive {
            pattern,
            most,
            element,
        })
    }

    /// Begins a prepared send. Its data may be changed at once: the library has its own copy. It can be started again before the request has
    /// ended; then it sends another message.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Start")]
    pub async fn start_send<D: Datatype>(
        &mut self,
        send: &PersistentSend<D>,
    ) -> Result<SendRequest, MpiError> {
        let bytes = to_bytes(&send.data);
        let out = Outgoing {
            to: send.to,
            member: send.member,
            label: send.label,
            mark: 0,
            bytes: &bytes,
            synchronous: send.synchronous,
        };
        let sent = self.engine.send(out, "start_send").await?;
        Ok(Request::new(sent))
    }

    /// Begins a prepared receive. It can be started again before the request has ended; then it takes another message.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Start")]
    pub async fn start_receive<D: Datatype>(
        &mut self,
        receive: &PersistentReceive<D>,
    ) -> Result<ReceiveRequest<D>, MpiError> {
        let room = room::<D>(receive.most);
        let request = self.engine.receive(receive.pattern, room).await?;
        Ok(Request::new(request))
    }
}
