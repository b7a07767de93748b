//! Acks: one per group of frames.
//!
//! The receiver sends an ack when all frames of a group have arrived, and again when the group's last frame
//! arrives again. An ack is a frame without payload that names the message and the group's last frame. It
//! needs no DMA: the CPU builds and releases it. If the transmit buffer has no room, the ack waits in a
//! short queue. If that is full too, the ack is lost, and the sender's timeout repeats the group.
//!
//! A frame of an abandoned message is answered by a nack, and then the sender fails the message: see
//! `abandon`. An early frame is answered by the report of a gap, once: see `receive` and `retransmit`.
//!
//! A message's sender keeps one bit per unacknowledged group, that of the group's last frame. An ack clears
//! one bit. When all frames are sent and no bit is left, the message is complete.

use crate::Emp;
use crate::jobs::{self, Queue};
use crate::nic::{Arrival, Event, Nic, RxFrame, Stage, type_kind};
use crate::peer::Answered;
use crate::roles::Roles;
use crate::tables::{Closing, Slot};
use core::hint::cold_path;
use defs::emp::control::Counter;
use defs::emp::descriptor::Code;
use defs::emp::frame::{
    DATA_PAYLOAD, FLAG_GROUP_END, Kind, PRESSURE_MASK, WORD_FRAME_EPOCH, WORD_OFFSET,
    WORD_SOURCE_MESSAGE, WORD_TYPE_KIND,
};

/// Capacity of the queue of waiting acks, a power of two.
pub(crate) const QUEUE_ENTRIES: usize = 32;

/// Whether code is on the path without losses, where calls are inlined.
#[derive(Clone, Copy)]
enum Usual {
    Yes,
    No,
}

/// Contents of an ack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack {
    /// The message: source node, which is the ack's destination (high half); identifier (low half).
    pub key: u32,
    /// The group's last frame.
    pub number: u32,
    /// The epoch of the frame.
    pub epoch: u32,
    /// `Ack`, `Nack` or `Gap`.
    pub kind: Kind,
}

impl Ack {
    /// Encodes the ack as a job for a transmitter on the other CPU.
    #[inline(always)]
    fn job(&self) -> [u32; 4] {
        let job = (jobs::acks::ACK << jobs::KIND_SHIFT) | self.kind as u32;
        [job, self.key, self.number, self.epoch]
    }

    /// Decodes the ack of a job.
    #[inline(always)]
    pub(crate) fn from_job(job: [u32; 4]) -> Self {
        let kind = if job[0] == Kind::Ack as u32 {
            Kind::Ack
        } else if job[0] == Kind::Gap as u32 {
            Kind::Gap
        } else {
            Kind::Nack
        };
        Self {
            key: job[1],
            number: job[2],
            epoch: job[3],
            kind,
        }
    }

    /// An unused entry, all bits zero.
    pub(crate) const NONE: Self = Self {
        key: 0,
        number: 0,
        epoch: 0,
        kind: Kind::Void,
    };
}

/// Queue of acks that found no room in the transmit buffer: indices into [`Tables::acks`](crate::Tables).
pub(crate) struct AckQueue {
    first: u8,
    count: u8,
}

impl AckQueue {
    pub(crate) const fn new() -> Self {
        Self { first: 0, count: 0 }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Index of the first ack.
    fn front(&self) -> usize {
        usize::from(self.first) & (QUEUE_ENTRIES - 1)
    }

    /// Appends an entry and returns its index; `None` if the queue is full.
    fn push(&mut self) -> Option<usize> {
        if usize::from(self.count) == QUEUE_ENTRIES {
            return None;
        }
        let index = self.first.wrapping_add(self.count);
        self.count += 1;
        Some(usize::from(index) & (QUEUE_ENTRIES - 1))
    }

    fn pop(&mut self) {
        self.first = self.first.wrapping_add(1);
        self.count -= 1;
    }
}

impl<N: Nic> Emp<'_, N> {
    /// Passes an ack for a frame to the transmitter.
    #[inline(always)]
    pub(crate) fn answer(&mut self, ack: Ack) {
        if N::Roles::TRANSMITTER {
            self.send_ack(ack);
        } else {
            self.nic.put(Queue::Acks, ack.job());
        }
    }

    /// [`answer`](Self::answer) where it is rare: by the queue of waiting acks.
    pub(crate) fn answer_rarely(&mut self, ack: Ack) {
        if N::Roles::TRANSMITTER {
            self.defer_ack(ack);
        } else {
            self.answer(ack);
        }
    }

    /// Sends an ack, or queues it.
    #[inline(always)]
    pub(crate) fn send_ack(&mut self, ack: Ack) {
        if !self.acks.is_empty() || !self.build_ack(ack) {
            self.defer_ack(ack);
        }
    }

    #[cold]
    #[inline(never)]
    fn defer_ack(&mut self, ack: Ack) {
        match self.acks.push() {
            Some(place) => *self.tables.ack_mut(place) = ack,
            None => self.count_rarely(Counter::DropResources),
        }
        self.flush_acks();
        self.raise_send();
    }

