//! Processes over GM: packets through a channel, long messages by puts into registered memory.
//!
//! The receiver registers memory for a long message. The sender puts the bytes there and sends a packet behind them: GM keeps the order of
//! both. Data of a program stand for pages of its memory, so bytes of a long message are not charged as copies; that its pages are
//! pinned is charged on both sides.

mod boards;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use defs::gm::event::Status;

use super::transport::{Arrival, BoardCollective, Delivery, Transport, TransportError};
use super::{EAGER_BYTES, HEADER_BYTES};
use crate::gm::channel::{self, BufferClass, Channel, ChannelError};
use crate::gm::collective::{
    CollectiveError, Endpoint, Group, LONGEST_BLOCK_BYTES, MOST_GOSSIP_MEMBERS, channel_bytes,
};
use crate::gm::{Buffer, Event, Gm, MemoryError, Priority, Remote, SendId};
use crate::window::{Computation, PAGE_BYTES, SignalHandler, System};
use boards::Boards;

/// Bytes before a packet: what it is.
const PREFIX_BYTES: usize = 16;
/// A packet of the library.
const PACKET: u64 = 1;
/// Follows the bytes of a long message.
const LANDED: u64 = 2;
/// Bytes of a short packet, with its headers.
const SHORT_BYTES: usize = 1024;
/// Buffers for short packets.
const SHORT: (u32, u32) = (24, 96);
/// Buffers for longer packets.
const LONG: (u32, u32) = (8, 24);
/// Buffers for packets that raise signals, of both sizes.
const URGENT: (u32, u32) = (32, 8);
/// Smallest piece of memory for long messages.
const SMALLEST_LANDING: u32 = 32 << 10;

/// Memory that is prepared for a long message.
#[derive(Debug)]
struct Landing {
    from: usize,
    length: usize,
    memory: Buffer,
}

/// Purpose of a send of GM.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Packet,
    /// Bytes of a long message, from this memory.
    Transfer(Buffer),
}

/// Settings of a [`GmTransport`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GmSettings {
    /// Longest message that is sent at once, in bytes.
    pub eager_bytes: usize,
    /// Processor time that pins a page for a long message, in ns.
    pub pin_page_ns: u64,
    /// Whether packets raise signals ([`Mpi::bypass`](super::Mpi::bypass)): they have buffers of their own.
    pub signals: bool,
    /// Whether boards gather blocks of all processes ([`Config::collectives`](super::Config::collectives)): that takes memory.
    pub gathers: bool,
}

impl Default for GmSettings {
    fn default() -> Self {
        Self {
            eager_bytes: EAGER_BYTES,
            pin_page_ns: 1000,
            signals: false,
            gathers: false,
        }
    }
}

impl GmSettings {
    /// Buffers for packets that raise signals, of both sizes.
    const fn urgent(self) -> (u32, u32) {
        match self.signals {
            true => URGENT,
            false => (0, 0),
        }
    }
}

/// A process over GM, on a port of its own.
pub struct GmTransport {
    gm: Gm,
    channel: Channel,
    members: Vec<Endpoint>,
    ranks: BTreeMap<Endpoint, usize>,
    rank: usize,
    settings: GmSettings,
    under_way: BTreeMap<SendId, (usize, Purpose)>,
    /// Memory that is in use for messages that come in, by its name.
    landings: BTreeMap<u64, Landing>,
    /// Registered memory that is not in use, by its length.
    free: BTreeMap<u32, Vec<Buffer>>,
    /// Packets that follow bytes and found no buffer yet.
    owed: VecDeque<(usize, u64)>,
    /// Arrivals that came while a call waited for something else.
    early: VecDeque<Arrival>,
    boards: Boards,
}

/// Checks how a collective operation of the boards has ended.
fn ended_well(status: Status) -> Result<(), TransportError> {
    match status {
        Status::Success => Ok(()),
        status => Err(CollectiveError::Board { status }.into()),
    }
}

impl fmt::Debug for GmTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GmTransport")
            .field("rank", &self.rank)
            .field("size", &self.members.len())
            .finish_non_exhaustive()
    }
}

