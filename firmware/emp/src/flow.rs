//! Flow control (thesis 2.2.1 and 2.4.2), off unless the host asks for it.
//!
//! Every ack says how full the receive buffer of its sender is: there is room, it is half full, or three quarters
//! full. Of each receiver a sender keeps a *rate*, 0 to [`SLOWEST`]: rate `r` leaves at least [`PAUSE_US`]
//! `<< r` between two frames, and 0 no pause. An ack without pressure makes the rate one step faster, half full one
//! step slower, three quarters two. So it takes shifts and no division, and lost acks do no harm.
//!
//! A message at the head of the send queue whose receiver has a pause is *held*: it leaves the queue until the pause
//! is over, so that messages to others go on. Messages to one receiver still begin in the order of their
//! identifiers: behind one that has not begun the next one is held too.
//!
//! Rate and end of the pause are in the receiver's route entry; the latter as 10 bits of the time in us. A time that
//! has passed long ago can look like a pause again, once and not longer than a pause is.

use crate::Emp;
use crate::nic::Nic;
use crate::tables::{NO_SLOT, Queueing, Slot};
use defs::emp::control::{Counter, FLOW_DUE_SHIFT, FLOW_RATE_MASK, FLOW_RATE_SHIFT, ROUTE_EPOCH};
use defs::emp::frame::{PRESSURE_MASK, PRESSURE_SHIFT, WORD_TYPE_KIND};

/// A pause is twice as long for each step of the rate.
const PAUSE_US: u32 = 8;
/// The slowest rate: a frame in 512 us.
const SLOWEST: u32 = 6;
/// Bits of a time in the route entry.
const DUE_MASK: u32 = u32::MAX >> FLOW_DUE_SHIFT;

const _: () = assert!(SLOWEST <= FLOW_RATE_MASK && PAUSE_US << SLOWEST <= DUE_MASK.div_ceil(2));

impl<N: Nic> Emp<'_, N> {
    /// Adds the pressure to the ack at `start`, which is about to be sent.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_pressure(&mut self, start: u32) {
        let pressure = (self.nic.rx_pressure() & PRESSURE_MASK) << PRESSURE_SHIFT;
        let word = self.word(start, WORD_TYPE_KIND);
        self.store(start, WORD_TYPE_KIND, word | pressure);
    }

    /// The pressure in the ack at `start`.
    #[cold]
    #[inline(never)]
    pub(crate) fn pressure_of(&self, start: u32) -> u32 {
        (self.word(start, WORD_TYPE_KIND) >> PRESSURE_SHIFT) & PRESSURE_MASK
    }

    /// An ack from `node` says how much pressure there is.
    #[cold]
    #[inline(never)]
    pub(crate) fn adapt_rate(&mut self, node: u32, pressure: u32) {
        let at = self.route_word(node, ROUTE_EPOCH);
        let entry = self.nic.load(at);
        let rate = rate_of(entry);
        let rate = match pressure {
            0 => rate.saturating_sub(1),
            steps => (rate + steps).min(SLOWEST),
        };
        let others = !(FLOW_RATE_MASK << FLOW_RATE_SHIFT);
        self.change(at, |entry| (entry & others) | (rate << FLOW_RATE_SHIFT));
    }

    /// Whether the head of the send queue must not send now; then it is held. Otherwise its frame counts as
    /// sent.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_back(&mut self, slot: Slot) -> bool {
        let node = u32::from(self.tables.transmit_mut(slot).node);
        let mut wait_us = self.pause_left_us(node);
        if wait_us == 0 && self.is_behind_one_that_waits(slot, node) {
            wait_us = 1;
        }
        if wait_us == 0 {
            self.begin_pause(node);
            return false;
        }
        self.unqueue();
        self.tables.transmit_mut(slot).queueing = Queueing::Held;
        self.held += 1;
        self.count(Counter::FramesHeld);
        let until_us = self.nic.now_us().wrapping_add(wait_us);
        self.arm_timer(until_us);
        true
    }

    /// A message that has sent nothing yet, behind one to the same node of which the same is true.
    fn is_behind_one_that_waits(&mut self, slot: Slot, node: u32) -> bool {
        let record = self.tables.transmit_mut(slot);
        if record.sent() != 0 || self.oldest_transmit(node) == slot {
            return false;
        }
        let before = self.tables.transmit_mut(slot).peer_previous;
        let before = self.tables.transmit_mut(before);
        before.sent() == 0 && !before.resending && before.queueing != Queueing::Out
    }

    /// How long `node` must not be sent a frame.
    fn pause_left_us(&self, node: u32) -> u32 {
        let entry = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        let left_us = (entry >> FLOW_DUE_SHIFT).wrapping_sub(self.nic.now_us()) & DUE_MASK;
        let longest_us = pause_us(rate_of(entry));
        if !self.config.flow_control || left_us > longest_us {
            0
        } else {
            left_us
        }
    }

    /// A frame goes to `node`: its pause begins.
    fn begin_pause(&mut self, node: u32) {
        let at = self.route_word(node, ROUTE_EPOCH);
        let entry = self.nic.load(at);
        let due_us = self.nic.now_us().wrapping_add(pause_us(rate_of(entry)));
        let others = !(DUE_MASK << FLOW_DUE_SHIFT);
        self.change(at, |entry| (entry & others) | (due_us << FLOW_DUE_SHIFT));
    }

    /// Puts the messages whose pause is over back into the send queue, those to one node in their order.
    #[cold]
    #[inline(never)]
    pub(crate) fn release_held(&mut self, now_us: u32) {
        for index in 0..self.open_slots.len() as u8 {
            let mut slots = self.open_slots[usize::from(index & 7)];
            let mut slot = index << 5;
            while slots != 0 && self.held != 0 {
                let record = self.tables.transmit_mut(slot);
                if slots & 1 != 0 && record.queueing == Queueing::Held {
                    let node = u32::from(record.node);
                    match self.pause_left_us(node) {
                        0 => self.release_node(node),
                        left_us => self.arm_timer(now_us.wrapping_add(left_us)),
                    }
                }
                slots >>= 1;
                slot = slot.wrapping_add(1);
            }
        }
    }

    fn release_node(&mut self, node: u32) {
        let oldest = self.oldest_transmit(node);
        let mut slot = oldest;
        while slot != NO_SLOT {
            let record = self.tables.transmit_mut(slot);
            let next = record.peer_next;
            if record.queueing == Queueing::Held {
                self.held -= 1;
                self.enqueue(slot);
                self.raise_send();
            }
            if next == oldest {
                break;
            }
            slot = next;
        }
    }
}

/// The rate in a route entry's word.
fn rate_of(entry: u32) -> u32 {
    (entry >> FLOW_RATE_SHIFT) & FLOW_RATE_MASK
}

/// The pause between two frames.
fn pause_us(rate: u32) -> u32 {
    if rate == 0 { 0 } else { PAUSE_US << rate }
}