    /// Sends queued acks while there is room.
    #[cold]
    #[inline(never)]
    pub(crate) fn flush_acks(&mut self) {
        while !self.acks.is_empty() {
            let ack = *self.tables.ack_mut(self.acks.front());
            if !self.build_ack(ack) {
                return;
            }
            self.acks.pop();
        }
    }

    /// Builds an ack in the transmit buffer and releases it; `false` if there is no room.
    #[inline(always)]
    fn build_ack(&mut self, ack: Ack) -> bool {
        self.nic.stage_enter(Stage::SendAck);
        let consumer = self.nic.tx_consumer();
        let start = self.nic.reserve_tx(DATA_PAYLOAD, consumer);
        if let Some(start) = start {
            let (node, message) = (ack.key >> 16, ack.key & 0xFFFF);
            self.write_addresses(start, node);
            self.store(start, WORD_TYPE_KIND, type_kind(ack.kind) | FLAG_GROUP_END);
            if self.config.flow_control {
                cold_path();
                self.add_pressure(start);
            }
            self.store(start, WORD_SOURCE_MESSAGE, self.config.node_high | message);
            let frame_epoch = (ack.number << 16) | self.config.epoch;
            self.store(start, WORD_FRAME_EPOCH, frame_epoch);
            self.store(start, WORD_OFFSET, ack.epoch);
            self.nic.push_tx(start, DATA_PAYLOAD);
            let end = self.nic.tx_advance(start, DATA_PAYLOAD);
            self.nic.release_cpu_frame(end);
            if ack.kind == Kind::Ack {
                self.nic.event(Event::AckSent, node, message, ack.number);
                self.count(Counter::AcksSent);
            } else {
                self.note_refusal(&ack);
            }
        }
        self.nic.stage_exit(Stage::SendAck);
        start.is_some()
    }

    #[cold]
    #[inline(never)]
    fn note_refusal(&mut self, ack: &Ack) {
        let (event, counter) = if ack.kind == Kind::Gap {
            (Event::GapSent, Counter::GapsSent)
        } else {
            (Event::NackSent, Counter::NacksSent)
        };
        self.nic
            .event(event, ack.key >> 16, ack.key & 0xFFFF, ack.number);
        self.count(counter);
    }

    /// Processes an arrived ack or nack for one of our messages.
    #[inline(always)]
    pub fn take_ack(&mut self, arrival: Arrival) {
        let frame = self.nic.take_rx(arrival);
        let counter = if !frame.intact {
            Some(Counter::DropDamaged)
        } else if frame.length < DATA_PAYLOAD {
            Some(Counter::DropForeign)
        } else {
            self.take_answer(frame, Kind::Ack)
        };
        self.free_frame(frame);
        if let Some(counter) = counter {
            self.count_rarely(counter);
        }
        self.nic.stage_exit(Stage::TakeAck);
    }

    /// Processes the answer in a frame. Returns the counter to increment, if it is not counted
    /// already.
    #[inline(always)]
    pub(crate) fn take_answer(&mut self, frame: RxFrame, kind: Kind) -> Option<Counter> {
        let start = frame.start;
        let key = self.word(start, WORD_SOURCE_MESSAGE);
        let number_epoch = self.word(start, WORD_FRAME_EPOCH);
        let node = key >> 16;
        if node >= self.config.route_count {
            return Some(Counter::DropForeign);
        }
        if self.word(start, WORD_OFFSET) != self.config.epoch
            || !self.knows(node, number_epoch & 0xFFFF)
        {
            return Some(Counter::DropEpoch);
        }
        let number = number_epoch >> 16;
        let pressure = if self.config.flow_control {
            cold_path();
            self.pressure_of(start)
        } else {
            0
        };
        // The effect of the answer on its message is the sender's work.
        let stage = match kind {
            Kind::Ack => Stage::TakeAck,
            _ => Stage::ReceiveBookkeeping,
        };
        self.nic.stage_exit(stage);
        let counter = if N::Roles::SENDER {
            self.nic.stage_enter(Stage::ReceiveAck);
            let counter = self.apply(kind as u8, key, number as u16, pressure);
            self.nic.stage_exit(Stage::ReceiveAck);
            counter
        } else {
            let job = (jobs::reports::ANSWER << jobs::KIND_SHIFT)
                | (pressure << jobs::reports::PRESSURE_SHIFT)
                | ((kind as u32) << jobs::SLOT_SHIFT)
                | number;
            self.nic.put(Queue::Reports, [job, key]);
            None
        };
        self.nic.stage_enter(stage);
        counter
    }

    /// Applies an answer to its message. Returns the counter to increment, unless it is an accepted ack.
    #[inline(always)]
    fn apply(&mut self, kind: u8, key: u32, number: u16, pressure: u32) -> Option<Counter> {
        match self.answered_transmit(key >> 16, key as u16) {
            Answered::Nothing => Some(Counter::DropDuplicate),
            Answered::Next(slot) => self.apply_to(slot, kind, number, pressure, Usual::Yes),
            Answered::Later => self.apply_later(kind, key, number, pressure),
        }
    }

