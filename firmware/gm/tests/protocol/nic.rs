//! Hardware of the tests: SRAM, host memory, and engines that the test lets go on.

use std::collections::VecDeque;

use defs::gm::collective::COLLECTIVES;
use defs::gm::event::{EVENT_BYTES, FAST_BYTES, NEW, SENT_TOKENS};
use defs::gm::map::{
    BUFFER_BYTES, RECEIVE_BUFFER_COUNT, RECEIVE_BUFFERS, RECEIVE_PAGES, RECEIVE_QUEUES, SEND_PAGES,
    SEND_QUEUES, sram_bytes,
};
use defs::gm::packet::{ACK, DATA, HEADER_BYTES};
use defs::gm::port::{DROP, RESUME, SEND_TYPE};
use gm::nic::HostAddress;

use crate::board::Cpus;

use crate::mutations::Mutation;

/// Bytes of host memory.
pub const HOST_BYTES: usize = 6 << 20;
/// Host addresses have this upper half.
pub const HIGH: u32 = 0x12;

/// Receive buffers of boards with two CPUs, behind GM's map: more than packets can be taken.
const MORE_BUFFERS: u32 = sram_bytes(256);
const MORE_BUFFER_COUNT: u32 = 12;
/// Packets that can be taken and not released.
const TAKEN_LIMIT: usize = 8;

#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    host: usize,
    local: u32,
    length: u32,
    cookie: u32,
}

/// A packet that has left: its route and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    pub route: Vec<u8>,
    pub bytes: Vec<u8>,
    pub intact: bool,
}

pub struct Fake {
    pub sram: Vec<u8>,
    pub host: Vec<u8>,
    events: u32,
    reads: VecDeque<Transfer>,
    reads_done: VecDeque<u32>,
    writes: VecDeque<Transfer>,
    writes_done: VecDeque<u32>,
    sending: Option<Wire>,
    /// Free receive buffers.
    free: VecDeque<u32>,
    /// Received packets that were not taken: address and length.
    received: VecDeque<(u32, u32)>,
    /// Received packets that were taken and not released.
    taken: Vec<u32>,
    timer: bool,
    ack_timer: bool,
    /// Interrupts of the host.
    pub interrupts: u32,
    /// Whether writes to host memory are noted, and from where to where they went.
    pub watch: bool,
    pub written: Vec<(usize, usize)>,
    /// A mistake that the firmware makes.
    pub mutation: Option<Mutation>,
    releases: u32,
}

const _: () = assert!(MORE_BUFFERS + MORE_BUFFER_COUNT * BUFFER_BYTES <= COLLECTIVES);

impl Fake {
    pub const RECEIVED: u32 = 1;
    pub const SENT: u32 = 2;
    /// A DMA from the host is complete.
    pub const READ: u32 = 4;
    /// A DMA to the host is complete.
    pub const WRITE: u32 = 8;
    pub const TICK: u32 = 16;
    pub const ACK_TICK: u32 = 32;
    pub const SENDER_JOB: u32 = 64;
    pub const RECEIVER_JOB: u32 = 128;

    pub fn new(cpus: Cpus) -> Self {
        let (buffers, count) = match cpus {
            Cpus::One | Cpus::Large => (RECEIVE_BUFFERS, RECEIVE_BUFFER_COUNT),
            Cpus::Two | Cpus::Lending => (MORE_BUFFERS, MORE_BUFFER_COUNT),
        };
        Self {
            sram: vec![0xA5; cpus.layout().operations_end as usize],
            host: vec![0; HOST_BYTES],
            events: 0,
            reads: VecDeque::new(),
            reads_done: VecDeque::new(),
            writes: VecDeque::new(),
            writes_done: VecDeque::new(),
            sending: None,
            free: (0..count)
                .map(|number| buffers + number * BUFFER_BYTES)
                .collect(),
            received: VecDeque::new(),
            taken: Vec::new(),
            timer: false,
            ack_timer: false,
            interrupts: 0,
            watch: false,
            written: Vec::new(),
            mutation: None,
            releases: 0,
        }
    }