impl GmTransport {
    /// The process at `own` of `members`, which all processes name in the same order. Its port is open, and those of the others are before any of
    /// them sends.
    ///
    /// # Errors
    /// [`TransportError`].
    pub async fn new(
        mut gm: Gm,
        members: &[Endpoint],
        own: Endpoint,
        settings: GmSettings,
    ) -> Result<Self, TransportError> {
        let group = Group::new(members, own);
        let group = group.map_err(|error| TransportError::Ranks(error.to_string()))?;
        let urgent = settings.urgent();
        let short = BufferClass {
            longest_bytes: SHORT_BYTES,
            sends: SHORT.0,
            receives: SHORT.1,
            urgent: urgent.0,
        };
        let long = BufferClass {
            longest_bytes: PREFIX_BYTES + HEADER_BYTES + settings.eager_bytes,
            sends: LONG.0,
            receives: LONG.1,
            urgent: urgent.1,
        };
        let classes = [short, long];
        let count = match long.longest_bytes <= SHORT_BYTES {
            true => 1,
            false => 2,
        };
        gm.allow_remote_memory_access(own.port, true)
            .await
            .map_err(ChannelError::Port)?;
        let channel = Channel::new(&mut gm, own.port, &classes[..count]).await?;
        let mut boards = Boards::default();
        if settings.gathers && (2..=MOST_GOSSIP_MEMBERS).contains(&members.len()) {
            boards.open(&mut gm, &group).await?;
        }
        let ranks = members.iter().copied().enumerate();
        Ok(Self {
            gm,
            channel,
            ranks: ranks.map(|(rank, at)| (at, rank)).collect(),
            members: members.to_vec(),
            rank: group.rank(),
            settings,
            under_way: BTreeMap::new(),
            landings: BTreeMap::new(),
            free: BTreeMap::new(),
            owed: VecDeque::new(),
            early: VecDeque::new(),
            boards,
        })
    }

    /// Bytes of host memory that blocks of so many processes take, if boards gather them.
    #[must_use]
    pub const fn gather_bytes(settings: GmSettings, members: usize) -> u64 {
        match settings.gathers {
            true => channel_bytes(members),
            false => 0,
        }
    }

    /// Bytes of host memory that the buffers for packets take.
    #[must_use]
    pub fn buffer_bytes(settings: GmSettings) -> u64 {
        let longest = PREFIX_BYTES + HEADER_BYTES + settings.eager_bytes;
        let urgent = settings.urgent();
        channel::buffer_bytes(SHORT_BYTES, SHORT.0 + SHORT.1 + urgent.0)
            + channel::buffer_bytes(longest, LONG.0 + LONG.1 + urgent.1)
    }

    /// GM's library.
    pub const fn gm(&self) -> &Gm {
        &self.gm
    }

    /// GM's library, for processor time and memory. The port belongs to the transport.
    pub const fn gm_mut(&mut self) -> &mut Gm {
        &mut self.gm
    }

    /// Registered memory for a message.
    fn memory(&mut self, length: usize) -> Result<Buffer, TransportError> {
        let no_memory = TransportError::NoMemory { bytes: length };
        let rounded = u32::try_from(length.next_power_of_two()).map_err(|_| no_memory.clone())?;
        let rounded = rounded.max(SMALLEST_LANDING);
        if let Some(buffer) = self.free.get_mut(&rounded).and_then(Vec::pop) {
            return Ok(buffer);
        }
        match self.gm.allocate_dma(rounded) {
            Ok(buffer) => Ok(buffer),
            Err(MemoryError::NoMemory) => Err(no_memory),
            Err(error) => Err(ChannelError::Memory(error).into()),
        }
    }

    fn give_back(&mut self, memory: Buffer) {
        self.free.entry(memory.length).or_default().push(memory);
    }

    /// Charges the processor time that pins the pages of a message.
    async fn pin(&mut self, length: usize) {
        let pages = (length as u64).div_ceil(PAGE_BYTES);
        let time_ns = pages * self.settings.pin_page_ns;
        self.gm.system_mut().compute(time_ns).await;
    }

    /// Sends the packets that follow bytes of long messages.
    async fn pay(&mut self) -> Result<(), TransportError> {
        while let Some((to, landing)) = self.owed.front().copied() {
            let sent = self.packet(to, (LANDED, landing), Delivery::Quiet, &[], &[]);
            if !sent.await? {
                return Ok(());
            }
            self.owed.pop_front();
        }
        Ok(())
    }

    async fn packet(
        &mut self,
        to: usize,
        (kind, name): (u64, u64),
        delivery: Delivery,
        header: &[u8],
        content: &[u8],
    ) -> Result<bool, TransportError> {
        let mut prefix = [0; PREFIX_BYTES];
        prefix[..8].copy_from_slice(&kind.to_be_bytes());
        prefix[8..].copy_from_slice(&name.to_be_bytes());
        let parts = [&prefix[..], header, content];
        let target = self.members[to];
        let priority = match delivery {
            Delivery::Quiet => Priority::Low,
            Delivery::Signal => Priority::High,
        };
        let sent = self.channel.send(&mut self.gm, target, priority, &parts);
        let sent = sent.await?;
        if let Some(id) = sent {
            self.under_way.insert(id, (to, Purpose::Packet));
        }
        Ok(sent.is_some())
    }

