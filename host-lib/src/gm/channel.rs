//! A channel: messages between endpoints as bytes, through buffers of the library's own.
//!
//! It owns send buffers and receive buffers of a few sizes on one port. A message to send is copied into a send buffer, which costs time
//! ([`System::charge_copy`]). A message that has come in stays in its receive buffer until the next call; its owner charges what it
//! copies out of it. Messages of high priority have receive buffers of their own. The channel has the port to itself.

use std::collections::BTreeMap;

use defs::gm::packet::SIZES;
use thiserror::Error;

use super::collective::Endpoint;
use super::{
    Buffer, Event, Gm, MemoryError, PortError, Priority, ReceiveError, ReceivedMessage, SendError,
    SendId, SendRequest, Status, capacity, size_for,
};
use crate::window::{System, VirtualAddress};

/// Bytes to which the places of buffers are aligned.
pub(super) const ALIGNMENT: u32 = 64;
/// With so many receive buffers idle they are provided again even if an event waits.
const MOST_IDLE: usize = 4;

/// A channel cannot do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChannelError {
    /// The own port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Memory of buffers.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A send was refused.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A receive was refused.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// The message is longer than the buffers.
    #[error("a message of {bytes} bytes is longer than the buffers of {room}")]
    TooLong {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes of the largest buffer.
        room: u32,
    },
}

/// Buffers of one size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferClass {
    /// Bytes of the longest message.
    pub(crate) longest_bytes: usize,
    /// Buffers for messages under way.
    pub(crate) sends: u32,
    /// Buffers that the board has for messages to come.
    pub(crate) receives: u32,
    /// Buffers that the board has for messages of high priority to come.
    pub(crate) urgent: u32,
}

/// The buffers of a class.
struct ClassBuffers {
    size: u8,
    room: u32,
    /// For further sends.
    free: Vec<Buffer>,
    /// For receives of a priority; the board does not have them.
    idle: Vec<(Buffer, Priority)>,
}

/// Event of a channel.
pub(crate) enum ChannelEvent {
    /// A message has come in.
    Message {
        /// The sending endpoint.
        from: Endpoint,
        /// Bytes of the message, still in the receive buffer: their copy is not charged yet.
        bytes: Vec<u8>,
    },
    /// Sends, puts and gets are complete.
    Sent(Vec<(SendId, Status)>),
    /// Another event, which the channel does not handle.
    Other(Event),
}

/// Messages of one port.
pub(crate) struct Channel {
    port: u8,
    /// From the smallest size to the largest.
    classes: Vec<ClassBuffers>,
    /// Buffers of sends under way, with their classes.
    under_way: BTreeMap<SendId, (usize, Buffer)>,
    /// Time of the copies into send buffers so far.
    copied_ps: u64,
}

impl Channel {
    /// Allocates the buffers and provides those for receives. The port is open; classes come with rising sizes.
    pub(crate) async fn new(
        gm: &mut Gm,
        port: u8,
        classes: &[BufferClass],
    ) -> Result<Self, ChannelError> {
        let mut all = Self {
            port,
            classes: Vec::new(),
            under_way: BTreeMap::new(),
            copied_ps: 0,
        };
        for class in classes {
            let bytes = class.longest_bytes;
            let whole = u32::try_from(bytes).unwrap_or(u32::MAX);
            let size = size_for(whole);
            let room = capacity(size);
            if u32::from(size) >= SIZES || room < whole {
                return Err(ChannelError::TooLong { bytes, room });
            }
            let free = buffers(gm, class.sends, room)?;
            let mut idle = receives(gm, class.receives, room, Priority::Low)?;
            if class.urgent > 0 {
                idle.extend(receives(gm, class.urgent, room, Priority::High)?);
            }
            all.classes.push(ClassBuffers {
                size,
                room,
                free,
                idle,
            });
        }
        all.provide(gm).await?;
        Ok(all)
    }

    /// The port.
    pub(crate) const fn port(&self) -> u8 {
        self.port
    }

    /// Time of the copies into send buffers so far, in picoseconds.
    pub(crate) const fn copied_ps(&self) -> u64 {
        self.copied_ps
    }

    async fn provide(&mut self, gm: &mut Gm) -> Result<(), ChannelError> {
        for class in &mut self.classes {
            while let Some((buffer, priority)) = class.idle.pop() {
                gm.provide_receive_buffer(self.port, buffer, class.size, priority, 0)
                    .await?;
            }
        }
        Ok(())
    }

