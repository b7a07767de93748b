//! Messages from one process to another.

use super::Mpi;
use super::communicator::Communicator;
use super::datatype::{Datatype, from_bytes, to_bytes};
use super::engine::{Outgoing, room};
use super::envelope::MessageLabel;
use super::error::{MpiError, Partner};
use super::matching::Pattern;
use super::request::{
    Outcome, Progress, ReceiveRequest, Request, SendRequest, Source, Status, Tag,
};
use super::transport::Transport;

impl Communicator {
    /// Address of a message: the target's rank among all processes, and the label that receives match.
    pub(super) fn address(&self, to: usize, tag: i32) -> Result<(usize, MessageLabel), MpiError> {
        if tag < 0 {
            return Err(MpiError::Tag(tag));
        }
        let size = self.size();
        let target = self.world_rank(to);
        let target = target.ok_or(MpiError::Rank { rank: to, size })?;
        let label = MessageLabel {
            context: self.context,
            source: self.rank as u32,
            tag,
        };
        Ok((target, label))
    }
}

/// The pattern of a receive.
pub(super) fn pattern(world: &Communicator, source: Source, tag: Tag) -> Result<Pattern, MpiError> {
    let size = world.size();
    let source = match source {
        Source::Any => None,
        Source::Rank(rank) if rank < size => Some(rank as u32),
        Source::Rank(rank) => return Err(MpiError::Rank { rank, size }),
    };
    let tag = match tag {
        Tag::Any => None,
        Tag::Value(tag) if tag >= 0 => Some(tag),
        Tag::Value(tag) => return Err(MpiError::Tag(tag)),
    };
    Ok(Pattern {
        context: world.context,
        source,
        tag,
    })
}

impl<T: Transport> Mpi<T> {
    /// Sends a message. Returns when `data` may be used again: at once, but for a long message, which its receiver has to take.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Send")]
    pub async fn send<D: Datatype>(
        &mut self,
        world: &Communicator,
        to: usize,
        tag: i32,
        data: &[D],
    ) -> Result<(), MpiError> {
        let sent = self.begin(world, to, tag, data, false, "send").await?;
        self.engine.wait(sent, "send").await.map(|_| ())
    }

    /// Sends a message; returns when its receive has begun.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Ssend")]
    pub async fn synchronous_send<D: Datatype>(
        &mut self,
        world: &Communicator,
        to: usize,
        tag: i32,
        data: &[D],
    ) -> Result<(), MpiError> {
        let call = "synchronous_send";
        let sent = self.begin(world, to, tag, data, true, call).await?;
        self.engine.wait(sent, call).await.map(|_| ())
    }

    /// Begins to send a message.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Isend")]
    pub async fn immediate_send<D: Datatype>(
        &mut self,
        world: &Communicator,
        to: usize,
        tag: i32,
        data: &[D],
    ) -> Result<SendRequest, MpiError> {
        let sent = self
            .begin(world, to, tag, data, false, "immediate_send")
            .await?;
        Ok(Request::new(sent))
    }

    async fn begin<D: Datatype>(
        &mut self,
        world: &Communicator,
        to: usize,
        tag: i32,
        data: &[D],
        synchronous: bool,
        call: &'static str,
    ) -> Result<u32, MpiError> {
        let member = to;
        let (to, label) = world.address(member, tag)?;
        let bytes = to_bytes(data);
        let out = Outgoing {
            to,
            member,
            label,
            mark: 0,
            bytes: &bytes,
            synchronous,
        };
        self.engine.send(out, call).await
    }

    /// Receives a message of at most `most` elements.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Recv")]
    pub async fn receive<D: Datatype>(
        &mut self,
        world: &Communicator,
        source: impl Into<Source> + Send,
        tag: impl Into<Tag> + Send,
        most: usize,
    ) -> Result<(Vec<D>, Status), MpiError> {
        let pattern = pattern(world, source.into(), tag.into())?;
        let request = self.engine.receive(pattern, room::<D>(most)).await?;
        let ended = self.engine.wait(request, "receive").await?;
        Ok((from_bytes(&ended.bytes)?, ended.status))
    }

    /// Receives a message into `data`; the rest of `data` keeps its values.
    ///
    /// # Errors
    /// [`MpiError`].
    pub async fn receive_into<D: Datatype>(
        &mut self,
        world: &Communicator,
        source: impl Into<Source> + Send,
        tag: impl Into<Tag> + Send,
        data: &mut [D],
    ) -> Result<Status, MpiError> {
        let (values, status) = self.receive(world, source, tag, data.len()).await?;
        data[..values.len()].copy_from_slice(&values);
        Ok(status)
    }

