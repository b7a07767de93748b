//! A NIC without a chip: SRAM, two DMA channels, frame buffers and a MAC that obey the same pointer
//! rules as the Tigon2 (docs/tigon2.md, sections 5 and 6), moved by `step_...` calls.
//!
//! It checks what hardware would silently spoil: memory that has been given back is poisoned, a frame
//! whose DMA failed must leave void, and buffer pointers only move forward.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use defs::emp::frame::{Kind, WORD_FRAME_EPOCH, WORD_TYPE_KIND};
use defs::tigon2::map::mailbox_low;
use emp::jobs::Queue;
use emp::nic::{Arrival, Completion, Event, HostAddress, RxFrame, Stage, pressure};
use emp::roles::{A, Base, On};
use emp::{Nic, Tables};
use rings::{Region, ReleaseOrder, TxSpace};

use super::memory::HostMemory;

/// Where the protocol's shared structures lie.
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

/// What the NIC reported.
pub struct Entry {
    pub event: Event,
    pub peer: u32,
    pub id: u32,
    pub third: u32,
    /// The epoch in the frame that the firmware took last: of the frame, if the event is about one.
    pub epoch: u16,
}

/// The NIC. Its host memory is behind it, its wire is a queue.
pub struct FakeNic {
    sram: Vec<u8>,
    pub host: HostMemory,
    pub now_us: u32,
    timer_at: Option<u32>,
    mailboxes: u32,
    send_event: bool,
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
    /// The epoch in the frame that was taken last.
    rx_epoch: u16,
    pub mac: u64,
    /// Frames on the wire.
    pub sent: VecDeque<Vec<u8>>,
    pub events: Cell<[u32; 16]>,
    /// The same one by one, if somebody reads it.
    pub log: Option<RefCell<Vec<Entry>>>,
}

