//! A NIC without a chip: SRAM, two DMA channels, frame buffers and a MAC that obey the same pointer
//! rules as the Tigon2 (docs/tigon2-io.md, sections 5 and 6), moved by `step_...` calls.
//!
//! It detects errors that hardware would not report: released memory is poisoned, a frame whose DMA failed
//! must be void when it is sent, and buffer pointers must only move forward.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

mod side;

use defs::emp::frame::{Kind, WORD_FRAME_EPOCH, WORD_TYPE_KIND};
use defs::tigon2::map::mailbox_low;
use emp::jobs::Queue;
use emp::nic::{Event, HostAddress};
use rings::{Region, ReleaseOrder, TxSpace};

use super::memory::HostMemory;

pub use side::Side;

/// Address of the protocol's shared structures.
pub const SHARED_BASE: u32 = 0x4000;
const TX: Region = Region::new(0x4_0000, 0x4_8000);
const RX: Region = Region::new(0x6_0000, 0x6_8000);
const SRAM_BYTES: usize = 0x8_0000;
const RING_SLOTS: usize = 63;
const MAC_SLOTS: usize = 255;
const RX_ALIGN: u32 = 64;
const MINIMUM_FRAME: usize = 60;

#[derive(Clone, Copy)]
struct Dma {
    host: u64,
    local: u32,
    length: u32,
    releases: bool,
    cookie: u32,
    failed: bool,
}

/// One DMA channel and its ring.
#[derive(Default)]
struct Channel {
    queued: VecDeque<Dma>,
    done: VecDeque<Dma>,
    stopped: bool,
    order: ReleaseOrder,
}

impl Channel {
    fn room(&self) -> u32 {
        (RING_SLOTS - self.queued.len() - self.done.len()) as u32
    }

    fn push(&mut self, dma: Dma) {
        assert!(self.room() > 0, "a DMA was pushed into a full ring");
        assert!(
            (1..=65_535).contains(&dma.length),
            "{} bytes by DMA",
            dma.length
        );
        if dma.releases {
            self.order.dma_queued();
        }
        self.queued.push_back(dma);
    }

    fn skip_failed(&mut self) {
        assert!(self.stopped && self.done.is_empty());
        self.stopped = false;
        let mut dma = self.queued.pop_front().expect("a DMA has failed");
        dma.failed = true;
        self.done.push_back(dma);
    }
}

struct TxFrame {
    start: u32,
    length: u32,
}

struct RxSlot {
    start: u32,
    length: u32,
    intact: bool,
}

/// An event that the NIC reported.
pub struct Entry {
    pub event: Event,
    pub peer: u32,
    pub id: u32,
    pub third: u32,
    /// Epoch of the last frame taken by the firmware; for events about a frame, that frame's epoch.
    pub epoch: u16,
}

/// The NIC: includes its host memory and a queue as its wire.
pub struct Chip {
    sram: Vec<u8>,
    pub host: HostMemory,
    pub now_us: u32,
    timer_at: [Option<u32>; 2],
    mailboxes: [u32; 2],
    /// CPU B handles its mailbox events.
    pub b_listens: bool,
    send_event: [bool; 2],
    /// Event bits of the queues between the CPUs.
    bells: [bool; Queue::ALL.len()],
    locked: bool,
    reads: Channel,
    writes: Channel,
    waiting: Cell<bool>,
    tx_space: TxSpace,
    tx_producer: u32,
    tx_consumer: u32,
    tx_frames: VecDeque<TxFrame>,
    reserved: u32,
    /// Frames whose payload is not in SRAM because a DMA failed.
    tx_failed: Vec<(u32, u32)>,
    rx_frames: VecDeque<RxSlot>,
    rx_taken: VecDeque<(u32, u32)>,
    rx_producer: u32,
    rx_consumer: u32,
    /// Epoch of the last frame taken.
    rx_epoch: u16,
    pub mac: u64,
    /// Frames on the wire.
    pub sent: VecDeque<Vec<u8>>,
    pub events: Cell<[u32; 16]>,
    /// All events in order, if a log was requested.
    pub log: Option<RefCell<Vec<Entry>>>,
}