    /// Sends the parts as one message. `None` if there is no buffer for it now: then events have to be taken.
    pub(crate) async fn send(
        &mut self,
        gm: &mut Gm,
        to: Endpoint,
        priority: Priority,
        parts: &[&[u8]],
    ) -> Result<Option<SendId>, ChannelError> {
        let bytes = parts.concat();
        let length = bytes.len();
        let fits = |class: &ClassBuffers| class.room as usize >= length;
        let Some(at) = self.classes.iter().position(fits) else {
            let room = self.classes.last().map_or(0, |class| class.room);
            let bytes = length;
            return Err(ChannelError::TooLong { bytes, room });
        };
        let Some(space) = self.classes[at].free.pop() else {
            return Ok(None);
        };
        let begin_ps = gm.system().now_ps();
        let written = gm.system_mut().write_memory(space.address, &bytes);
        gm.system_mut().charge_copy(length).await;
        self.copied_ps += gm.system().now_ps() - begin_ps;
        let request = SendRequest {
            buffer: Buffer {
                address: space.address,
                length: length as u32,
            },
            size: self.classes[at].size,
            priority,
            node: to.node,
            port: to.port,
        };
        let sent = match written {
            Ok(()) => gm
                .send(self.port, request)
                .await
                .map_err(ChannelError::Send),
            Err(address) => Err(MemoryError::NotMapped(address).into()),
        };
        match sent {
            Ok(id) => {
                self.under_way.insert(id, (at, space));
                Ok(Some(id))
            }
            Err(error) => {
                self.classes[at].free.push(space);
                Err(error)
            }
        }
    }

    /// Takes the next event, of `limit_ns` at most; `None` if there is none in time. Receive buffers are provided again while
    /// nothing else is to do, so that they delay no message.
    pub(crate) async fn next(
        &mut self,
        gm: &mut Gm,
        limit_ns: u64,
    ) -> Result<Option<ChannelEvent>, ChannelError> {
        if !gm.receive_pending(self.port)? || self.has_many_idle() {
            self.provide(gm).await?;
        }
        let Some(event) = gm.receive_within(self.port, limit_ns).await? else {
            return Ok(None);
        };
        self.handle(gm, event).map(Some)
    }

    /// Takes the next event, if there is one now.
    pub(crate) async fn poll(&mut self, gm: &mut Gm) -> Result<Option<ChannelEvent>, ChannelError> {
        let Some(event) = gm.try_receive(self.port).await? else {
            return Ok(None);
        };
        let arrival = self.handle(gm, event)?;
        self.provide(gm).await?;
        Ok(Some(arrival))
    }

    fn has_many_idle(&self) -> bool {
        self.classes
            .iter()
            .any(|class| class.idle.len() > MOST_IDLE)
    }

    fn handle(&mut self, gm: &Gm, event: Event) -> Result<ChannelEvent, ChannelError> {
        match event {
            Event::Received(message) => {
                let bytes = self.take_bytes(gm, &message)?;
                let from = Endpoint {
                    node: message.node,
                    port: message.port,
                };
                Ok(ChannelEvent::Message { from, bytes })
            }
            Event::Sent(all) => {
                for (id, _) in &all {
                    if let Some((class, space)) = self.under_way.remove(id) {
                        self.classes[class].free.push(space);
                    }
                }
                Ok(ChannelEvent::Sent(all))
            }
            other => Ok(ChannelEvent::Other(other)),
        }
    }

    /// The bytes of a message. Its buffer is idle from now on.
    fn take_bytes(&mut self, gm: &Gm, message: &ReceivedMessage) -> Result<Vec<u8>, ChannelError> {
        let buffer = Buffer {
            address: message.buffer,
            length: message.room,
        };
        let class = self
            .classes
            .iter_mut()
            .find(|class| class.size == message.size);
        if let Some(class) = class {
            class.idle.push((buffer, message.priority));
        }
        let mut bytes = vec![0; message.length as usize];
        gm.system()
            .read_memory(message.message, &mut bytes)
            .map_err(MemoryError::NotMapped)?;
        Ok(bytes)
    }
}

/// Allocates `count` buffers of `length` bytes.
fn buffers(gm: &mut Gm, count: u32, length: u32) -> Result<Vec<Buffer>, ChannelError> {
    let step = length.next_multiple_of(ALIGNMENT);
    let all = gm.allocate_dma(step.checked_mul(count).ok_or(MemoryError::NoMemory)?)?;
    let places = (0..u64::from(count)).rev();
    let buffer = |place| Buffer {
        address: VirtualAddress(all.address.0 + place * u64::from(step)),
        length,
    };
    Ok(places.map(buffer).collect())
}

/// Buffers of a size for messages of a priority to come.
fn receives(
    gm: &mut Gm,
    count: u32,
    length: u32,
    priority: Priority,
) -> Result<Vec<(Buffer, Priority)>, ChannelError> {
    let all = buffers(gm, count, length)?;
    Ok(all.into_iter().map(|buffer| (buffer, priority)).collect())
}

/// Bytes of host memory that `count` buffers for messages of this length take.
pub(crate) fn buffer_bytes(longest_bytes: usize, count: u32) -> u64 {
    let whole = u32::try_from(longest_bytes).unwrap_or(u32::MAX);
    let room = capacity(size_for(whole)).max(1);
    u64::from(count) * u64::from(room.next_multiple_of(ALIGNMENT))
}
