//! Processes over EMP, one on each node.
//!
//! Packets go into receives that are posted for any node. EMP matches the messages of a sender in the order in which it sent them, so the
//! receives are looked at in the order in which they were posted. Few packets to a node are under way at a time. For a long message the receiver posts a receive with a
//! tag of its own, which it tells to the sender: the bytes go from memory to memory.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use super::HEADER_BYTES;
use super::transport::{Arrival, Delivery, Transport, TransportError};
use crate::emp::{
    AnyHandle, Buffer, Completion, Direction, Emp, PostError, Source, Tag, TransferError,
};
use crate::window::{PAGE_BYTES, System, VirtualAddress};

/// Tag of packets. Long messages have the others.
const PACKET_TAG: u16 = 0;
/// Buffers for packets that come in.
const RECEIVES: u32 = 64;
/// Buffers for packets under way.
const SENDS: u32 = 32;
/// Packets under way to one node. EMP takes a node's messages in their order only and drops later ones: after a loss most of many would be
/// sent again without use.
const UNDER_WAY: u32 = 4;
/// Smallest piece of memory for long messages.
const SMALLEST_LANDING: u64 = 32 << 10;

/// Purpose of a posted transfer.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// The oldest receive of a packet.
    Packet(Buffer),
    /// A packet to a rank.
    Sent(usize, Buffer),
    /// The bytes of a long message that comes in.
    Landing(u64, Buffer),
    /// The bytes of an own long message, with its name.
    Transfer(usize, u64, Buffer),
}

/// A process over EMP.
pub struct EmpTransport {
    emp: Emp,
    /// The nodes, by rank.
    members: Vec<u16>,
    rank: usize,
    /// Transfers that are polled, and what they are for.
    handles: Vec<AnyHandle>,
    purposes: Vec<Purpose>,
    /// Receives of packets behind the oldest one.
    receives: VecDeque<(AnyHandle, Buffer)>,
    /// Sends that are not polled yet.
    sends: VecDeque<(AnyHandle, Purpose)>,
    /// Buffers for further packets.
    free: Vec<Buffer>,
    /// Packets under way, by rank.
    under_way: Vec<u32>,
    /// Time of the copies into send buffers so far.
    copied_ps: u64,
    /// Memory that is not in use, by its length.
    memory: BTreeMap<u64, Vec<VirtualAddress>>,
    next_tag: u16,
    next_transfer: u64,
    room: u32,
}

impl fmt::Debug for EmpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmpTransport")
            .field("rank", &self.rank)
            .finish_non_exhaustive()
    }
}

impl EmpTransport {
    /// The process of a rank of `members`, the nodes by rank, which all processes name in the same order; packets hold up to
    /// `eager_bytes` behind their headers.
    ///
    /// # Errors
    /// [`TransportError`].
    pub async fn new(
        emp: Emp,
        members: &[u16],
        rank: usize,
        eager_bytes: usize,
    ) -> Result<Self, TransportError> {
        if let Some(node) = members.iter().find(|node| **node >= emp.nodes()) {
            return Err(TransportError::Ranks(format!("there is no node {node}")));
        }
        let whole = HEADER_BYTES.saturating_add(eager_bytes);
        let room = u32::try_from(whole).map_err(|_| TransportError::NoMemory { bytes: whole })?;
        let mut transport = Self {
            emp,
            members: members.to_vec(),
            rank,
            handles: Vec::new(),
            purposes: Vec::new(),
            receives: VecDeque::new(),
            sends: VecDeque::new(),
            free: Vec::new(),
            under_way: vec![0; members.len()],
            copied_ps: 0,
            memory: BTreeMap::new(),
            next_tag: PACKET_TAG,
            next_transfer: 0,
            room,
        };
        for _ in 0..SENDS {
            let buffer = transport.buffer()?;
            transport.free.push(buffer);
        }
        for _ in 0..RECEIVES {
            let buffer = transport.buffer()?;
            transport.provide(buffer).await?;
        }
        Ok(transport)
    }

    /// EMP's library.
    pub const fn emp(&self) -> &Emp {
        &self.emp
    }

    /// Bytes of host memory that the buffers for packets take.
    #[must_use]
    pub fn buffer_bytes(eager_bytes: usize) -> u64 {
        let room = HEADER_BYTES.saturating_add(eager_bytes) as u64;
        u64::from(SENDS + RECEIVES) * room.next_multiple_of(PAGE_BYTES)
    }

    fn buffer(&mut self) -> Result<Buffer, TransportError> {
        let length = self.room;
        let address = self.allocate(length.into())?;
        Ok(Buffer { address, length })
    }