    /// Begins to receive a message of at most `most` elements.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Irecv")]
    pub async fn immediate_receive<D: Datatype>(
        &mut self,
        world: &Communicator,
        source: impl Into<Source> + Send,
        tag: impl Into<Tag> + Send,
        most: usize,
    ) -> Result<ReceiveRequest<D>, MpiError> {
        let pattern = pattern(world, source.into(), tag.into())?;
        let request = self.engine.receive(pattern, room::<D>(most)).await?;
        Ok(Request::new(request))
    }

    /// Sends a message and receives another one, in any order.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Sendrecv")]
    pub async fn send_receive<D: Datatype>(
        &mut self,
        world: &Communicator,
        (to, tag, data): (usize, i32, &[D]),
        (source, its_tag, most): (Source, Tag, usize),
    ) -> Result<(Vec<D>, Status), MpiError> {
        let receive = self.immediate_receive(world, source, its_tag, most).await?;
        let send = self.immediate_send(world, to, tag, data).await?;
        let received = self.wait(receive).await?;
        self.wait(send).await?;
        Ok(received)
    }

    /// Waits for the end of a request.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Wait")]
    pub async fn wait<R: Outcome>(&mut self, request: Request<R>) -> Result<R::Output, MpiError> {
        let ended = self.engine.wait(request.id, "wait").await?;
        R::outcome(ended.status, ended.bytes)
    }

    /// Waits for the ends of all requests.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Waitall")]
    pub async fn wait_all<R: Outcome>(
        &mut self,
        requests: Vec<Request<R>>,
    ) -> Result<Vec<R::Output>, MpiError> {
        let mut all = Vec::with_capacity(requests.len());
        for request in requests {
            all.push(self.wait(request).await?);
        }
        Ok(all)
    }

    /// Waits for the first request that ends; gives its place in the list, from which it is removed, and what it has ended with. `None` for an
    /// empty list.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Waitany")]
    pub async fn wait_any<R: Outcome>(
        &mut self,
        requests: &mut Vec<Request<R>>,
    ) -> Result<Option<(usize, R::Output)>, MpiError> {
        if requests.is_empty() {
            return Ok(None);
        }
        loop {
            for at in 0..requests.len() {
                if let Some(ended) = self.engine.ended(requests[at].id)? {
                    let Request { .. } = requests.remove(at);
                    return Ok(Some((at, R::outcome(ended.status, ended.bytes)?)));
                }
            }
            self.engine.alive()?;
            if !self.engine.advance().await? {
                return Err(self.engine.timed_out("wait_any", Partner::Several, None));
            }
        }
    }

    /// Whether a request has ended.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Test")]
    pub async fn test<R: Outcome>(&mut self, request: Request<R>) -> Result<Progress<R>, MpiError> {
        self.engine.poll().await?;
        match self.engine.ended(request.id)? {
            None => Ok(Progress::Pending(request)),
            Some(ended) => {
                let outcome = R::outcome(ended.status, ended.bytes)?;
                Ok(Progress::Complete(outcome))
            }
        }
    }

    /// Gives up a receive for which no message has come. One that has a message has to be waited for, and comes back.
    #[doc(alias = "MPI_Cancel")]
    pub fn cancel<D: Datatype>(
        &mut self,
        request: ReceiveRequest<D>,
    ) -> Result<(), ReceiveRequest<D>> {
        match self.engine.cancel(request.id) {
            true => Ok(()),
            false => Err(request),
        }
    }

    /// Waits for a message that a receive would take, and leaves it there.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Probe")]
    pub async fn probe(
        &mut self,
        world: &Communicator,
        source: impl Into<Source> + Send,
        tag: impl Into<Tag> + Send,
    ) -> Result<Status, MpiError> {
        let pattern = pattern(world, source.into(), tag.into())?;
        loop {
            if let Some(status) = self.engine.peek(&pattern) {
                return Ok(status);
            }
            self.engine.alive()?;
            if !self.engine.advance().await? {
                let sender = Partner::Sender(pattern.source.map(|rank| rank as usize));
                return Err(self.engine.timed_out("probe", sender, pattern.tag));
            }
        }
    }

    /// The message that a receive would take now.
    ///
    /// # Errors
    /// [`MpiError`].
    #[doc(alias = "MPI_Iprobe")]
    pub async fn immediate_probe(
        &mut self,
        world: &Communicator,
        source: impl Into<Source> + Send,
        tag: impl Into<Tag> + Send,
    ) -> Result<Option<Status>, MpiError> {
        let pattern = pattern(world, source.into(), tag.into())?;
        self.engine.poll().await?;
        Ok(self.engine.peek(&pattern))
    }
}