impl Chip {
    pub fn new(mac: u64, host_bytes: usize) -> Self {
        Self {
            sram: vec![0; SRAM_BYTES],
            host: HostMemory::new(host_bytes),
            now_us: u32::MAX - 20_000,
            timer_at: [None; 2],
            mailboxes: [0; 2],
            b_listens: false,
            send_event: [false; 2],
            bells: [false; Queue::ALL.len()],
            locked: false,
            reads: Channel::default(),
            writes: Channel::default(),
            waiting: Cell::new(false),
            tx_space: TxSpace::new(TX),
            tx_producer: TX.base(),
            tx_consumer: TX.base(),
            tx_frames: VecDeque::new(),
            reserved: 0,
            tx_failed: Vec::new(),
            rx_frames: VecDeque::new(),
            rx_taken: VecDeque::new(),
            rx_producer: RX.base(),
            rx_consumer: RX.base(),
            rx_epoch: 0,
            mac,
            sent: VecDeque::new(),
            events: Cell::new([0; 16]),
            log: None,
        }
    }

    pub fn timer_due(&self, cpu: usize) -> bool {
        self.timer_at[cpu].is_some_and(|at| self.now_us.wrapping_sub(at) < 1 << 31)
    }
    pub fn timer_armed(&self) -> bool {
        self.timer_at != [None; 2]
    }
    /// Time until a timer expires, in us; `None` while both are masked.
    pub fn timer_in(&self) -> Option<u32> {
        let left = |at: u32| at.wrapping_sub(self.now_us);
        let times = self.timer_at.into_iter().flatten().map(left);
        times
            .map(|left| if left < 1 << 31 { left } else { 0 })
            .min()
    }
    pub fn mailbox_written(&self, cpu: usize) -> bool {
        self.mailboxes[cpu] != 0
    }
    pub fn has_jobs(&self, queue: Queue) -> bool {
        self.bells[queue as usize]
    }
    pub fn read_stopped(&self) -> bool {
        self.reads.stopped
    }
    pub fn write_stopped(&self) -> bool {
        self.writes.stopped
    }
    pub fn read_done(&self) -> bool {
        !self.reads.done.is_empty()
    }
    pub fn write_done(&self) -> bool {
        !self.writes.done.is_empty()
    }
    pub fn frame_received(&self) -> bool {
        !self.rx_frames.is_empty()
    }
    pub fn send_raised(&self, cpu: usize) -> bool {
        self.send_event[cpu]
    }

    pub fn load(&self, address: u32) -> u32 {
        assert!(address.is_multiple_of(4), "unaligned load at {address:#x}");
        word_of(&self.sram[address as usize..address as usize + 4], 0)
    }

    pub fn store(&mut self, address: u32, value: u32) {
        assert!(address.is_multiple_of(4), "unaligned store at {address:#x}");
        self.sram[address as usize..address as usize + 4].copy_from_slice(&value.to_be_bytes());
    }

    pub fn now_us(&self) -> u32 {
        self.now_us
    }

    /// Whether nothing is queued or in progress in the NIC.
    pub fn is_quiet(&self) -> bool {
        self.reads.queued.is_empty()
            && self.writes.queued.is_empty()
            && !self.read_done()
            && !self.write_done()
            && self.tx_frames.is_empty()
            && self.rx_frames.is_empty()
            && self.sent.is_empty()
            && self.mailboxes == [0; 2]
            && !self.send_event.contains(&true)
            && !self.bells.contains(&true)
    }

    /// Whether both buffers are empty: every frame was sent or freed.
    pub fn buffers_are_free(&self) -> bool {
        self.tx_frames.is_empty() && self.rx_taken.is_empty() && self.rx_frames.is_empty()
    }

    pub fn write_mailbox(&mut self, mailbox: u32, value: u32) {
        self.store(mailbox_low(mailbox), value);
        self.mailboxes[0] |= 1 << mailbox;
        if self.b_listens {
            self.mailboxes[1] |= 1 << mailbox;
        }
    }

    pub fn mailbox_free(&self, mailbox: u32) -> bool {
        self.load(mailbox_low(mailbox)) == 0
    }

    /// Executes one DMA of the read channel.
    pub fn step_read(&mut self) {
        if self.reads.stopped {
            return;
        }
        let Some(&dma) = self.reads.queued.front() else {
            return;
        };
        let Some(bytes) = self.host.read(dma.host, dma.length as usize) else {
            self.reads.stopped = true;
            return;
        };
        let mut local = dma.local;
        for byte in bytes {
            self.sram[local as usize] = byte;
            local = wrapped(TX, local, 1);
        }
        if dma.releases {
            self.move_tx_producer(local);
        }
        self.reads.queued.pop_front();
        self.reads.done.push_back(dma);
    }