    fn allocate(&mut self, bytes: u64) -> Result<VirtualAddress, TransportError> {
        let found = self.emp.system_mut().allocate(bytes);
        let bytes = bytes as usize;
        found.ok_or(TransportError::NoMemory { bytes })
    }

    /// Memory for a long message.
    fn landing_memory(&mut self, length: usize) -> Result<Buffer, TransportError> {
        let rounded = (length as u64).next_power_of_two().max(SMALLEST_LANDING);
        let free = self.memory.get_mut(&rounded).and_then(Vec::pop);
        let address = match free {
            Some(address) => address,
            None => self.allocate(rounded)?,
        };
        let length = length as u32;
        Ok(Buffer { address, length })
    }

    fn give_back(&mut self, buffer: Buffer) {
        let rounded = u64::from(buffer.length).next_power_of_two();
        let rounded = rounded.max(SMALLEST_LANDING);
        self.memory.entry(rounded).or_default().push(buffer.address);
    }

    /// Posts a receive for a packet. Only the oldest one is polled.
    async fn provide(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        let tag = Tag::Value(PACKET_TAG);
        let receive = self.emp.post_receive(Source::Any, tag, buffer).await?;
        self.receives.push_back((receive.into(), buffer));
        self.poll_oldest();
        Ok(())
    }

    fn poll_oldest(&mut self) {
        let is_polled = |one: &Purpose| matches!(one, Purpose::Packet(_));
        if !self.purposes.iter().any(is_polled)
            && let Some((handle, buffer)) = self.receives.pop_front()
        {
            self.handles.push(handle);
            self.purposes.push(Purpose::Packet(buffer));
        }
    }

    /// Sends are looked at when their buffers are needed, or all have to leave: each poll takes time on the bus.
    fn poll_sends(&mut self) {
        while let Some((handle, purpose)) = self.sends.pop_front() {
            self.handles.push(handle);
            self.purposes.push(purpose);
        }
    }

    fn read(&self, buffer: Buffer, length: u32) -> Result<Vec<u8>, TransportError> {
        let mut bytes = vec![0; length.min(buffer.length) as usize];
        let read = self.emp.system().read_memory(buffer.address, &mut bytes);
        read.map_err(|_| TransportError::Unexpected)?;
        Ok(bytes)
    }

    /// Translates the end of a transfer into an arrival.
    async fn ended(
        &mut self,
        purpose: Purpose,
        result: Result<Completion, TransferError>,
    ) -> Result<Arrival, TransportError> {
        Ok(match (purpose, result) {
            (Purpose::Packet(buffer), Ok(message)) => {
                let bytes = self.read(buffer, message.length)?;
                self.provide(buffer).await?;
                let from = self.rank_of(message.node);
                let stranger = || TransportError::Stranger(format!("node {}", message.node));
                let from = from.ok_or_else(stranger)?;
                Arrival::Packet { from, bytes }
            }
            (Purpose::Packet(buffer), Err(_)) => {
                // Its sender has given up, and knows.
                self.provide(buffer).await?;
                Arrival::Progress
            }
            (Purpose::Landing(landing, buffer), Ok(message)) => {
                let bytes = self.read(buffer, message.length)?;
                self.give_back(buffer);
                Arrival::Landed { landing, bytes }
            }
            (Purpose::Sent(to, buffer), Ok(_)) => {
                self.under_way[to] -= 1;
                let length = self.room;
                self.free.push(Buffer { length, ..buffer });
                Arrival::Progress
            }
            (Purpose::Transfer(_, transfer, buffer), Ok(_)) => {
                self.give_back(buffer);
                Arrival::Transferred { transfer }
            }
            (Purpose::Landing(..), Err(error)) => {
                let to = match error.peer {
                    Source::Node(node) => self.rank_of(node),
                    Source::Any => None,
                };
                let to = to.unwrap_or(self.rank);
                let why = error.failure.to_string();
                Arrival::Failed { to, why }
            }
            (Purpose::Sent(to, _) | Purpose::Transfer(to, ..), Err(error)) => {
                let why = error.failure.to_string();
                Arrival::Failed { to, why }
            }
        })
    }

    fn node(&self, rank: usize) -> Result<u16, TransportError> {
        let node = self.members.get(rank).copied();
        node.ok_or_else(|| TransportError::Ranks(format!("there is no rank {rank}")))
    }

    fn rank_of(&self, node: u16) -> Option<usize> {
        self.members.iter().position(|member| *member == node)
    }

    /// The next tag of a long message.
    fn tag(&mut self) -> u16 {
        self.next_tag = match self.next_tag {
            u16::MAX => PACKET_TAG + 1,
            tag => tag + 1,
        };
        self.next_tag
    }

    fn is_full(error: &PostError) -> bool {
        matches!(error, PostError::NoDescriptors { .. })
    }
}

