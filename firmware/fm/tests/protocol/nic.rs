//! Hardware of the tests: SRAM, host memory, and engines that the test lets go on.

use std::collections::VecDeque;

use defs::fm::map::{RECEIVE_BUFFER_BYTES, RECEIVE_BUFFER_COUNT, RECEIVE_BUFFERS, SRAM_BYTES};
use fm::nic::{Event, Nic};

/// Bytes of host memory.
pub const HOST_BYTES: usize = 1 << 20;

/// A DMA to the host.
struct Transfer {
    host: usize,
    local: usize,
    length: usize,
    cookie: u32,
}

/// A packet that is leaving: what the sender has read so far.
struct Leaving {
    end: u32,
    next: u32,
    bytes: Vec<u8>,
}

pub struct Fake {
    pub sram: Vec<u8>,
    pub host: Vec<u8>,
    events: u32,
    writes: VecDeque<Transfer>,
    writes_done: VecDeque<u32>,
    leaving: Option<Leaving>,
    free: VecDeque<u32>,
    received: VecDeque<(u32, u32)>,
    /// Probes that the firmware has passed, in order.
    pub marks: Vec<Event>,
    /// Reads of send slots since a packet was started last.
    pub loads: std::cell::Cell<u32>,
}

impl Fake {
    pub fn new() -> Self {
        Self {
            sram: vec![0xA5; SRAM_BYTES as usize],
            host: vec![0; HOST_BYTES],
            events: 0,
            writes: VecDeque::new(),
            writes_done: VecDeque::new(),
            leaving: None,
            free: (0..RECEIVE_BUFFER_COUNT)
                .map(|number| RECEIVE_BUFFERS + number * RECEIVE_BUFFER_BYTES)
                .collect(),
            received: VecDeque::new(),
            marks: Vec::new(),
            loads: 0.into(),
        }
    }

    pub fn word(&self, address: u32) -> u32 {
        let at = address as usize;
        assert!(address.is_multiple_of(4), "{address:#x} is not aligned");
        u32::from_be_bytes(self.sram[at..at + 4].try_into().expect("four bytes"))
    }

    pub fn set_word(&mut self, address: u32, value: u32) {
        let at = address as usize;
        assert!(address.is_multiple_of(4), "{address:#x} is not aligned");
        self.sram[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    pub fn host_word(&self, address: u32) -> u32 {
        let at = address as usize;
        u32::from_be_bytes(self.host[at..at + 4].try_into().expect("four bytes"))
    }

    /// The sender reads up to `bytes` more.
    pub fn read(&mut self, bytes: u32) {
        let Some(leaving) = &mut self.leaving else {
            return;
        };
        let end = leaving.end.min(leaving.next + bytes);
        let part = &self.sram[leaving.next as usize..end as usize];
        leaving.bytes.extend(part);
        leaving.next = end;
    }

    /// The packet leaves that was given to the sender, with its route.
    pub fn leave(&mut self) -> Option<Vec<u8>> {
        self.read(u32::MAX >> 1);
        let leaving = self.leaving.take()?;
        self.events |= Self::SENT;
        Some(leaving.bytes)
    }

    /// Whether a packet can come in.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// A packet without route comes in, intact or not.
    pub fn come(&mut self, packet: &[u8], intact: bool) {
        let buffer = self.free.pop_front().expect("a free buffer");
        let at = buffer as usize;
        self.sram[at..at + packet.len()].copy_from_slice(packet);
        let length = if intact { packet.len() as u32 } else { 0 };
        self.received.push_back((buffer, length));
    }

    /// Completes the oldest DMA to the host.
    pub fn write(&mut self) -> bool {
        let Some(transfer) = self.writes.pop_front() else {
            return false;
        };
        let (from, to, length) = (transfer.local, transfer.host, transfer.length);
        self.host[to..to + length].copy_from_slice(&self.sram[from..from + length]);
        self.writes_done.push_back(transfer.cookie);
        self.events |= Self::DMA;
        true
    }
}

impl Nic for Fake {
    const RECEIVED: u32 = 1;
    const SENT: u32 = 2;
    const DMA: u32 = 4;

    fn load(&self, address: u32) -> u32 {
        self.loads.set(self.loads.get() + 1);
        self.word(address)
    }

    fn store(&mut self, address: u32, value: u32) {
        self.set_word(address, value);
    }

    fn events(&mut self) -> u32 {
        let received = u32::from(!self.received.is_empty()) * Self::RECEIVED;
        std::mem::take(&mut self.events) | received
    }

    fn send(&mut self, start: u32, end: u32) {
        assert!(self.leaving.is_none(), "one packet at a time");
        assert!(start < end && end.is_multiple_of(4));
        self.leaving = Some(Leaving {
            end,
            next: start,
            bytes: Vec::new(),
        });
        self.loads.set(0);
    }

    fn has_read(&self, address: u32) -> bool {
        let leaving = self.leaving.as_ref();
        leaving.is_some_and(|leaving| leaving.next >= address)
    }

    fn receive(&mut self) -> Option<(u32, u32)> {
        self.received.pop_front()
    }

    fn release(&mut self, packet: u32) {
        assert!(!self.free.contains(&packet), "{packet:#x} is free");
        self.free.push_back(packet);
    }

    fn start_write(&mut self, host: u32, local: u32, length: u32, cookie: u32) {
        assert!(self.writes.len() < RECEIVE_BUFFER_COUNT as usize);
        self.writes.push_back(Transfer {
            host: host as usize,
            local: local as usize,
            length: length as usize,
            cookie,
        });
    }

    fn write_done(&mut self) -> u32 {
        self.writes_done.pop_front().unwrap_or(0)
    }

    fn mark(&mut self, event: Event, _: u32, _: u32) {
        self.marks.push(event);
    }
}
