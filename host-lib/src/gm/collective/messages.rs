//! Messages of collective operations that hosts execute: buffers, tags, messages that come early.

use std::collections::BTreeMap;

use defs::gm::packet::SIZES;

use super::error::CollectiveError;
use super::group::{Endpoint, Group};
use crate::gm::{
    Buffer, Event, Gm, MemoryError, Priority, Received, Request, SendId, Status, capacity, size_for,
};
use crate::window::{System, VirtualAddress, Window};

/// Bytes before the content of a message: number of the operation, its kind, a zero, number of the step.
pub(super) const HEADER: usize = 8;
/// Bytes to which the places of buffers are aligned.
const ALIGNMENT: u32 = 64;
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
pub(super) enum Kind {
    PairwiseExchange = 1,
    GatherBroadcast = 2,
    Reduction = 3,
    RecursiveDoubling = 4,
    Ring = 5,
}

/// Which message of an operation is meant: number of the operation, step, sender.
type Tag = (u32, u16, usize);

/// A message that has come in.
struct Early {
    kind: u8,
    content: Vec<u8>,
}

/// The messages of one endpoint.
pub(super) struct Messages {
    pub(super) group: Group,
    ranks: BTreeMap<Endpoint, usize>,
    /// Size of all messages for GM.
    size: u8,
    room: u32,
    limit_ns: u64,
    /// The operation under way, and its number.
    kind: Kind,
    number: u32,
    /// Buffers for further sends.
    free: Vec<Buffer>,
    /// Buffers of sends under way, and their ranks.
    under_way: BTreeMap<SendId, (usize, Buffer)>,
    /// Receive buffers that the board does not have.
    idle: Vec<Buffer>,
    /// Messages that no step has waited for yet.
    early: BTreeMap<Tag, Early>,
}

impl Messages {
    /// Allocates the buffers and provides those for receives. The port is open.
    pub(super) async fn new<W: Window, S: System>(
        gm: &mut Gm<W, S>,
        group: Group,
        longest_bytes: usize,
        limit_ns: u64,
    ) -> Result<Self, CollectiveError> {
        let whole = u32::try_from(longest_bytes.saturating_add(HEADER)).unwrap_or(u32::MAX);
        let size = size_for(whole);
        let room = capacity(size);
        if u32::from(size) >= SIZES || room < whole {
            let bytes = longest_bytes;
            return Err(CollectiveError::TooLong { bytes, room });
        }
        let members = group.members().iter().copied();
        let mut all = Self {
            ranks: members.enumerate().map(|(rank, at)| (at, rank)).collect(),
            group,
            size,
            room,
            limit_ns,
            kind: Kind::PairwiseExchange,
            number: 0,
            free: buffers(gm, count(SEND_BUFFERS, room), room)?,
            under_way: BTreeMap::new(),
            idle: buffers(gm, count(RECEIVE_BUFFERS, room), room)?,
            early: BTreeMap::new(),
        };
        all.provide(gm).await?;
        Ok(all)
    }

    /// A new operation begins. All members begin the same ones in the same order.
    pub(super) fn begin(&mut self, kind: Kind) {
        self.number = self.number.wrapping_add(1);
        self.kind = kind;
    }

