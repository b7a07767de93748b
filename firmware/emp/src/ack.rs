//! Acks: one for each group of frames.
//!
//! Sent by the receiver when all frames of a group are in, and again when the group's last frame comes
//! again. An ack is a frame without payload that names the message and the group's last frame, so it
//! needs no DMA: the CPU builds and releases it. If the transmit buffer has no room, the ack waits in
//! a short queue; if that is full too, it is lost, and the sender's timeout brings the group again.
//!
//! The sender of a message has a bit for each group's last frame that is not acknowledged. An ack
//! clears one; when all frames are sent and no bit is left, the message is done.

use crate::Emp;
use crate::nic::{Arrival, Event, Nic, Stage, type_kind};
use crate::tables::NO_SLOT;
use defs::emp::control::Counter;
use defs::emp::descriptor::Code;
use defs::emp::frame::{
    DATA_PAYLOAD, FLAG_GROUP_END, Kind, WORD_FRAME_EPOCH, WORD_OFFSET, WORD_SOURCE_MESSAGE,
    WORD_TYPE_KIND,
};

const QUEUE_ENTRIES: usize = 32;

/// What an ack says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack {
    /// The message: its source, to which the ack goes, in the high half; its identifier.
    pub key: u32,
    /// The group's last frame.
    pub number: u32,
    /// The epoch of the frame.
    pub epoch: u32,
}

/// Acks that found no room in the transmit buffer.
pub(crate) struct AckQueue {
    acks: [Ack; QUEUE_ENTRIES],
    first: u8,
    count: u8,
}

impl AckQueue {
    pub(crate) const fn new() -> Self {
        let none = Ack {
            key: 0,
            number: 0,
            epoch: 0,
        };
        Self {
            acks: [none; QUEUE_ENTRIES],
            first: 0,
            count: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn place(&mut self, position: u8) -> &mut Ack {
        let index = self.first.wrapping_add(position);
        &mut self.acks[usize::from(index) & (QUEUE_ENTRIES - 1)]
    }

    /// Appends an ack; says whether there was room.
    fn push(&mut self, ack: Ack) -> bool {
        if usize::from(self.count) == QUEUE_ENTRIES {
            return false;
        }
        *self.place(self.count) = ack;
        self.count += 1;
        true
    }

    fn pop(&mut self) {
        self.first = self.first.wrapping_add(1);
        self.count -= 1;
    }
}

impl<N: Nic> Emp<'_, N> {
    /// Sends an ack, or lets it wait its turn.
    #[inline(always)]
    pub(crate) fn send_ack(&mut self, ack: Ack) {
        if !self.acks.is_empty() || !self.build_ack(ack) {
            self.defer_ack(ack);
        }
    }

    #[cold]
    #[inline(never)]
    fn defer_ack(&mut self, ack: Ack) {
        if !self.acks.push(ack) {
            self.count(Counter::DropResources);
        }
        self.flush_acks();
        self.raise_send();
    }

    /// Sends the acks that wait, as long as there is room.
    #[cold]
    #[inline(never)]
    pub(crate) fn flush_acks(&mut self) {
        while !self.acks.is_empty() {
            let ack = *self.acks.place(0);
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
            self.store(start, WORD_TYPE_KIND, type_kind(Kind::Ack) | FLAG_GROUP_END);
            self.store(start, WORD_SOURCE_MESSAGE, self.config.node_high | message);
            let frame_epoch = (ack.number << 16) | self.config.epoch;
            self.store(start, WORD_FRAME_EPOCH, frame_epoch);
            self.store(start, WORD_OFFSET, ack.epoch);
            self.nic.push_tx(start, DATA_PAYLOAD);
            let end = self.nic.tx_advance(start, DATA_PAYLOAD);
            self.nic.release_cpu_frame(end);
            self.nic.event(Event::AckSent, node, message, ack.number);
            self.count(Counter::AcksSent);
        }
        self.nic.stage_exit(Stage::SendAck);
        start.is_some()
    }

    /// Takes an ack that has come for one of our messages.
    #[inline(always)]
    pub fn take_ack(&mut self, arrival: Arrival) {
        let frame = self.nic.take_rx(arrival);
        let counter = if !frame.intact {
            Counter::DropDamaged
        } else if frame.length < DATA_PAYLOAD {
            Counter::DropForeign
        } else {
            self.apply_ack(frame.start)
        };
        let end = self.nic.rx_advance(frame.start, frame.length);
        self.nic.free_rx(end);
        self.count(counter);
        self.nic.stage_exit(Stage::ReceiveAck);
    }

    /// Marks the group that the ack at `start` names; the result is what to count it as.
    #[inline(always)]
    fn apply_ack(&mut self, start: u32) -> Counter {
        let key = self.word(start, WORD_SOURCE_MESSAGE);
        let number_epoch = self.word(start, WORD_FRAME_EPOCH);
        let number = (number_epoch >> 16) as u16;
        let epoch = self.word(start, WORD_OFFSET);
        let node = key >> 16;
        if node >= self.config.route_count {
            return Counter::DropForeign;
        }
        if epoch != self.config.epoch || !self.counts_ack(node, number_epoch & 0xFFFF) {
            return Counter::DropEpoch;
        }
        let mut slot = self.tables.peers[usize::from(node as u8)].first_transmit;
        loop {
            if slot == NO_SLOT {
                return Counter::DropDuplicate;
            }
            let record = self.tables.transmit_mut(slot);
            if record.id == key as u16 {
                break;
            }
            slot = record.peer_next;
        }
        if !self.tables.unacked[usize::from(slot)].has(number) {
            return Counter::DropDuplicate;
        }
        let record = self.tables.transmit_mut(slot);
        record.outstanding -= 1;
        if record.outstanding == 0 && record.sent() == record.frames {
            if record.code == Code::Pending {
                record.code = Code::Done;
            }
            self.settle_transmit(slot);
            self.tables.unacked[usize::from(slot)].remove(number);
        } else {
            record.retries = 0;
            let waiting = record.outstanding != 0;
            self.tables.unacked[usize::from(slot)].remove(number);
            if waiting {
                self.restart_timer(slot);
            }
        }
        self.nic
            .event(Event::AckReceived, node, key & 0xFFFF, u32::from(number));
        Counter::AcksReceived
    }

    /// Reads a word of the frame at `start`.
    #[inline(always)]
    pub(crate) fn word(&self, start: u32, word: usize) -> u32 {
        self.nic.load(start + ((word as u32) << 2))
    }
}