    /// [`apply`](Self::apply) if the answer perhaps shows a loss. Its own copy of the work keeps the usual
    /// path free of calls in its middle.
    #[cold]
    #[inline(never)]
    fn apply_later(&mut self, kind: u8, key: u32, number: u16, pressure: u32) -> Option<Counter> {
        match self.answered_later(key >> 16, key as u16) {
            None => Some(Counter::DropDuplicate),
            Some(slot) => self.apply_to(slot, kind, number, pressure, Usual::No),
        }
    }

    #[inline(always)]
    fn apply_to(
        &mut self,
        slot: Slot,
        kind: u8,
        number: u16,
        pressure: u32,
        usual: Usual,
    ) -> Option<Counter> {
        if kind == Kind::Ack as u8 {
            self.apply_ack(slot, number, pressure, usual)
        } else if kind == Kind::Gap as u8 {
            Some(self.apply_gap(slot))
        } else {
            Some(self.apply_nack(slot, number))
        }
    }

    /// Marks the group with last frame `number` as acknowledged.
    #[inline(always)]
    fn apply_ack(
        &mut self,
        slot: Slot,
        number: u16,
        pressure: u32,
        usual: Usual,
    ) -> Option<Counter> {
        let record = self.tables.transmit_mut(slot);
        let (node, id) = (u32::from(record.node), u32::from(record.id));
        if number >= record.frames {
            return Some(Counter::DropForeign);
        }
        if self.config.flow_control {
            cold_path();
            self.adapt_rate(node, pressure);
        }
        if !self.tables.unacked_mut(slot).has(number) {
            return Some(Counter::DropDuplicate);
        }
        let record = self.tables.transmit_mut(slot);
        record.outstanding -= 1;
        if record.outstanding == 0 && record.sent() == record.frames {
            if record.code == Code::Pending {
                record.code = Code::Done;
            }
            match usual {
                Usual::Yes => self.settle_transmit(slot),
                Usual::No => self.settle_at_last(slot),
            }
            self.tables.unacked_mut(slot).remove(number);
        } else {
            record.retries = 0;
            record.early = 0;
            let waiting = record.outstanding != 0;
            self.tables.unacked_mut(slot).remove(number);
            if waiting {
                match usual {
                    Usual::Yes => self.restart_timer(slot),
                    Usual::No => self.postpone(slot),
                }
            }
        }
        self.end_timing(slot, number);
        self.count(Counter::AcksReceived);
        self.nic
            .event(Event::AckReceived, node, id, u32::from(number));
        None
    }

    /// Fails one of our messages after a nack: the receiver has abandoned it.
    #[cold]
    #[inline(never)]
    fn apply_nack(&mut self, slot: Slot, number: u16) -> Counter {
        let record = self.tables.transmit_mut(slot);
        let (node, id) = (u32::from(record.node), u32::from(record.id));
        self.nic
            .event(Event::NackReceived, node, id, u32::from(number));
        if self.tables.transmit_mut(slot).code == Code::Pending {
            self.tables.transmit_mut(slot).code = Code::Timeout;
            self.settle_at_last(slot);
        }
        Counter::NacksReceived
    }

    /// Processes one report of the other CPU on our messages.
    #[inline(always)]
    pub fn on_reports(&mut self) {
        if !N::Roles::SENDER || (N::Roles::TRANSMITTER && N::Roles::MATCHER) {
            return;
        }
        let Some(at) = self.nic.front(Queue::Reports) else {
            return self.nic.rest(Queue::Reports);
        };
        let job = self.nic.load(at);
        let key = self.nic.load(at + 4);
        self.nic.remove(Queue::Reports);
        if !N::Roles::MATCHER && job >> jobs::KIND_SHIFT == jobs::reports::ANSWER {
            self.nic.stage_enter(Stage::ReceiveAck);
            let kind = (job >> jobs::SLOT_SHIFT) as u8;
            let pressure = (job >> jobs::reports::PRESSURE_SHIFT) & PRESSURE_MASK;
            if let Some(counter) = self.apply(kind, key, job as u16, pressure) {
                self.count_rarely(counter);
            }
            self.nic.stage_exit(Stage::ReceiveAck);
        } else {
            self.take_report(job);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_report(&mut self, job: u32) {
        let slot = (job >> jobs::SLOT_SHIFT) as Slot;
        match job >> jobs::KIND_SHIFT {
            jobs::reports::NEW_LIFE => self.fail_begun(u32::from(slot)),
            jobs::reports::CLOSED => {
                self.tables.transmit_mut(slot).closing = Closing::Closed;
                self.settle_transmit(slot);
            }
            _ => {
                let code = if job & 0xFFFF == Code::BadDescriptor as u32 {
                    Code::BadDescriptor
                } else {
                    Code::HostMemory
                };
                self.fail_transmit(slot, code);
                self.settle_at_last(slot);
            }
        }
    }

    /// Reads a word of the frame at `start`.
    #[inline(always)]
    pub(crate) fn word(&self, start: u32, word: usize) -> u32 {
        self.nic.load(start + ((word as u32) << 2))
    }
}