impl FakeNic {
    pub fn new(mac: u64, host_bytes: usize) -> Self {
        Self {
            sram: vec![0; SRAM_BYTES],
            host: HostMemory::new(host_bytes),
            now_us: u32::MAX - 20_000,
            timer_at: None,
            mailboxes: 0,
            send_event: false,
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

    pub fn timer_due(&self) -> bool {
        self.timer_at
            .is_some_and(|at| self.now_us.wrapping_sub(at) < 1 << 31)
    }
    pub fn timer_armed(&self) -> bool {
        self.timer_at.is_some()
    }
    /// Time until the timer expires, in us; `None` while it is masked.
    pub fn timer_in(&self) -> Option<u32> {
        let left = self.timer_at?.wrapping_sub(self.now_us);
        Some(if left < 1 << 31 { left } else { 0 })
    }
    pub fn mailbox_written(&self) -> bool {
        self.mailboxes != 0
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
    pub fn send_raised(&self) -> bool {
        self.send_event
    }

    /// Nothing is queued or under way anywhere in the NIC.
    pub fn is_quiet(&self) -> bool {
        self.reads.queued.is_empty()
            && self.writes.queued.is_empty()
            && !self.read_done()
            && !self.write_done()
            && self.tx_frames.is_empty()
            && self.rx_frames.is_empty()
            && self.sent.is_empty()
            && !self.mailbox_written()
            && !self.send_event
    }

    /// Both buffers are empty: every frame was sent or given back.
    pub fn buffers_are_free(&self) -> bool {
        self.tx_frames.is_empty() && self.rx_taken.is_empty() && self.rx_frames.is_empty()
    }

    pub fn write_mailbox(&mut self, mailbox: u32, value: u32) {
        self.store(mailbox_low(mailbox), value);
        self.mailboxes |= 1 << mailbox;
    }

    pub fn mailbox_free(&self, mailbox: u32) -> bool {
        self.load(mailbox_low(mailbox)) == 0
    }

    /// The read channel does one DMA.
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

    /// The write channel does one DMA.
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

    /// Frees the receive buffer up to `end`: what is freed must have been taken.
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

    /// The MAC sends one frame if one is released.
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

    /// A frame arrives. It is lost if there is no room.
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

/// The records of a node on one CPU.
pub type Records = Tables<On<A, Base>>;

impl Nic for FakeNic {
    type Roles = On<A, Base>;

    fn room(&self, _: Queue) -> u32 {
        unreachable!("there is one CPU")
    }

    fn put<const WORDS: usize>(&mut self, _: Queue, _: [u32; WORDS]) {
        unreachable!("there is one CPU")
    }

    fn leave<const WORDS: usize>(&mut self, _: Queue, _: [u32; WORDS]) {
        unreachable!("there is one CPU")
    }

    fn ring(&mut self, _: Queue) {
        unreachable!("there is one CPU")
    }

    fn front(&self, _: Queue) -> Option<u32> {
        unreachable!("there is one CPU")
    }

    fn remove(&mut self, _: Queue) {
        unreachable!("there is one CPU")
    }

    fn rest(&mut self, _: Queue) {
        unreachable!("there is one CPU")
    }

    fn lock(&mut self) {}

    fn unlock(&mut self) {}

    fn load(&self, address: u32) -> u32 {
        assert!(address.is_multiple_of(4), "unaligned load at {address:#x}");
        word_of(&self.sram[address as usize..address as usize + 4], 0)
    }

    fn store(&mut self, address: u32, value: u32) {
        assert!(address.is_multiple_of(4), "unaligned store at {address:#x}");
        self.sram[address as usize..address as usize + 4].copy_from_slice(&value.to_be_bytes());
    }

    fn own_mac(&self) -> (u32, u32) {
        ((self.mac >> 32) as u32, self.mac as u32)
    }

    fn now_us(&self) -> u32 {
        self.now_us
    }

    fn arm_timer(&mut self, at_us: u32) {
        self.timer_at = Some(at_us);
    }

    fn disarm_timer(&mut self) {
        self.timer_at = None;
    }

    fn take_mailboxes(&mut self) -> u32 {
        std::mem::take(&mut self.mailboxes)
    }

    fn raise_send(&mut self) {
        self.send_event = true;
    }

    fn clear_send(&mut self) {
        self.send_event = false;
    }

    fn read_slots(&self) -> u32 {
        self.reads.room()
    }

    fn push_read(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        release_tx: bool,
        cookie: u32,
    ) {
        self.reads.push(Dma {
            host: joined(host),
            local,
            length,
            releases: release_tx,
            cookie,
            failed: false,
        });
    }

    fn take_read(&mut self) -> Option<Completion> {
        if self.waiting.get() {
            self.step_read();
        }
        let dma = self.reads.done.pop_front()?;
        let end = wrapped(TX, dma.local, dma.length);
        if dma.failed && dma.cookie >> 30 == 0 {
            self.tx_failed.push((dma.local, dma.length));
        }
        if dma.releases {
            let owed = if dma.failed {
                self.reads.order.dma_failed(end)
            } else {
                self.reads.order.dma_completed()
            };
            if let Some(end) = owed {
                self.move_tx_producer(end);
            }
        }
        Some(Completion {
            cookie: dma.cookie,
            failed: dma.failed,
        })
    }

    fn failed_read(&self) -> Option<u32> {
        let failed = self.reads.queued.front()?;
        self.reads.stopped.then_some(failed.cookie)
    }

    fn skip_failed_read(&mut self) {
        self.reads.skip_failed();
    }

    fn write_slots(&self) -> u32 {
        self.writes.room()
    }

    fn push_write(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        free_rx: bool,
        cookie: u32,
    ) {
        self.writes.push(Dma {
            host: joined(host),
            local,
            length,
            releases: free_rx,
            cookie,
            failed: false,
        });
    }

    fn next_write(&mut self) -> Option<Completion> {
        if self.waiting.get() {
            self.step_write();
        }
        self.writes.done.front().map(|dma| Completion {
            cookie: dma.cookie,
            failed: dma.failed,
        })
    }

    fn retire_write(&mut self) {
        let dma = self.writes.done.pop_front().expect("a write that is over");
        if dma.releases {
            let owed = if dma.failed {
                self.writes
                    .order
                    .dma_failed(wrapped(RX, dma.local, dma.length))
            } else {
                self.writes.order.dma_completed()
            };
            if let Some(end) = owed {
                self.move_rx_consumer(end);
            }
        }
    }

    fn write_failed(&self) -> bool {
        self.writes.stopped
    }

    fn skip_failed_write(&mut self) {
        self.writes.skip_failed();
    }

    fn tx_consumer(&self) -> u32 {
        self.tx_consumer
    }

    fn reserve_tx(&mut self, length: u32, consumer: u32) -> Option<u32> {
        assert_eq!(self.reserved, 0, "a reserved frame was not pushed");
        if self.tx_frames.len() >= MAC_SLOTS {
            return None;
        }
        let start = self.tx_space.reserve(length, 64, consumer)?;
        self.reserved = length;
        Some(start)
    }

    fn tx_backlog(&self, consumer: u32) -> u32 {
        self.tx_space.backlog(consumer)
    }

    fn tx_advance(&self, address: u32, bytes: u32) -> u32 {
        TX.advance(address, bytes)
    }

    fn push_tx(&mut self, start: u32, length: u32) {
        assert_eq!(self.reserved, length, "pushed what was not reserved");
        self.reserved = 0;
        self.tx_frames.push_back(TxFrame { start, length });
    }

    fn release_cpu_frame(&mut self, end: u32) {
        if let Some(end) = self.reads.order.cpu_release(end) {
            self.move_tx_producer(end);
        }
    }

    fn next_rx(&self) -> Option<Arrival> {
        self.rx_frames.front().map(|slot| Arrival {
            start: slot.start,
            descriptor: 0,
        })
    }

    fn take_rx(&mut self, arrival: Arrival) -> RxFrame {
        let slot = self.rx_frames.pop_front().expect("a received frame");
        assert_eq!(slot.start, arrival.start);
        self.rx_taken.push_back((slot.start, slot.length));
        self.rx_epoch = self.load(slot.start + 4 * WORD_FRAME_EPOCH as u32) as u16;
        RxFrame {
            start: slot.start,
            length: slot.length,
            intact: slot.intact,
        }
    }

    fn rx_advance(&self, address: u32, bytes: u32) -> u32 {
        RX.advance(address, bytes)
    }

    fn free_rx(&mut self, end: u32) {
        if let Some(end) = self.writes.order.cpu_release(end) {
            self.move_rx_consumer(end);
        }
    }

    fn rx_pressure(&self) -> u32 {
        pressure(RX.distance(self.rx_consumer, self.rx_producer), RX.bytes())
    }

    fn stage_enter(&self, _: Stage) {}

    fn stage_exit(&self, _: Stage) {}

    fn wait_enter(&self) {
        assert!(!self.waiting.replace(true), "a wait within a wait");
    }

    fn wait_exit(&self) {
        self.waiting.set(false);
    }

    fn event(&self, event: Event, peer: u32, id: u32, third: u32) {
        if let Some(log) = &self.log {
            log.borrow_mut().push(Entry {
                event,
                peer,
                id,
                third,
                epoch: self.rx_epoch,
            });
        }
        let mut events = self.events.get();
        events[event as usize] += 1;
        self.events.set(events);
    }
}

fn joined(host: HostAddress) -> u64 {
    (u64::from(host.high) << 32) | u64::from(host.low)
}
