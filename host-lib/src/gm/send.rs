//! Sends, puts, gets.

use std::fmt;

use defs::gm::event::Status;
use defs::gm::packet::{SIZES, capacity};
use defs::gm::port::{
    DROP, GET, PORT_COUNT, PUT, RESUME, SEND, SEND_LENGTH, SEND_SLOTS, SEND_TOKEN, SEND_TYPE,
    send_slot,
};

use super::call::Call;
use super::error::SendError;
use super::memory::Buffer;
use super::port::{POLL_NS, POLLS};
use super::{Gm, PortError};
use crate::window::{System, VirtualAddress};

/// Most bytes of a message, a put or a get.
pub const MOST_BYTES: u32 = (1 << 31) - 1;

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

/// Names a send, put or get of a [`Gm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SendId(pub u64);

/// A message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendRequest {
    /// The message, in registered memory. It must not change until the send is complete.
    pub buffer: Buffer,
    /// Size of the receive buffer that it is for ([`size_for`](super::size_for)).
    pub size: u8,
    /// Priority of that buffer.
    pub priority: Priority,
    /// The target.
    pub node: u16,
    /// Port of the target.
    pub port: u8,
}

/// Memory of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Node that has the memory.
    pub node: u16,
    /// A port of the process whose memory it is, which allows it.
    pub port: u8,
    /// Priority of the transfer.
    pub priority: Priority,
    /// Address in the memory of that process, which has registered it.
    pub address: VirtualAddress,
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

/// Content of a send slot.
struct PostedSend {
    kind: u32,
    buffer: Buffer,
    node: u16,
    port: u8,
    priority: Priority,
    /// Address at the target.
    remote: VirtualAddress,
}

impl Gm {
    /// Sends a message from `port`. Its completion is an [`Event::Sent`](super::Event::Sent) with the returned name.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent.
    pub async fn send(&mut self, port: u8, request: SendRequest) -> Result<SendId, SendError> {
        self.post_send(port, request, None).await
    }

    /// Sends a message from `port`. `callback` is called at its completion, while an event is taken.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent and the callback is not called.
    #[doc(alias = "gm_send_with_callback")]
    pub async fn send_with_callback(
        &mut self,
        port: u8,
        request: SendRequest,
        callback: impl FnOnce(Status) + Send + Sync + 'static,
    ) -> Result<SendId, SendError> {
        self.post_send(port, request, Some(Box::new(callback)))
            .await
    }

    /// Sends a message to the port with the same number at another node.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent.
    #[doc(alias = "gm_send_to_peer_with_callback")]
    pub async fn send_to_peer(
        &mut self,
        port: u8,
        buffer: Buffer,
        size: u8,
        priority: Priority,
        node: u16,
    ) -> Result<SendId, SendError> {
        let request = SendRequest {
            buffer,
            size,
            priority,
            node,
            port,
        };
        self.send(port, request).await
    }

    /// Writes bytes into the memory of another node. There is neither a receive token nor an event at the target. At its
    /// completion all bytes are in the target's memory or on the way there from the target's board: a message that is sent
    /// later to the same port with the same priority arrives after them.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent.
    #[doc(alias = "gm_put")]
    #[doc(alias = "gm_directed_send_with_callback")]
    pub async fn put(&mut self, port: u8, buffer: Buffer, to: Remote) -> Result<SendId, SendError> {
        self.post_slot(port, PostedSend::remote(PUT, buffer, to), None)
            .await
    }

    /// Reads bytes of the memory of another node into a buffer. At its completion they are there.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent.
    #[doc(alias = "gm_get")]
    pub async fn get(
        &mut self,
        port: u8,
        buffer: Buffer,
        from: Remote,
    ) -> Result<SendId, SendError> {
        self.post_slot(port, PostedSend::remote(GET, buffer, from), None)
            .await
    }

    /// Lets the stream from `port` to a port of a node go on, which the failure of a send has stopped. The sends that wait in
    /// it are sent.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_resume_sending")]
    pub async fn resume_sending(
        &mut self,
        port: u8,
        node: u16,
        target: u8,
        priority: Priority,
    ) -> Result<(), PortError> {
        let stream = stream(node, target, priority);
        self.post_control(port, RESUME, stream, 0).await
    }

    /// Lets the stream go on like [`resume_sending`](Self::resume_sending), but drops the sends that wait in it: they are
    /// complete with [`Status::Dropped`].
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_drop_sends")]
    pub async fn drop_sends(
        &mut self,
        port: u8,
        node: u16,
        target: u8,
        priority: Priority,
    ) -> Result<(), PortError> {
        let stream = stream(node, target, priority);
        self.post_control(port, DROP, stream, 0).await
    }