    /// Executes one DMA of the write channel.
    pub fn step_write(&mut self) {
        if self.writes.stopped {
            return;
        }
        let Some(&dma) = self.writes.queued.front() else {
            return;
        };
        let mut local = dma.local;
        let mut bytes = Vec::with_capacity(dma.length as usize);
        for _ in 0..dma.length {
            bytes.push(self.sram[local as usize]);
            local = wrapped(RX, local, 1);
        }
        if !self.host.write(dma.host, &bytes) {
            self.writes.stopped = true;
            return;
        }
        if dma.releases {
            self.move_rx_consumer(local);
        }
        self.writes.queued.pop_front();
        self.writes.done.push_back(dma);
    }

    fn move_tx_producer(&mut self, end: u32) {
        let released = TX.distance(self.tx_consumer, self.tx_producer);
        assert!(
            TX.distance(self.tx_consumer, end) >= released,
            "the transmit producer went back"
        );
        self.tx_producer = end;
    }

    /// Frees the receive buffer up to `end`; the frames must have been taken.
    fn move_rx_consumer(&mut self, end: u32) {
        let freed = RX.distance(self.rx_consumer, end);
        let taken = self.rx_taken.back().map_or(0, |&(start, length)| {
            RX.distance(self.rx_consumer, wrapped(RX, start, length))
        });
        assert!(freed <= taken, "a frame was freed that was not taken");
        let mut at = self.rx_consumer;
        while at != end {
            self.sram[at as usize] = 0xEE;
            at = wrapped(RX, at, 1);
        }
        while let Some(&(start, _)) = self.rx_taken.front()
            && RX.distance(self.rx_consumer, start) < freed
        {
            self.rx_taken.pop_front();
        }
        self.rx_consumer = end;
    }

    /// Lets the MAC send one frame if one is released.
    pub fn step_mac(&mut self) {
        let Some(frame) = self.tx_frames.front() else {
            return;
        };
        let (start, length) = (frame.start, frame.length);
        let end = wrapped(TX, start, length);
        let released = TX.distance(self.tx_consumer, self.tx_producer);
        if released < TX.distance(self.tx_consumer, end) {
            return;
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let mut at = start;
        for _ in 0..length {
            bytes.push(self.sram[at as usize]);
            self.sram[at as usize] = 0xDD;
            at = wrapped(TX, at, 1);
        }
        bytes.resize(bytes.len().max(MINIMUM_FRAME), 0);
        self.tx_frames.pop_front();
        self.tx_consumer = end;
        if let Some(position) = self
            .tx_failed
            .iter()
            .position(|&(local, bytes)| TX.distance(start, local) + bytes <= length)
        {
            self.tx_failed.swap_remove(position);
            let kind = Kind::from_word(word_of(&bytes, WORD_TYPE_KIND));
            assert_eq!(kind, Some(Kind::Void), "a frame left without its payload");
        }
        self.sent.push_back(bytes);
    }

    /// Receives a frame. It is lost if there is no room.
    pub fn receive(&mut self, bytes: &[u8], intact: bool) {
        let stored = bytes.len() as u32 + 4;
        let start = self.rx_producer.next_multiple_of(RX_ALIGN);
        let start = if start >= RX.limit() {
            RX.base()
        } else {
            start
        };
        let used = RX.distance(self.rx_consumer, start);
        if used + stored + RX_ALIGN >= RX.bytes() {
            return;
        }
        let mut at = start;
        for &byte in bytes {
            self.sram[at as usize] = byte;
            at = wrapped(RX, at, 1);
        }
        self.rx_producer = wrapped(RX, at, 4);
        self.rx_frames.push_back(RxSlot {
            start,
            length: bytes.len() as u32,
            intact,
        });
    }
}

/// Word `index` of a frame.
pub fn word_of(bytes: &[u8], index: usize) -> u32 {
    let word: [u8; 4] = bytes[4 * index..4 * index + 4].try_into().expect("4 bytes");
    u32::from_be_bytes(word)
}

/// `address + bytes`, with the wrap of the region it lies in.
fn wrapped(region: Region, address: u32, bytes: u32) -> u32 {
    if (region.base()..region.limit()).contains(&address) {
        region.advance(address, bytes)
    } else {
        address + bytes
    }
}

fn joined(host: HostAddress) -> u64 {
    (u64::from(host.high) << 32) | u64::from(host.low)
}