    pub fn word(&self, address: u32) -> u32 {
        let at = address as usize;
        assert!(
            address.is_multiple_of(4),
            "word at {address:#x} is not aligned"
        );
        u32::from_be_bytes(self.sram[at..at + 4].try_into().expect("in range"))
    }

    pub fn set_word(&mut self, address: u32, value: u32) {
        let at = address as usize;
        assert!(
            address.is_multiple_of(4),
            "word at {address:#x} is not aligned"
        );
        self.sram[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    fn makes(&self, mistake: Mutation) -> bool {
        self.mutation == Some(mistake)
    }

    fn place(host: HostAddress) -> usize {
        assert_eq!(host.high, HIGH);
        host.low as usize
    }

    /// Completes the oldest DMA from the host.
    pub fn read(&mut self) -> bool {
        let Some(transfer) = self.reads.pop_front() else {
            return false;
        };
        let (mut from, to) = (transfer.host, transfer.local as usize);
        from += usize::from(self.makes(Mutation::ReadAddress));
        let length = transfer.length as usize;
        self.sram[to..to + length].copy_from_slice(&self.host[from..from + length]);
        if transfer.cookie != 0 {
            self.reads_done.push_back(transfer.cookie);
            self.events |= Self::READ;
        }
        true
    }

    /// Completes the oldest DMA to the host.
    pub fn write(&mut self) -> bool {
        if self.makes(Mutation::WriteOrder) && self.writes.len() > 1 {
            self.writes.swap(0, 1);
        }
        let Some(mut transfer) = self.writes.pop_front() else {
            return false;
        };
        if self.makes(Mutation::PayloadLost) && transfer.length > FAST_BYTES + EVENT_BYTES {
            transfer.length = 0;
        }
        let (from, to) = (transfer.local as usize, transfer.host);
        let length = transfer.length as usize;
        self.host[to..to + length].copy_from_slice(&self.sram[from..from + length]);
        if self.watch {
            self.written.push((to, to + length));
        }
        if transfer.cookie != 0 {
            self.writes_done.push_back(transfer.cookie);
            self.events |= Self::WRITE;
        }
        true
    }

    /// The packet leaves that was given to the sender.
    pub fn leave(&mut self) -> Option<Wire> {
        let packet = self.sending.take()?;
        self.events |= Self::SENT;
        Some(packet)
    }

    /// Whether no packet is on its way to the network.
    pub fn is_sent(&self) -> bool {
        self.sending.is_none()
    }

    /// Whether a packet can come in.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// A packet comes in.
    pub fn come(&mut self, packet: &Wire) {
        let buffer = self.free.pop_front().expect("a free buffer");
        let at = buffer as usize;
        let fits = packet.bytes.len() <= BUFFER_BYTES as usize - 0x40;
        let taken = packet.intact || self.makes(Mutation::Damage);
        if fits {
            self.sram[at..at + packet.bytes.len()].copy_from_slice(&packet.bytes);
            if !packet.intact {
                self.sram[at + packet.bytes.len() - 1] ^= 0x10;
            }
        }
        let length = match taken && fits {
            true => u32::try_from(packet.bytes.len()).expect("in range"),
            false => 0,
        };
        self.received.push_back((buffer, length));
    }

    /// A tick, if one was asked for.
    pub fn tick(&mut self) -> bool {
        let asked = self.timer;
        self.timer = false;
        if asked {
            self.events |= Self::TICK;
        }
        asked
    }

    /// The time of the delayed acks has come, if it was asked for.
    pub fn ack_tick(&mut self) -> bool {
        let asked = std::mem::take(&mut self.ack_timer);
        if asked {
            self.events |= Self::ACK_TICK;
        }
        asked
    }

    /// Whether every engine is at rest.
    pub fn is_quiet(&self) -> bool {
        self.events == 0
            && self.received.is_empty()
            && self.taken.is_empty()
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.sending.is_none()
    }
}

impl Fake {
    /// A word as a CPU reads it.
    pub fn load(&self, address: u32) -> u32 {
        let value = self.word(address);
        let slot = address.wrapping_sub(SEND_QUEUES) < RECEIVE_QUEUES - SEND_QUEUES;
        if self.makes(Mutation::Drop) && slot && address & 0x1F == SEND_TYPE && value & 0xFF == DROP
        {
            return value - DROP + RESUME;
        }
        value
    }

    /// A CPU writes a word.
    pub fn store(&mut self, address: u32, value: u32) {
        let page = address.wrapping_sub(SEND_PAGES) < RECEIVE_PAGES - SEND_PAGES;
        if self.makes(Mutation::PageFlush) && page && value == 0 {
            return;
        }
        self.set_word(address, value);
    }

    /// Takes those of the events in `mask` that have come up.
    pub fn events(&mut self, mask: u32) -> u32 {
        let events = self.events & mask;
        self.events &= !mask;
        let received = !self.received.is_empty() && self.taken.len() < TAKEN_LIMIT;
        events | if received { Self::RECEIVED & mask } else { 0 }
    }

    /// An event comes up.
    pub fn raise(&mut self, event: u32) {
        self.events |= event;
    }

    pub fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        assert!(
            self.reads.len() < 5 && length > 0,
            "five DMAs from the host at most"
        );
        self.reads.push_back(Transfer {
            host: Self::place(host),
            local,
            length,
            cookie,
        });
    }

    pub fn read_done(&mut self) -> u32 {
        self.reads_done.pop_front().unwrap_or(0)
    }

    pub fn fetch(&mut self, host: HostAddress, local: u32, length: u32) {
        while self.read() {}
        let (from, to) = (Self::place(host), local as usize);
        let length = length as usize;
        self.sram[to..to + length].copy_from_slice(&self.host[from..from + length]);
    }

    pub fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        assert!(
            self.writes.len() < 3 * self.taken.len() + 10 && length > 0,
            "three DMAs to the host for each packet, and ten, at most"
        );
        let last = (local + length - 4) as usize;
        if self.sram[last + 3] == (NEW | SENT_TOKENS) as u8 && length <= 64 {
            if self.makes(Mutation::Token) {
                self.sram[last] ^= 1;
            }
            if self.makes(Mutation::Status) {
                self.sram[last + 1] = 0;
            }
        }
        self.writes.push_back(Transfer {
            host: Self::place(host),
            local,
            length,
            cookie,
        });
    }

