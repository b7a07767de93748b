//! A channel: messages between endpoints as bytes, through buffers of the library's own.
//!
//! It owns send buffers and receive buffers of a few sizes on one port. A message to send is copied into a send buffer, a message that
//! has come in is copied out of its receive buffer, which the board gets again. Copies cost time
//! ([`System::charge_copy`]). The channel has the port to itself.

use std::collections::BTreeMap;

use defs::gm::packet::SIZES;
use thiserror::Error;

use super::collective::Endpoint;
use super::{
    Buffer, Event, Gm, MemoryError, PortError, Priority, ReceiveError, Received, Request,
    SendError, SendId, Status, capacity, size_for,
};
use crate::window::{System, VirtualAddress, Window};

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
pub(crate) struct Class {
    /// Bytes of the longest message.
    pub(crate) longest_bytes: usize,
    /// Buffers for messages under way.
    pub(crate) sends: u32,
    /// Buffers that the board has for messages to come.
    pub(crate) receives: u32,
}

/// The buffers of a class.
struct Buffers {
    size: u8,
    room: u32,
    /// For further sends.
    free: Vec<Buffer>,
    /// For receives; the board does not have them.
    idle: Vec<Buffer>,
}

/// What has happened.
pub(crate) enum Arrival {
    /// A message has come in.
    Message {
        /// Its sender.
        from: Endpoint,
        /// Its bytes.
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
    classes: Vec<Buffers>,
    /// Buffers of sends under way, with their classes.
    under_way: BTreeMap<SendId, (usize, Buffer)>,
}

impl Channel {
    /// Allocates the buffers and provides those for receives. The port is open; classes come with rising sizes.
    pub(crate) async fn new<W: Window, S: System>(
        gm: &mut Gm<W, S>,
        port: u8,
        classes: &[Class],
    ) -> Result<Self, ChannelError> {
        let mut all = Self {
            port,
            classes: Vec::new(),
            under_way: BTreeMap::new(),
        };
        for class in classes {
            let bytes = class.longest_bytes;
            let whole = u32::try_from(bytes).unwrap_or(u32::MAX);
            let size = size_for(whole);
            let room = capacity(size);
            if u32::from(size) >= SIZES || room < whole {
                return Err(ChannelError::TooLong { bytes, room });
            }
            all.classes.push(Buffers {
                size,
                room,
                free: buffers(gm, class.sends, room)?,
                idle: buffers(gm, class.receives, room)?,
            });
        }
        all.provide(gm).await?;
        Ok(all)
    }

    /// The port.
    pub(crate) const fn port(&self) -> u8 {
        self.port
    }

    async fn provide<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
    ) -> Result<(), ChannelError> {
        for class in &mut self.classes {
            while let Some(buffer) = class.idle.pop() {
                gm.provide_receive_buffer(self.port, buffer, class.size, Priority::Low, 0)
                    .await?;
            }
        }
        Ok(())
    }

