//! The progress engine: requests, and what arrivals do to them.

mod immediate;
mod long;

use std::collections::{BTreeMap, VecDeque};

use super::Config;
use super::bypass::Bypassing;
use super::datatype::Datatype;
use super::envelope::{Envelope, EnvelopeKind, MessageLabel};
use super::error::{MpiError, Partner, Wait};
use super::matching::{Matching, Pattern};
use super::request::Status;
use super::times::Clocks;
use super::transport::{Arrival, Delivery, Transport};
pub(super) use immediate::HostOperation;
use immediate::Immediate;

/// Set in the mark of a message of a broadcast that has been passed on.
pub(super) const PASSED_ON: u16 = 1 << 15;

/// A message without a receive.
#[derive(Debug)]
enum UnmatchedMessage {
    /// Bytes of the message, copied out of the network's buffer.
    Eager { mark: u16, bytes: Vec<u8> },
    /// A long message that waits at its sender.
    Waiting(Offer),
}

/// A long message that its sender has announced.
#[derive(Debug)]
struct Offer {
    /// The sender's rank among all processes.
    from: usize,
    mark: u16,
    send: u32,
    length: usize,
}

/// Result of a request.
#[derive(Debug, Clone)]
pub(super) struct RequestResult {
    pub(super) status: Status,
    /// Collective operation to which the message belongs.
    pub(super) mark: u16,
    pub(super) bytes: Vec<u8>,
}

/// A request.
#[derive(Debug)]
enum RequestState {
    /// A long message, until its receiver has memory for it.
    Asking {
        target: SendTarget,
        bytes: Vec<u8>,
    },
    /// A long message on its way.
    Transferring(SendTarget),
    /// A receive of so many bytes at most.
    Receiving {
        room: usize,
    },
    /// A collective operation that has returned.
    Collective,
    Done(Result<RequestResult, MpiError>),
}

/// The receiver of a message, as the program names it.
#[derive(Debug, Clone, Copy)]
struct SendTarget {
    /// Rank of the target in the communicator.
    rank: usize,
    /// The tag; collective operations have none.
    tag: Option<i32>,
}

/// A long message that comes in.
#[derive(Debug)]
struct Landing {
    request: u32,
    label: MessageLabel,
    mark: u16,
}

/// Something that found no room in the network.
#[derive(Debug)]
enum DelayedPost {
    Packet(OutgoingPacket),
    Transfer { to: usize, send: u32, landing: u64 },
}

/// A packet to post.
#[derive(Debug)]
pub(super) struct OutgoingPacket {
    /// The target's rank among all processes.
    pub(super) to: usize,
    pub(super) delivery: Delivery,
    pub(super) envelope: Envelope,
    pub(super) content: Vec<u8>,
}

/// All requests of a process.
#[derive(Debug)]
pub(super) struct Engine<T> {
    pub(super) transport: T,
    pub(super) config: Config,
    matching: Matching<u32, UnmatchedMessage>,
    requests: BTreeMap<u32, RequestState>,
    next_request: u32,
    /// The requests of transfers under way.
    transfers: BTreeMap<u64, u32>,
    landings: BTreeMap<u64, Landing>,
    waiting: VecDeque<DelayedPost>,
    /// Collective operations so far, by context.
    operations: BTreeMap<u32, u32>,
    immediate: Immediate,
    pub(super) bypassing: Bypassing,
    pub(super) clocks: Clocks,
    /// Failure outside of the program's calls: for instance a process cannot be reached.
    pub(super) failed: Option<MpiError>,
}

/// A message to post.
pub(super) struct Outgoing<'a> {
    /// The target's rank among all processes.
    pub(super) to: usize,
    /// Rank of the target in the communicator.
    pub(super) member: usize,
    pub(super) label: MessageLabel,
    pub(super) mark: u16,
    pub(super) bytes: &'a [u8],
    /// Whether the send ends only when its receive has begun.
    pub(super) synchronous: bool,
}

/// Result of a send.
const SENT: RequestResult = RequestResult {
    status: Status {
        source: 0,
        tag: 0,
        bytes: 0,
    },
    mark: 0,
    bytes: Vec::new(),
};