    /// All DMAs to the host take place.
    pub fn await_writes(&mut self) {
        while self.write() {}
    }

    pub fn write_done(&mut self) -> u32 {
        self.writes_done.pop_front().unwrap_or(0)
    }

    pub fn send(&mut self, start: u32, header: u32, end: u32) {
        assert!(self.sending.is_none(), "one packet at a time");
        assert!(start <= header && header + HEADER_BYTES <= end);
        let part = |from: u32, to: u32| self.sram[from as usize..to as usize].to_vec();
        let mut bytes = part(header, end);
        let subtype = self.word(header) & 0xFFFF;
        let message = (DATA + 5..DATA + 32).contains(&subtype);
        match self.mutation {
            Some(Mutation::AckSession) if subtype == ACK => bytes[9] ^= 1,
            Some(Mutation::AckAhead) if subtype == ACK => bytes[11] += 1,
            Some(Mutation::Size) if message => bytes[3] -= 1,
            Some(Mutation::SenderPort) if message => bytes[15] ^= 2,
            _ => {}
        }
        self.sending = Some(Wire {
            route: part(start, header),
            bytes,
            intact: true,
        });
    }

    pub fn receive(&mut self) -> Option<(u32, u32)> {
        let (packet, length) = self.received.pop_front()?;
        self.taken.push(packet);
        Some((packet, length))
    }

    pub fn release(&mut self, packet: u32) {
        self.releases += 1;
        if self.makes(Mutation::Release) && self.releases.is_multiple_of(4) {
            return;
        }
        let taken = self.taken.iter().position(|&taken| taken == packet);
        self.taken.remove(taken.expect("a packet that was taken"));
        self.free.push_back(packet);
    }

    pub fn set_timer(&mut self) {
        assert!(!self.timer, "one timer");
        self.timer = !self.makes(Mutation::Timer);
    }

    pub fn set_ack_timer(&mut self) {
        assert!(!self.ack_timer, "one timer");
        self.ack_timer = true;
    }
}