    /// Translates an event of the channel into an arrival.
    async fn arrival(&mut self, arrival: channel::ChannelEvent) -> Result<Arrival, TransportError> {
        match arrival {
            channel::ChannelEvent::Message { from, bytes } => self.message(from, bytes).await,
            channel::ChannelEvent::Sent(all) => {
                for (id, status) in all {
                    let arrival = self.sent(id, status).await?;
                    self.early.extend(arrival);
                }
                Ok(self.early.pop_front().unwrap_or(Arrival::Progress))
            }
            channel::ChannelEvent::Other(Event::Completed(ended))
                if self.boards.is_under_way(ended.operation) =>
            {
                ended_well(ended.status)?;
                let (name, result) = self.boards.ended(&self.gm, ended)?;
                Ok(Arrival::CollectiveEnded { name, result })
            }
            channel::ChannelEvent::Other(_) => Err(TransportError::Unexpected),
        }
    }

    async fn message(
        &mut self,
        sender: Endpoint,
        mut bytes: Vec<u8>,
    ) -> Result<Arrival, TransportError> {
        let stranger = || TransportError::Stranger(sender.to_string());
        let from = self.ranks.get(&sender).copied().ok_or_else(stranger)?;
        let word = |at: usize| {
            let word = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_be_bytes(word))
        };
        let (kind, name) = (word(0), word(8));
        match (kind, name) {
            (Some(PACKET), Some(_)) => Ok(Arrival::Packet {
                from,
                bytes: bytes.split_off(PREFIX_BYTES),
            }),
            (Some(LANDED), Some(landing)) => {
                self.charge_copy(bytes.len()).await;
                let place = self.landings.remove(&landing);
                let place = place.filter(|place| place.from == from);
                let place = place.ok_or_else(stranger)?;
                let mut bytes = vec![0; place.length];
                let read = self
                    .gm
                    .system()
                    .read_memory(place.memory.address, &mut bytes);
                read.map_err(|at| ChannelError::Memory(MemoryError::NotMapped(at)))?;
                self.give_back(place.memory);
                Ok(Arrival::Landed { landing, bytes })
            }
            _ => Err(stranger()),
        }
    }

    /// A send or put is complete.
    async fn sent(
        &mut self,
        id: SendId,
        status: Status,
    ) -> Result<Option<Arrival>, TransportError> {
        let Some((to, purpose)) = self.under_way.remove(&id) else {
            return Ok(None);
        };
        if let Purpose::Transfer(memory) = purpose {
            self.give_back(memory);
        }
        if status != Status::Success {
            let Endpoint { node, port } = self.members[to];
            if status != Status::Dropped {
                for priority in [Priority::Low, Priority::High] {
                    self.gm
                        .drop_sends(self.channel.port(), node, port, priority)
                        .await
                        .map_err(ChannelError::Port)?;
                }
            }
            let why = status.name().to_owned();
            return Ok(Some(Arrival::Failed { to, why }));
        }
        Ok(match purpose {
            Purpose::Packet => None,
            Purpose::Transfer(_) => Some(Arrival::Transferred { transfer: id.0 }),
        })
    }
}