impl<T: Transport> Engine<T> {
    pub(super) const fn new(transport: T, config: Config) -> Self {
        Self {
            transport,
            config,
            matching: Matching::new(),
            requests: BTreeMap::new(),
            next_request: 0,
            transfers: BTreeMap::new(),
            landings: BTreeMap::new(),
            waiting: VecDeque::new(),
            operations: BTreeMap::new(),
            immediate: Immediate::new(),
            bypassing: Bypassing::new(),
            clocks: Clocks::new(),
            failed: None,
        }
    }

    /// The number of the next collective operation of a context. All members count the same ones.
    pub(super) fn next_operation(&mut self, context: u32) -> i32 {
        let next = self.operations.entry(context).or_default();
        let number = *next;
        *next = (number + 1) & i32::MAX as u32;
        number.cast_signed()
    }

    fn request(&mut self, state: RequestState) -> u32 {
        let id = self.next_request;
        self.next_request = id.wrapping_add(1);
        self.requests.insert(id, state);
        id
    }

    /// Begins a send.
    pub(super) async fn send(
        &mut self,
        out: Outgoing<'_>,
        call: &'static str,
    ) -> Result<u32, MpiError> {
        let Outgoing {
            to,
            member,
            label,
            mark,
            bytes,
            synchronous,
        } = out;
        let length = u32::try_from(bytes.len()).ok();
        let length = length.filter(|length| *length <= i32::MAX as u32);
        let length = length.ok_or(MpiError::TooLong(bytes.len()))?;
        self.transport.compute(self.config.library_ns).await;
        let envelope = |kind, send| Envelope {
            kind,
            mark,
            label,
            length,
            send,
            landing: 0,
        };
        if to == self.transport.rank() {
            return self
                .send_to_itself(&envelope(EnvelopeKind::Eager, 0), bytes)
                .await;
        }
        let target = SendTarget::new(member, &label);
        if synchronous || bytes.len() > self.transport.eager_bytes() {
            let bytes = bytes.to_vec();
            let id = self.request(RequestState::Asking { target, bytes });
            let envelope = envelope(EnvelopeKind::RequestToSend, id);
            self.post(to, target, &envelope, &[], call).await?;
            Ok(id)
        } else {
            let envelope = envelope(EnvelopeKind::Eager, 0);
            self.post(to, target, &envelope, bytes, call).await?;
            Ok(self.request(RequestState::Done(Ok(SENT))))
        }
    }

    async fn send_to_itself(&mut self, envelope: &Envelope, bytes: &[u8]) -> Result<u32, MpiError> {
        self.charge_copy(bytes.len()).await;
        self.eager(envelope, bytes.to_vec());
        Ok(self.request(RequestState::Done(Ok(SENT))))
    }

    /// Posts a packet, when there is room for it.
    async fn post(
        &mut self,
        to: usize,
        target: SendTarget,
        envelope: &Envelope,
        content: &[u8],
        call: &'static str,
    ) -> Result<(), MpiError> {
        let header = envelope.bytes();
        while !self
            .transport
            .post(to, Delivery::Quiet, &header, content)
            .await?
        {
            self.alive()?;
            if !self.advance().await? {
                return Err(self.timed_out(call, Partner::Receiver(target.rank), target.tag));
            }
        }
        Ok(())
    }

    /// Begins a receive.
    pub(super) async fn receive(&mut self, pattern: Pattern, room: usize) -> Result<u32, MpiError> {
        self.transport.compute(self.config.library_ns).await;
        let id = self.request(RequestState::Receiving { room });
        match self.matching.take(&pattern) {
            None => self.matching.post(pattern, id),
            Some((label, UnmatchedMessage::Eager { mark, bytes })) => {
                self.charge_copy(bytes.len()).await;
                self.received(id, &label, mark, bytes);
            }
            Some((label, UnmatchedMessage::Waiting(offer))) => {
                self.accept(id, label, offer).await?
            }
        }
        Ok(id)
    }

    /// Posts a packet now, or when there is room.
    pub(super) async fn post_later(&mut self, packet: OutgoingPacket) -> Result<(), MpiError> {
        self.try_later(DelayedPost::Packet(packet)).await
    }

