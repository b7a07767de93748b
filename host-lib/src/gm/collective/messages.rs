//! Messages of collective operations that hosts execute: tags, messages that come early.

use std::collections::BTreeMap;

use super::error::CollectiveError;
use super::group::{Endpoint, Group};
use crate::gm::channel::{ALIGNMENT, BufferClass, Channel, ChannelError, ChannelEvent};
use crate::gm::{Gm, Priority, SendId, Status, capacity, size_for};
use crate::window::System;

/// Bytes before the content of a message: number of the operation, its kind, a zero, number of the step.
pub(super) const HEADER: usize = 8;
/// Most bytes of all buffers of one direction.
const MOST_BUFFER_BYTES: u32 = 8 << 20;
/// Fewest buffers and most buffers for messages under way.
const SEND_BUFFERS: (u32, u32) = (2, 32);
/// Fewest buffers and most buffers that the board has for messages to come.
const RECEIVE_BUFFERS: (u32, u32) = (4, 64);

/// Bytes of host memory that the buffers of an engine take, for messages of this length.
#[must_use]
pub fn buffer_bytes(longest_bytes: usize) -> u64 {
    let whole = u32::try_from(longest_bytes.saturating_add(HEADER)).unwrap_or(u32::MAX);
    let room = capacity(size_for(whole)).max(1);
    let all = [SEND_BUFFERS, RECEIVE_BUFFERS];
    let of = |limits| u64::from(count(limits, room)) * u64::from(room.next_multiple_of(ALIGNMENT));
    all.into_iter().map(of).sum()
}

/// Number of buffers, between the fewest and the most ones.
fn count((fewest, most): (u32, u32), room: u32) -> u32 {
    (MOST_BUFFER_BYTES / room).clamp(fewest, most)
}

/// The kind of an operation, in its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    PairwiseExchange = 1,
    GatherBroadcast = 2,
    Reduction = 3,
    RecursiveDoubling = 4,
    Ring = 5,
}

/// Identity of a message: number of the operation, step, sender.
type Tag = (u32, u16, usize);

/// A message that has come in.
struct Early {
    kind: u8,
    content: Vec<u8>,
}

/// The messages of one endpoint.
pub(super) struct CollectiveMessages {
    pub(super) group: Group,
    ranks: BTreeMap<Endpoint, usize>,
    limit_ns: u64,
    /// The operation under way, and its number.
    kind: OperationKind,
    number: u32,
    channel: Channel,
    /// Ranks of sends under way.
    under_way: BTreeMap<SendId, usize>,
    /// Messages that no step has waited for yet.
    early: BTreeMap<Tag, Early>,
}

impl CollectiveMessages {
    /// Allocates the buffers and provides those for receives. The port is open.
    pub(super) async fn new(
        gm: &mut Gm,
        group: Group,
        longest_bytes: usize,
        limit_ns: u64,
    ) -> Result<Self, CollectiveError> {
        let whole = u32::try_from(longest_bytes.saturating_add(HEADER)).unwrap_or(u32::MAX);
        let room = capacity(size_for(whole)).max(1);
        let class = BufferClass {
            longest_bytes: longest_bytes.saturating_add(HEADER),
            sends: count(SEND_BUFFERS, room),
            receives: count(RECEIVE_BUFFERS, room),
            urgent: 0,
        };
        let channel = Channel::new(gm, group.own().port, &[class]).await?;
        let members = group.members().iter().copied();
        Ok(Self {
            ranks: members.enumerate().map(|(rank, at)| (at, rank)).collect(),
            group,
            limit_ns,
            kind: OperationKind::PairwiseExchange,
            number: 0,
            channel,
            under_way: BTreeMap::new(),
            early: BTreeMap::new(),
        })
    }

    /// A new operation begins. All members begin the same ones in the same order.
    pub(super) fn begin(&mut self, kind: OperationKind) {
        self.number = self.number.wrapping_add(1);
        self.kind = kind;
    }