    /// Sends the parts as one message. `None` if there is no buffer for it now: then events have to be taken.
    pub(crate) async fn send<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
        to: Endpoint,
        parts: &[&[u8]],
    ) -> Result<Option<SendId>, ChannelError> {
        let bytes = parts.concat();
        let length = bytes.len();
        let fits = |class: &Buffers| class.room as usize >= length;
        let Some(at) = self.classes.iter().position(fits) else {
            let room = self.classes.last().map_or(0, |class| class.room);
            let bytes = length;
            return Err(ChannelError::TooLong { bytes, room });
        };
        let Some(space) = self.classes[at].free.pop() else {
            return Ok(None);
        };
        let sent = self.send_from(gm, to, at, space, &bytes).await;
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

    async fn send_from<W: Window, S: System>(
        &self,
        gm: &mut Gm<W, S>,
        to: Endpoint,
        class: usize,
        space: Buffer,
        bytes: &[u8],
    ) -> Result<SendId, ChannelError> {
        gm.system_mut()
            .write_memory(space.address, bytes)
            .map_err(MemoryError::NotMapped)?;
        gm.system_mut().charge_copy(bytes.len()).await;
        let request = Request {
            buffer: Buffer {
                address: space.address,
                length: bytes.len() as u32,
            },
            size: self.classes[class].size,
            priority: Priority::Low,
            node: to.node,
            port: to.port,
        };
        Ok(gm.send(self.port, request).await?)
    }

    /// Takes the next event, of `limit_ns` at most; `None` if there is none in time. Receive buffers are provided again while
    /// nothing else is to do, so that they delay no message.
    pub(crate) async fn next<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
        limit_ns: u64,
    ) -> Result<Option<Arrival>, ChannelError> {
        if !gm.receive_pending(self.port)? || self.has_many_idle() {
            self.provide(gm).await?;
        }
        let Some(event) = gm.receive_within(self.port, limit_ns).await? else {
            return Ok(None);
        };
        self.handle(gm, event).await.map(Some)
    }

    /// Takes the next event, if there is one now.
    pub(crate) async fn poll<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
    ) -> Result<Option<Arrival>, ChannelError> {
        let Some(event) = gm.try_receive(self.port).await? else {
            return Ok(None);
        };
        let arrival = self.handle(gm, event).await?;
        self.provide(gm).await?;
        Ok(Some(arrival))
    }

    fn has_many_idle(&self) -> bool {
        self.classes
            .iter()
            .any(|class| class.idle.len() > MOST_IDLE)
    }

    async fn handle<W: Window, S: System>(
        &mut self,
        gm: &mut Gm<W, S>,
        event: Event,
    ) -> Result<Arrival, ChannelError> {
        match event {
            Event::Received(message) => {
                let bytes = self.take(gm, &message)?;
                let length = bytes.len();
                // Out of the receive buffer, which the board gets again.
                gm.system_mut().charge_copy(length).await;
                let from = Endpoint {
                    node: message.node,
                    port: message.port,
                };
                Ok(Arrival::Message { from, bytes })
            }
            Event::Sent(all) => {
                for (id, _) in &all {
                    if let Some((class, space)) = self.under_way.remove(id) {
                        self.classes[class].free.push(space);
                    }
                }
                Ok(Arrival::Sent(all))
            }
            other => Ok(Arrival::Other(other)),
        }
    }

    /// The bytes of a message. Its buffer is idle from now on.
    fn take<W: Window, S: System>(
        &mut self,
        gm: &Gm<W, S>,
        message: &Received,
    ) -> Result<Vec<u8>, ChannelError> {
        let buffer = Buffer {
            address: message.buffer,
            length: message.room,
        };
        let class = self
            .classes
            .iter_mut()
            .find(|class| class.size == message.size);
        if let Some(class) = class {
            class.idle.push(buffer);
        }
        let mut bytes = vec![0; message.length as usize];
        gm.system()
            .read_memory(message.message, &mut bytes)
            .map_err(MemoryError::NotMapped)?;
        Ok(bytes)
    }
}

/// Allocates `count` buffers of `length` bytes.
fn buffers<W: Window, S: System>(
    gm: &mut Gm<W, S>,
    count: u32,
    length: u32,
) -> Result<Vec<Buffer>, ChannelError> {
    let step = length.next_multiple_of(ALIGNMENT);
    let all = gm.allocate_dma(step.checked_mul(count).ok_or(MemoryError::NoMemory)?)?;
    let places = (0..u64::from(count)).rev();
    let buffer = |place| Buffer {
        address: VirtualAddress(all.address.0 + place * u64::from(step)),
        length,
    };
    Ok(places.map(buffer).collect())
}

/// Bytes of host memory that `count` buffers for messages of this length take.
pub(crate) fn buffer_bytes(longest_bytes: usize, count: u32) -> u64 {
    let whole = u32::try_from(longest_bytes).unwrap_or(u32::MAX);
    let room = capacity(size_for(whole)).max(1);
    u64::from(count) * u64::from(room.next_multiple_of(ALIGNMENT))
}