    /// Number of free send tokens of a port.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_num_send_tokens")]
    #[doc(alias = "gm_send_token_available")]
    pub fn send_tokens(&mut self, port: u8) -> Result<usize, PortError> {
        Ok(self.port(port)?.free_sends.len())
    }

    async fn post_send(
        &mut self,
        number: u8,
        request: SendRequest,
        callback: Option<Callback>,
    ) -> Result<SendId, SendError> {
        let SendRequest {
            buffer,
            size,
            priority,
            node,
            port,
        } = request;
        let length = buffer.length;
        if u32::from(size) >= SIZES || length > capacity(size.into()) {
            return Err(SendError::TooLong { length, size });
        }
        let slot = PostedSend {
            kind: SEND + u32::from(size),
            buffer,
            node,
            port,
            priority,
            remote: VirtualAddress(0),
        };
        self.post_slot(number, slot, callback).await
    }

    async fn post_slot(
        &mut self,
        number: u8,
        slot: PostedSend,
        callback: Option<Callback>,
    ) -> Result<SendId, SendError> {
        let call = Call::Send {
            port: number,
            node: slot.node,
            target: slot.port,
            priority: slot.priority,
            length_bytes: slot.buffer.length,
        };
        self.system.call_begins(&call);
        let posted = self.write_slot(number, &slot, callback).await;
        self.system.call_returns(&call);
        posted
    }

    async fn write_slot(
        &mut self,
        number: u8,
        slot: &PostedSend,
        callback: Option<Callback>,
    ) -> Result<SendId, SendError> {
        let &PostedSend {
            node, port, buffer, ..
        } = slot;
        let nodes = self.nodes;
        if node >= nodes {
            return Err(SendError::UnknownNode { node, nodes });
        }
        if u32::from(port) >= PORT_COUNT {
            return Err(SendError::UnknownPort { port });
        }
        if buffer.length > MOST_BYTES {
            let length = buffer.length;
            return Err(SendError::TooLong { length, size: 31 });
        }
        self.regions.check(buffer)?;
        let id = SendId(self.next_send);
        let port = self.port(number)?;
        let token = port.free_sends.pop();
        let token = token.ok_or(SendError::NoToken { port: number })?;
        let place = port.next_send_slot;
        port.next_send_slot = (place + 1) % SEND_SLOTS;
        port.sends[usize::from(token)] = Some(Pending { id, callback });
        self.next_send += 1;
        let (at, remote) = (buffer.address.0, slot.remote.0);
        let words = [
            (remote >> 32) as u32,
            remote as u32,
            0,
            token.into(),
            (at >> 32) as u32,
            at as u32,
            buffer.length,
            stream(node, slot.port, slot.priority) | slot.kind,
        ];
        // A message has no address at the target.
        let first = if slot.kind == PUT || slot.kind == GET {
            0
        } else {
            SEND_TOKEN
        };
        self.system.compute(self.overhead_ns).await;
        let begin = send_slot(number.into(), place) + first;
        self.board
            .write_sram_burst(begin, &words[first as usize / 4..])
            .await;
        Ok(id)
    }

    /// Writes a slot that needs no token, and waits until the board has taken it: so the slots never run out.
    pub(super) async fn post_control(
        &mut self,
        number: u8,
        kind: u32,
        stream: u32,
        length: u32,
    ) -> Result<(), PortError> {
        let slot = self.write_control(number, kind, stream, length).await?;
        for _ in 0..POLLS {
            if self.board.read_sram(slot + SEND_TYPE).await == 0 {
                return Ok(());
            }
            self.system.sleep(POLL_NS).await;
        }
        Err(PortError::Silent { port: number })
    }

    /// Writes a slot that needs no token. Returns it.
    pub(super) async fn write_control(
        &mut self,
        number: u8,
        kind: u32,
        stream: u32,
        length: u32,
    ) -> Result<u32, PortError> {
        let port = self.port(number)?;
        let place = port.next_send_slot;
        port.next_send_slot = (place + 1) % SEND_SLOTS;
        let slot = send_slot(number.into(), place);
        self.system.compute(self.overhead_ns).await;
        self.board
            .write_sram_burst(slot + SEND_LENGTH, &[length, stream | kind])
            .await;
        Ok(slot)
    }
}

impl PostedSend {
    const fn remote(kind: u32, buffer: Buffer, remote: Remote) -> Self {
        Self {
            kind,
            buffer,
            node: remote.node,
            port: remote.port,
            priority: remote.priority,
            remote: remote.address,
        }
    }
}

/// Node and subport in a slot's last word.
fn stream(node: u16, port: u8, priority: Priority) -> u32 {
    u32::from(node) << 16 | (u32::from(port) << 1 | priority as u32) << 8
}