    /// Sends a message of a step to a rank.
    pub(super) async fn send(
        &mut self,
        gm: &mut Gm,
        to: usize,
        step: u16,
        content: &[u8],
    ) -> Result<(), CollectiveError> {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&self.number.to_be_bytes());
        header[4] = self.kind as u8;
        header[6..].copy_from_slice(&step.to_be_bytes());
        let target = self.group.members()[to];
        loop {
            let parts: [&[u8]; 2] = [&header, content];
            let sent = self.channel.send(gm, target, Priority::Low, &parts).await;
            let sent = sent.map_err(|error| match error {
                ChannelError::TooLong { room, .. } => CollectiveError::TooLong {
                    bytes: content.len(),
                    room,
                },
                error => error.into(),
            })?;
            if let Some(id) = sent {
                self.under_way.insert(id, to);
                return Ok(());
            }
            if !self.event(gm).await? {
                return Err(self.unsent());
            }
        }
    }

    /// Waits for the message of a step from a rank.
    pub(super) async fn receive(
        &mut self,
        gm: &mut Gm,
        from: usize,
        step: u16,
    ) -> Result<Vec<u8>, CollectiveError> {
        let tag = (self.number, step, from);
        loop {
            if let Some(early) = self.early.remove(&tag) {
                return match early.kind == self.kind as u8 {
                    true => Ok(early.content),
                    false => Err(CollectiveError::Different { from }),
                };
            }
            if !self.event(gm).await? {
                let waited_ns = self.limit_ns;
                return Err(CollectiveError::TimedOut { from, waited_ns });
            }
        }
    }

    /// Waits until all messages have been sent and acknowledged.
    pub(super) async fn flush(&mut self, gm: &mut Gm) -> Result<(), CollectiveError> {
        while !self.under_way.is_empty() {
            if !self.event(gm).await? {
                return Err(self.unsent());
            }
        }
        Ok(())
    }

    const fn unsent(&self) -> CollectiveError {
        CollectiveError::Unsent {
            waited_ns: self.limit_ns,
        }
    }

    /// Takes the next event; `false` if there is none in time.
    async fn event(&mut self, gm: &mut Gm) -> Result<bool, CollectiveError> {
        let Some(arrival) = self.channel.next(gm, self.limit_ns).await? else {
            return Ok(false);
        };
        match arrival {
            ChannelEvent::Message { from, bytes } => {
                gm.system_mut().charge_copy(bytes.len()).await;
                self.message(from, &bytes)?;
            }
            ChannelEvent::Sent(all) => {
                for (id, status) in all {
                    self.sent(id, status)?;
                }
            }
            ChannelEvent::Other(_) => return Err(CollectiveError::Unexpected),
        }
        Ok(true)
    }

    fn sent(&mut self, id: SendId, status: Status) -> Result<(), CollectiveError> {
        match (self.under_way.remove(&id), status) {
            (None, _) | (_, Status::Success) => Ok(()),
            (Some(to), status) => Err(CollectiveError::Failed { to, status }),
        }
    }

    /// Keeps a message until its step.
    fn message(&mut self, sender: Endpoint, bytes: &[u8]) -> Result<(), CollectiveError> {
        let from = self.ranks.get(&sender).copied();
        let from = from.ok_or(CollectiveError::Stranger(sender))?;
        let damaged = CollectiveError::Damaged { from };
        let (header, content) = bytes.split_first_chunk::<HEADER>().ok_or(damaged)?;
        let &[a, b, c, d, kind, _, e, f] = header;
        let tag = (
            u32::from_be_bytes([a, b, c, d]),
            u16::from_be_bytes([e, f]),
            from,
        );
        let early = Early {
            kind,
            content: content.to_vec(),
        };
        match self.early.insert(tag, early) {
            None => Ok(()),
            Some(_) => Err(damaged),
        }
    }
}
