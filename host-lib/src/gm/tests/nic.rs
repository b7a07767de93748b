//! Hardware of the tests: SRAM, host memory, and engines that the test lets go on.

use std::collections::VecDeque;

use defs::gm::atomic::ATOMICS_END;
use defs::gm::map::{BUFFER_BYTES, RECEIVE_BUFFER_COUNT, RECEIVE_BUFFERS};
use defs::gm::packet::HEADER_BYTES;
use gm::nic::{HostAddress, Nic};

/// Bytes of host memory.
pub const HOST_BYTES: usize = 6 << 20;
/// Host addresses have this upper half.
pub const HIGH: u32 = 0x12;

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
}

impl Fake {
    pub fn new() -> Self {
        Self {
            sram: vec![0xA5; ATOMICS_END as usize],
            host: vec![0; HOST_BYTES],
            events: 0,
            reads: VecDeque::new(),
            reads_done: VecDeque::new(),
            writes: VecDeque::new(),
            writes_done: VecDeque::new(),
            sending: None,
            free: (0..RECEIVE_BUFFER_COUNT)
                .map(|number| RECEIVE_BUFFERS + number * BUFFER_BYTES)
                .collect(),
            received: VecDeque::new(),
            taken: Vec::new(),
            timer: false,
            ack_timer: false,
            interrupts: 0,
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

    fn place(host: HostAddress) -> usize {
        assert_eq!(host.high, HIGH);
        host.low as usize
    }

    /// Completes the oldest DMA from the host.
    pub fn read(&mut self) -> bool {
        let Some(transfer) = self.reads.pop_front() else {
            return false;
        };
        let (from, to) = (transfer.host, transfer.local as usize);
        let length = transfer.length as usize;
        self.sram[to..to + length].copy_from_slice(&self.host[from..from + length]);
        if transfer.cookie != 0 {
            self.reads_done.push_back(transfer.cookie);
            self.events |= Self::DMA;
        }
        true
    }

    /// Completes the oldest DMA to the host.
    pub fn write(&mut self) -> bool {
        let Some(transfer) = self.writes.pop_front() else {
            return false;
        };
        let (from, to) = (transfer.local as usize, transfer.host);
        let length = transfer.length as usize;
        self.host[to..to + length].copy_from_slice(&self.sram[from..from + length]);
        if transfer.cookie != 0 {
            self.writes_done.push_back(transfer.cookie);
            self.events |= Self::DMA;
        }
        true
    }

    /// The packet leaves that was given to the sender.
    pub fn leave(&mut self) -> Option<Wire> {
        let packet = self.sending.take()?;
        self.events |= Self::SENT;
        Some(packet)
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
        if fits {
            self.sram[at..at + packet.bytes.len()].copy_from_slice(&packet.bytes);
        }
        let length = match packet.intact && fits {
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

impl Nic for Fake {
    const RECEIVED: u32 = 1;
    const SENT: u32 = 2;
    const DMA: u32 = 4;
    const TICK: u32 = 8;
    const ACK_TICK: u32 = 16;

    fn load(&self, address: u32) -> u32 {
        self.word(address)
    }

    fn store(&mut self, address: u32, value: u32) {
        self.set_word(address, value);
    }

    fn events(&mut self) -> u32 {
        let received = if self.received.is_empty() {
            0
        } else {
            Self::RECEIVED
        };
        std::mem::take(&mut self.events) | received
    }

    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
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

    fn read_done(&mut self) -> u32 {
        self.reads_done.pop_front().unwrap_or(0)
    }

    fn fetch(&mut self, host: HostAddress, local: u32, length: u32) {
        while self.read() {}
        let (from, to) = (Self::place(host), local as usize);
        let length = length as usize;
        self.sram[to..to + length].copy_from_slice(&self.host[from..from + length]);
    }

    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        assert!(
            self.writes.len() < 15 && length > 0,
            "fifteen DMAs to the host at most"
        );
        self.writes.push_back(Transfer {
            host: Self::place(host),
            local,
            length,
            cookie,
        });
    }

    fn await_writes(&mut self) {
        while self.write() {}
    }

    fn write_done(&mut self) -> u32 {
        self.writes_done.pop_front().unwrap_or(0)
    }

    fn send(&mut self, start: u32, header: u32, end: u32) {
        assert!(self.sending.is_none(), "one packet at a time");
        assert!(start <= header && header + HEADER_BYTES <= end);
        let part = |from: u32, to: u32| self.sram[from as usize..to as usize].to_vec();
        self.sending = Some(Wire {
            route: part(start, header),
            bytes: part(header, end),
            intact: true,
        });
    }

    fn receive(&mut self) -> Option<(u32, u32)> {
        let (packet, length) = self.received.pop_front()?;
        self.taken.push(packet);
        Some((packet, length))
    }

    fn release(&mut self, packet: u32) {
        let taken = self.taken.iter().position(|&taken| taken == packet);
        self.taken.remove(taken.expect("a packet that was taken"));
        self.free.push_back(packet);
    }

    fn set_timer(&mut self) {
        assert!(!self.timer, "one timer");
        self.timer = true;
    }

    fn set_ack_timer(&mut self) {
        assert!(!self.ack_timer, "one timer");
        self.ack_timer = true;
    }

    fn interrupt(&mut self) {
        self.interrupts += 1;
    }
}