    /// A receive has its message.
    fn received(&mut self, request: u32, label: &MessageLabel, mark: u16, bytes: Vec<u8>) {
        let Some(state) = self.requests.get_mut(&request) else {
            return;
        };
        let RequestState::Receiving { room } = *state else {
            return;
        };
        let status = Status {
            source: label.source as usize,
            tag: label.tag,
            bytes: bytes.len(),
        };
        *state = RequestState::Done(match bytes.len() > room {
            true => Err(MpiError::Truncated {
                bytes: bytes.len(),
                room,
            }),
            false => Ok(RequestResult {
                status,
                mark,
                bytes,
            }),
        });
    }

    /// Does something now, or when there is room.
    async fn try_later(&mut self, what: DelayedPost) -> Result<(), MpiError> {
        self.waiting.push_back(what);
        self.retry().await
    }

    async fn retry(&mut self) -> Result<(), MpiError> {
        while let Some(first) = self.waiting.front() {
            let done = match first {
                DelayedPost::Packet(packet) => {
                    let header = packet.envelope.bytes();
                    let (to, delivery) = (packet.to, packet.delivery);
                    let content = &packet.content;
                    self.transport.post(to, delivery, &header, content).await?
                }
                &DelayedPost::Transfer { to, send, landing } => {
                    self.transfer(to, send, landing).await?
                }
            };
            if !done {
                return Ok(());
            }
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Waits for the next arrival and handles it; `false` if there is none in time.
    pub(super) async fn advance(&mut self) -> Result<bool, MpiError> {
        self.advance_within(self.config.limit_ns).await
    }

    /// Waits for an arrival as [`advance`](Self::advance) does, but with this time limit, in ns.
    pub(super) async fn advance_within(&mut self, limit_ns: u64) -> Result<bool, MpiError> {
        self.retry().await?;
        let begin = self.clocks.begin(&self.transport);
        let next = self.transport.next(limit_ns).await;
        self.clocks.waited(begin, &self.transport);
        let Some(arrival) = next? else {
            return Ok(false);
        };
        self.handle(arrival).await?;
        Ok(true)
    }

    /// Spends the time of a copy.
    pub(super) async fn charge_copy(&mut self, bytes: usize) {
        let begin = self.clocks.begin(&self.transport);
        self.transport.charge_copy(bytes).await;
        self.clocks.copied(begin, &self.transport);
    }

    /// Spends the time of the copy of a packet out of the network's buffer.
    pub(super) async fn charge_arrival(&mut self, bytes: usize) {
        let begin = self.clocks.begin(&self.transport);
        self.transport.charge_arrival(bytes).await;
        self.clocks.copied(begin, &self.transport);
    }

    /// Handles what has arrived.
    pub(super) async fn poll(&mut self) -> Result<(), MpiError> {
        self.retry().await?;
        while let Some(arrival) = self.transport.poll().await? {
            self.handle(arrival).await?;
        }
        Ok(())
    }

    async fn handle(&mut self, arrival: Arrival) -> Result<(), MpiError> {
        match arrival {
            Arrival::Packet { from, bytes } => self.packet(from, &bytes).await?,
            Arrival::Landed { landing, bytes } => self.landed(landing, bytes),
            Arrival::Transferred { transfer } => self.transferred(transfer),
            Arrival::Failed { to, why } => {
                self.failed = Some(MpiError::Lost { rank: to, why });
            }
            Arrival::CollectiveEnded { name, result } => self.board_ended(name, result).await,
            Arrival::Progress => {}
        }
        self.progress().await
    }

    async fn packet(&mut self, from: usize, packet: &[u8]) -> Result<(), MpiError> {
        let read = Envelope::read(packet);
        let (mut envelope, content) = read.ok_or(MpiError::Damaged { from })?;
        match envelope.kind {
            EnvelopeKind::Partial => {
                return self.partial_came(&envelope, packet.len(), content).await;
            }
            // Before the own copy: others wait.
            EnvelopeKind::Broadcast if self.pass_on(&envelope, content).await? => {
                envelope.mark |= PASSED_ON;
            }
            _ => {}
        }
        self.charge_arrival(packet.len()).await;
        match envelope.kind {
            EnvelopeKind::Eager | EnvelopeKind::Broadcast | EnvelopeKind::Partial => {
                self.eager(&envelope, content.to_vec());
                Ok(())
            }
            EnvelopeKind::RequestToSend => {
                let offer = Offer {
                    from,
                    mark: envelope.mark,
                    send: envelope.send,
                    length: envelope.length as usize,
                };
                match self.matching.arrive(&envelope.label) {
                    Some(request) => self.accept(request, envelope.label, offer).await,
                    None => {
                        let message = UnmatchedMessage::Waiting(offer);
                        self.matching.keep(envelope.label, message);
                        Ok(())
                    }
                }
            }
            EnvelopeKind::ClearToSend => {
                let (send, landing) = (envelope.send, envelope.landing);
                self.try_later(DelayedPost::Transfer {
                    to: from,
                    send,
                    landing,
                })
                .await
            }
            EnvelopeKind::Refused => {
                self.refused(envelope.send);
                Ok(())
            }
            EnvelopeKind::Withdrawn => {
                self.withdrawn(envelope.landing, envelope.length);
                Ok(())
            }
        }
    }

    fn eager(&mut self, envelope: &Envelope, bytes: Vec<u8>) {
        let (label, mark) = (envelope.label, envelope.mark);
        match self.matching.arrive(&label) {
            Some(request) => self.received(request, &label, mark, bytes),
            None => self
                .matching
                .keep(label, UnmatchedMessage::Eager { mark, bytes }),
        }
    }

    /// Result of a request, if it has ended; the request is forgotten then.
    pub(super) fn ended(&mut self, request: u32) -> Result<Option<RequestResult>, MpiError> {
        match self.requests.get(&request) {
            None => Err(MpiError::Request),
            Some(RequestState::Done(_)) => match self.requests.remove(&request) {
                Some(RequestState::Done(result)) => result.map(Some),
                _ => Err(MpiError::Request),
            },
            Some(_) => Ok(None),
        }
    }

    /// Waits for the end of a request.
    pub(super) async fn wait(
        &mut self,
        request: u32,
        call: &'static str,
    ) -> Result<RequestResult, MpiError> {
        loop {
            if let Some(ended) = self.ended(request)? {
                return Ok(ended);
            }
            self.alive()?;
            if !self.advance().await? {
                let (partner, tag) = self.awaited(request);
                return Err(self.timed_out(call, partner, tag));
            }
        }
    }

    /// The message that a receive would take now.
    pub(super) fn peek(&self, pattern: &Pattern) -> Option<Status> {
        let (label, message) = self.matching.peek(pattern)?;
        let bytes = match message {
            UnmatchedMessage::Eager { bytes, .. } => bytes.len(),
            UnmatchedMessage::Waiting(offer) => offer.length,
        };
        Some(Status {
            source: label.source as usize,
            tag: label.tag,
            bytes,
        })
    }

    /// Gives a receive up that has no message yet.
    pub(super) fn cancel(&mut self, request: u32) -> bool {
        let gone = self.matching.withdraw(&request);
        if gone {
            self.requests.remove(&request);
        }
        gone
    }

    /// Fails if something has gone wrong beside the calls of the program.
    pub(super) fn alive(&self) -> Result<(), MpiError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    pub(super) fn timed_out(
        &self,
        call: &'static str,
        partner: Partner,
        tag: Option<i32>,
    ) -> MpiError {
        MpiError::TimedOut {
            rank: self.transport.rank(),
            wait: Wait { call, partner, tag },
            waited_us: self.config.limit_ns / 1000,
        }
    }

    /// Waits until everything has left.
    pub(super) async fn flush(&mut self) -> Result<(), MpiError> {
        loop {
            self.retry().await?;
            if self.waiting.is_empty()
                && !self.bypassing.has_reductions()
                && !self.has_immediate()
                && self.transport.is_flushed()
            {
                return Ok(());
            }
            self.alive()?;
            if !self.advance().await? {
                return Err(self.timed_out("finalize", Partner::Several, None));
            }
        }
    }

    /// Messages that no receive has taken.
    pub(super) fn unexpected(&self) -> usize {
        self.matching.unexpected()
    }
}

/// Bytes of `count` elements, as the room of a receive.
pub(super) const fn room<T: Datatype>(count: usize) -> usize {
    count.saturating_mul(T::BYTES)
}
