//! Hardware of the tests: SRAM, host memory, and engines that the test lets go on.

use std::collections::VecDeque;

use defs::gm::map::{BUFFER_BYTES, SRAM_BYTES};
use defs::gm::packet::HEADER_BYTES;
use gm::nic::{HostAddress, Nic};

/// Bytes of host memory.
pub const HOST_BYTES: usize = 4 << 20;
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
    reads_done: u32,
    writes: VecDeque<Transfer>,
    writes_done: VecDeque<u32>,
    sending: Option<Wire>,
    armed: Option<u32>,
    length: u32,
    timer: bool,
}

impl Fake {
    pub fn new() -> Self {
        Self {
            sram: vec![0xA5; SRAM_BYTES as usize],
            host: vec![0; HOST_BYTES],
            events: 0,
            reads: VecDeque::new(),
            reads_done: 0,
            writes: VecDeque::new(),
            writes_done: VecDeque::new(),
            sending: None,
            armed: None,
            length: 0,
            timer: false,
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
        self.reads_done += 1;
        self.events |= Self::DMA;
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
    pub const fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// A packet comes in.
    pub fn come(&mut self, packet: &Wire) {
        let buffer = self.armed.take().expect("armed");
        let at = buffer as usize;
        let fits = packet.bytes.len() <= BUFFER_BYTES as usize - 0x40;
        if fits {
            self.sram[at..at + packet.bytes.len()].copy_from_slice(&packet.bytes);
        }
        self.length = match packet.intact && fits {
            true => u32::try_from(packet.bytes.len()).expect("in range"),
            false => 0,
        };
        self.events |= Self::RECEIVED;
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

    /// Whether every engine is at rest.
    pub fn is_quiet(&self) -> bool {
        self.events == 0
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

    fn load(&self, address: u32) -> u32 {
        self.word(address)
    }

    fn store(&mut self, address: u32, value: u32) {
        self.set_word(address, value);
    }

    fn events(&mut self) -> u32 {
        std::mem::take(&mut self.events)
    }

    fn start_read(&mut self, host: HostAddress, local: u32, length: u32) {
        assert!(
            self.reads.len() < 2 && length > 0,
            "two DMAs from the host at most"
        );
        self.reads.push_back(Transfer {
            host: Self::place(host),
            local,
            length,
            cookie: 0,
        });
    }

    fn read_done(&mut self) -> bool {
        let done = self.reads_done > 0;
        self.reads_done -= u32::from(done);
        done
    }

    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32) {
        assert!(
            self.writes.len() < 6 && length > 0,
            "six DMAs to the host at most"
        );
        self.writes.push_back(Transfer {
            host: Self::place(host),
            local,
            length,
            cookie,
        });
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

    fn arm(&mut self, buffer: u32) {
        assert!(self.armed.is_none(), "armed twice");
        assert!(buffer.is_multiple_of(8));
        self.armed = Some(buffer);
    }

    fn received(&mut self, _buffer: u32) -> u32 {
        self.length
    }

    fn set_timer(&mut self) {
        assert!(!self.timer, "one timer");
        self.timer = true;
    }
}