impl Transport for GmTransport {
    fn size(&self) -> usize {
        self.members.len()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn eager_bytes(&self) -> usize {
        self.settings.eager_bytes
    }

    async fn post(
        &mut self,
        to: usize,
        delivery: Delivery,
        header: &[u8],
        content: &[u8],
    ) -> Result<bool, TransportError> {
        self.packet(to, (PACKET, 0), delivery, header, content)
            .await
    }

    async fn next(&mut self, limit_ns: u64) -> Result<Option<Arrival>, TransportError> {
        self.pay().await?;
        if let Some(arrival) = self.early.pop_front() {
            return Ok(Some(arrival));
        }
        match self.channel.next(&mut self.gm, limit_ns).await? {
            Some(arrival) => self.arrival(arrival).await.map(Some),
            None => Ok(None),
        }
    }

    async fn poll(&mut self) -> Result<Option<Arrival>, TransportError> {
        self.pay().await?;
        if let Some(arrival) = self.early.pop_front() {
            return Ok(Some(arrival));
        }
        match self.channel.poll(&mut self.gm).await? {
            Some(arrival) => self.arrival(arrival).await.map(Some),
            None => Ok(None),
        }
    }

    async fn land(&mut self, from: usize, length: usize) -> Result<u64, TransportError> {
        let memory = self.memory(length)?;
        self.pin(length).await;
        let name = memory.address.0;
        let landing = Landing {
            from,
            length,
            memory,
        };
        self.landings.insert(name, landing);
        Ok(name)
    }

    async fn transfer(
        &mut self,
        to: usize,
        landing: u64,
        bytes: &[u8],
    ) -> Result<Option<u64>, TransportError> {
        let port = self.channel.port();
        let tokens = self.gm.send_tokens(port).map_err(ChannelError::Port)?;
        if tokens == 0 || !self.owed.is_empty() {
            return Ok(None);
        }
        let memory = self.memory(bytes.len())?;
        self.pin(bytes.len()).await;
        let written = self.gm.system_mut().write_memory(memory.address, bytes);
        written.map_err(|at| ChannelError::Memory(MemoryError::NotMapped(at)))?;
        let Endpoint { node, port: target } = self.members[to];
        let there = Remote {
            node,
            port: target,
            priority: Priority::Low,
            address: crate::window::VirtualAddress(landing),
        };
        let buffer = Buffer {
            length: bytes.len() as u32,
            ..memory
        };
        let put = self.gm.put(port, buffer, there).await;
        let id = put.map_err(ChannelError::Send)?;
        self.under_way.insert(id, (to, Purpose::Transfer(memory)));
        self.owed.push_back((to, landing));
        self.pay().await?;
        Ok(Some(id.0))
    }

    async fn barrier(&mut self, members: &[usize], limit_ns: u64) -> Result<bool, TransportError> {
        let endpoints: Vec<Endpoint> = members.iter().map(|rank| self.members[*rank]).collect();
        let posted = self.post_barrier(&endpoints).await?;
        loop {
            let Some(arrival) = self.channel.next(&mut self.gm, limit_ns).await? else {
                return Ok(false);
            };
            if let channel::ChannelEvent::Other(Event::Completed(ended)) = &arrival
                && ended.operation == posted
            {
                return ended_well(ended.status).map(|()| true);
            }
            let arrival = self.arrival(arrival).await?;
            self.early.push_back(arrival);
        }
    }

    async fn begin_barrier(&mut self, members: &[usize]) -> Result<Option<u64>, TransportError> {
        let endpoints: Vec<Endpoint> = members.iter().map(|rank| self.members[*rank]).collect();
        self.begin_barrier_on_board(&endpoints).await
    }

    async fn begin_collective(
        &mut self,
        collective: &BoardCollective,
    ) -> Result<Option<u64>, TransportError> {
        self.begin_on_board(collective).await
    }

    fn board_block_bytes(&self) -> usize {
        match self.boards.has_group() {
            true => LONGEST_BLOCK_BYTES,
            false => 0,
        }
    }

    async fn on_signal(&mut self, handler: SignalHandler) -> Result<Computation, TransportError> {
        if !self.settings.signals {
            return Err(TransportError::NoSignals);
        }
        let port = self.channel.port();
        let computation = self.gm.on_signal(port, handler).await;
        let computation = computation.map_err(ChannelError::Port)?;
        computation.ok_or(TransportError::NoSignals)
    }

    async fn enable_signals(&mut self, enabled: bool) -> Result<(), TransportError> {
        let port = self.channel.port();
        let done = self.gm.enable_signals(port, enabled).await;
        Ok(done.map_err(ChannelError::Port)?)
    }

    async fn end_signal(&mut self) {
        self.gm.end_signal().await;
    }

    fn is_flushed(&mut self) -> bool {
        self.under_way.is_empty() && self.owed.is_empty()
    }

    async fn compute(&mut self, nanoseconds: u64) {
        if nanoseconds > 0 {
            self.gm.system_mut().compute(nanoseconds).await;
        }
    }

    async fn charge_copy(&mut self, bytes: usize) {
        self.gm.system_mut().charge_copy(bytes).await;
    }

    async fn charge_arrival(&mut self, bytes: usize) {
        self.charge_copy(PREFIX_BYTES + bytes).await;
    }

    fn copied_ps(&self) -> u64 {
        self.channel.copied_ps()
    }

    fn now_ps(&self) -> u64 {
        self.gm.system().now_ps()
    }
}