impl Transport for EmpTransport {
    fn size(&self) -> usize {
        self.members.len()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn eager_bytes(&self) -> usize {
        self.room as usize - HEADER_BYTES
    }

    async fn post(
        &mut self,
        to: usize,
        _: Delivery,
        header: &[u8],
        content: &[u8],
    ) -> Result<bool, TransportError> {
        let node = self.node(to)?;
        let free = match self.under_way[to] < UNDER_WAY {
            true => self.free.pop(),
            false => None,
        };
        let Some(buffer) = free else {
            self.poll_sends();
            return Ok(false);
        };
        let bytes = [header, content].concat();
        let written = self.emp.system_mut().write_memory(buffer.address, &bytes);
        written.map_err(|_| TransportError::Unexpected)?;
        let begin_ps = self.now_ps();
        self.emp.system_mut().charge_copy(bytes.len()).await;
        self.copied_ps += self.now_ps() - begin_ps;
        let packet = Buffer {
            length: bytes.len() as u32,
            ..buffer
        };
        match self.emp.post_transmit(node, PACKET_TAG, packet).await {
            Ok(sent) => {
                let purpose = Purpose::Sent(to, buffer);
                self.sends.push_back((sent.into(), purpose));
                self.under_way[to] += 1;
                Ok(true)
            }
            Err(error) => {
                self.free.push(buffer);
                match Self::is_full(&error) {
                    true => {
                        self.poll_sends();
                        Ok(false)
                    }
                    false => Err(error.into()),
                }
            }
        }
    }

    async fn next(&mut self, limit_ns: u64) -> Result<Option<Arrival>, TransportError> {
        let waited = self.emp.wait_any_within(&mut self.handles, limit_ns).await;
        let Some((index, result)) = waited else {
            // Nothing has come: a send may have failed.
            self.poll_sends();
            return self.poll().await;
        };
        let purpose = self.purposes.remove(index);
        if let Purpose::Packet(_) = purpose {
            self.poll_oldest();
        }
        self.ended(purpose, result).await.map(Some)
    }

    async fn poll(&mut self) -> Result<Option<Arrival>, TransportError> {
        for index in 0..self.handles.len() {
            let handle = self.handles.remove(index);
            match self.emp.test(handle).await {
                crate::emp::Progress::Pending(handle) => self.handles.insert(index, handle),
                crate::emp::Progress::Complete(result) => {
                    let purpose = self.purposes.remove(index);
                    if let Purpose::Packet(_) = purpose {
                        self.poll_oldest();
                    }
                    return self.ended(purpose, result).await.map(Some);
                }
            }
        }
        Ok(None)
    }

    async fn land(&mut self, from: usize, length: usize) -> Result<u64, TransportError> {
        let node = self.node(from)?;
        let buffer = self.landing_memory(length)?;
        let tag = self.tag();
        let receive = self
            .emp
            .post_receive(Source::Node(node), Tag::Value(tag), buffer)
            .await?;
        let landing = u64::from(node) << 16 | u64::from(tag);
        self.handles.push(receive.into());
        self.purposes.push(Purpose::Landing(landing, buffer));
        Ok(landing)
    }

    async fn transfer(
        &mut self,
        to: usize,
        landing: u64,
        bytes: &[u8],
    ) -> Result<Option<u64>, TransportError> {
        let node = self.node(to)?;
        if self.emp.free_descriptors(Direction::Transmit) == 0 {
            self.poll_sends();
            return Ok(None);
        }
        let buffer = self.landing_memory(bytes.len())?;
        let written = self.emp.system_mut().write_memory(buffer.address, bytes);
        written.map_err(|_| TransportError::Unexpected)?;
        let sent = self.emp.post_transmit(node, landing as u16, buffer).await?;
        let name = self.next_transfer;
        self.next_transfer += 1;
        self.handles.push(sent.into());
        self.purposes.push(Purpose::Transfer(to, name, buffer));
        Ok(Some(name))
    }

    fn is_flushed(&mut self) -> bool {
        self.poll_sends();
        self.free.len() == SENDS as usize
    }

    async fn compute(&mut self, nanoseconds: u64) {
        if nanoseconds > 0 {
            self.emp.system_mut().compute(nanoseconds).await;
        }
    }

    async fn charge_copy(&mut self, bytes: usize) {
        self.emp.system_mut().charge_copy(bytes).await;
    }

    async fn charge_arrival(&mut self, bytes: usize) {
        self.charge_copy(bytes).await;
    }

    fn copied_ps(&self) -> u64 {
        self.copied_ps
    }

    fn now_ps(&self) -> u64 {
        self.emp.system().now_ps()
    }
}
