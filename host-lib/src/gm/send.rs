//! Sends.

use std::fmt;

use defs::gm::event::Status;
use defs::gm::packet::{MTU, SIZES, capacity};
use defs::gm::port::{PORT_COUNT, SEND, SEND_SLOTS, SEND_TOKEN, send_slot};

use super::call::Call;
use super::error::SendError;
use super::memory::Buffer;
use super::{Gm, PortError};
use crate::window::{System, Window};

/// Priority of a message. Messages of the two never block each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// The usual one.
    #[doc(alias = "GM_LOW_PRIORITY")]
    Low = 0,
    /// Sent first.
    #[doc(alias = "GM_HIGH_PRIORITY")]
    High = 1,
}

/// Names a send of a [`Gm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SendId(pub u64);

/// A message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The message, in registered memory. It must not change until the send is complete.
    pub buffer: Buffer,
    /// Size of the receive buffer that it is for ([`size_for`](super::size_for)).
    pub size: u8,
    /// Priority of that buffer.
    pub priority: Priority,
    /// The target.
    pub node: u16,
    /// Its port.
    pub port: u8,
}

/// A callback of a send.
pub(super) type Callback = Box<dyn FnOnce(Status) + Send + Sync>;

/// A send that is under way.
pub(super) struct Pending {
    pub(super) id: SendId,
    pub(super) callback: Option<Callback>,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.id).finish()
    }
}

impl<W: Window, S: System> Gm<W, S> {
    /// Sends a message from `port`. Its completion is an [`Event::Sent`](super::Event::Sent) with the returned name.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent.
    pub async fn send(&mut self, port: u8, request: Request) -> Result<SendId, SendError> {
        self.post(port, request, None).await
    }

    /// Sends a message from `port`. `callback` is called at its completion, while an event is taken.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent and the callback is not called.
    #[doc(alias = "gm_send_with_callback")]
    pub async fn send_with_callback(
        &mut self,
        port: u8,
        request: Request,
        callback: impl FnOnce(Status) + Send + Sync + 'static,
    ) -> Result<SendId, SendError> {
        self.post(port, request, Some(Box::new(callback))).await
    }

    /// Number of free send tokens of a port.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_send_token_available")]
    pub fn send_tokens(&mut self, port: u8) -> Result<usize, PortError> {
        Ok(self.port(port)?.free_sends.len())
    }

    fn check(&self, request: &Request) -> Result<(), SendError> {
        let Request {
            buffer: Buffer { length, .. },
            size,
            node,
            port,
            ..
        } = *request;
        let nodes = self.nodes;
        if node >= nodes {
            return Err(SendError::UnknownNode { node, nodes });
        }
        if u32::from(port) >= PORT_COUNT {
            return Err(SendError::UnknownPort { port });
        }
        if u32::from(size) >= SIZES || length > capacity(size.into()) || length > MTU {
            return Err(SendError::TooLong { length, size });
        }
        Ok(())
    }

    async fn post(
        &mut self,
        number: u8,
        request: Request,
        callback: Option<Callback>,
    ) -> Result<SendId, SendError> {
        let call = Call::Send {
            port: number,
            node: request.node,
            target: request.port,
            priority: request.priority,
            length_bytes: request.buffer.length,
        };
        self.system.call_begins(&call);
        let posted = self.write_slot(number, request, callback).await;
        self.system.call_returns(&call);
        posted
    }

    async fn write_slot(
        &mut self,
        number: u8,
        request: Request,
        callback: Option<Callback>,
    ) -> Result<SendId, SendError> {
        self.check(&request)?;
        let place = self.regions.find(request.buffer)?;
        let id = SendId(self.next_send);
        let port = self.port(number)?;
        let token = port.free_sends.pop();
        let token = token.ok_or(SendError::NoToken { port: number })?;
        let slot = port.next_send_slot;
        port.next_send_slot = (slot + 1) % SEND_SLOTS;
        port.sends[usize::from(token)] = Some(Pending { id, callback });
        self.next_send += 1;
        let subport = u32::from(request.port) << 1 | request.priority as u32;
        let kind = SEND + u32::from(request.size);
        let words = [
            token.into(),
            (place.0 >> 32) as u32,
            place.0 as u32,
            request.buffer.length,
            u32::from(request.node) << 16 | subport << 8 | kind,
        ];
        self.system.compute(self.overhead_ns).await;
        let at = send_slot(number.into(), slot) + SEND_TOKEN;
        self.board.write_sram_burst(at, &words).await;
        Ok(id)
    }
}