    async fn provide<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
    ) -> Result<(), CollectiveError> {
        let port = self.group.own().port;
        while let Some(buffer) = self.idle.pop() {
            gm.provide_receive_buffer(port, buffer, self.size, Priority::Low, 0)
                .await?;
        }
        Ok(())
    }

    /// Sends a message of a step to a rank.
    pub(super) async fn send<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
        to: usize,
        step: u16,
        content: &[u8],
    ) -> Result<(), CollectiveError> {
        let mut bytes = Vec::with_capacity(HEADER + content.len());
        bytes.extend(self.number.to_be_bytes());
        bytes.extend([self.kind as u8, 0]);
        bytes.extend(step.to_be_bytes());
        bytes.extend(content);
        let (room, length) = (self.room, bytes.len());
        if length > room as usize {
            return Err(CollectiveError::TooLong {
                bytes: length - HEADER,
                room,
            });
        }
        let space = loop {
            match self.free.pop() {
                Some(space) => break space,
                None if self.event(gm).await? => {}
                None => return Err(self.unsent()),
            }
        };
        gm.system_mut()
            .write_memory(space.address, &bytes)
            .map_err(MemoryError::NotMapped)?;
        gm.system_mut().charge_copy(length).await;
        let target = self.group.members()[to];
        let request = Request {
            buffer: Buffer {
                address: space.address,
                length: length as u32,
            },
            size: self.size,
            priority: Priority::Low,
            node: target.node,
            port: target.port,
        };
        let sent = gm.send(self.group.own().port, request).await;
        match sent {
            Ok(id) => {
                self.under_way.insert(id, (to, space));
                Ok(())
            }
            Err(error) => {
                self.free.push(space);
                Err(error.into())
            }
        }
    }

    /// Waits for the message of a step from a rank.
    pub(super) async fn receive<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
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
    pub(super) async fn flush<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
    ) -> Result<(), CollectiveError> {
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

    /// Takes the next event; `false` if there is none in time. Receive buffers are provided again while nothing else is to
    /// do, so that they delay no message.
    async fn event<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
    ) -> Result<bool, CollectiveError> {
        let port = self.group.own().port;
        if !gm.receive_pending(port)? || self.idle.len() as u32 > RECEIVE_BUFFERS.0 {
            self.provide(gm).await?;
        }
        let Some(event) = gm.receive_within(port, self.limit_ns).await? else {
            return Ok(false);
        };
        match event {
            Event::Received(message) => {
                self.message(gm, &message)?;
                // Out of the receive buffer, which the board gets again.
                let length = message.length as usize;
                gm.system_mut().charge_copy(length).await;
            }
            Event::Sent(all) => {
                for (id, status) in all {
                    self.sent(id, status)?;
                }
            }
            Event::Alarm(_) | Event::Completed(_) | Event::Violation(_) => {
                return Err(CollectiveError::Unexpected);
            }
        }
        Ok(true)
    }

    fn sent(&mut self, id: SendId, status: Status) -> Result<(), CollectiveError> {
        let Some((to, space)) = self.under_way.remove(&id) else {
            return Ok(());
        };
        self.free.push(space);
        match status {
            Status::Success => Ok(()),
            status => Err(CollectiveError::Failed { to, status }),
        }
    }

    /// Keeps a message until its step.
    fn message<W: Window, S: System>(
        &mut self,
        gm: &Gm<W, S>,
        message: &Received,
    ) -> Result<(), CollectiveError> {
        self.idle.push(Buffer {
            address: message.buffer,
            length: message.room,
        });
        let sender = Endpoint {
            node: message.node,
            port: message.port,
        };
        let from = self.ranks.get(&sender).copied();
        let from = from.ok_or(CollectiveError::Stranger(sender))?;
        let mut bytes = vec![0; message.length as usize];
        gm.system()
            .read_memory(message.message, &mut bytes)
            .map_err(MemoryError::NotMapped)?;
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

/// Allocates `count` buffers of `length` bytes.
fn buffers<W: Window, S: System>(
    gm: &mut Gm<W, S>,
    count: u32,
    length: u32,
) -> Result<Vec<Buffer>, CollectiveError> {
    let step = length.next_multiple_of(ALIGNMENT);
    let all = gm.allocate_dma(step.checked_mul(count).ok_or(MemoryError::NoMemory)?)?;
    let places = (0..u64::from(count)).rev();
    let buffer = |place| Buffer {
        address: VirtualAddress(all.address.0 + place * u64::from(step)),
        length,
    };
    Ok(places.map(buffer).collect())
}
