//! Flow control (thesis 2.2.1 and 2.4.2), off unless the host enables it.
//!
//! Every ack carries the fill level of its sender's receive buffer: room, half full, or three quarters
//! full. A sender keeps a *rate* per receiver, 0 to [`SLOWEST`]: rate `r` leaves at least [`PAUSE_US`] `<<
//! r` between two frames, rate 0 no pause. An ack without pressure makes the rate one step faster, half
//! full one step slower, three quarters full two steps slower. This needs shifts only, no division, and
//! lost acks do no harm.
//!
//! If the message at the head of the send queue has a receiver in a pause, it is *held*: it leaves the
//! queue until the pause ends, so that messages to other receivers proceed. Messages to one receiver still
//! begin in the order of their identifiers: a message behind one that has not begun is held too.
//!
//! Rate and end of the pause are in the receiver's route entry, the latter as 10 bits of the time in us. A
//! time long past can look like a pause again, once, for at most the length of a pause.
//!
//! Functions that frames and acks call here are not marked as cold, although they do nothing without flow control: the linker
//! keeps cold functions away from those that run per frame, with which these must share the instruction cache.

use crate::Emp;
use crate::nic::Nic;
use crate::tables::{NO_SLOT, Queueing, Slot};
use defs::emp::control::{Counter, FLOW_DUE_SHIFT, FLOW_RATE_MASK, FLOW_RATE_SHIFT, ROUTE_EPOCH};
use defs::emp::frame::{PRESSURE_MASK, PRESSURE_SHIFT, WORD_TYPE_KIND};

/// Base of the pause, which doubles with each step of the rate.
const PAUSE_US: u32 = 8;
/// The slowest rate: one frame per 512 us.
const SLOWEST: u32 = 6;
/// Bits of a time in the route entry.
const DUE_MASK: u32 = u32::MAX >> FLOW_DUE_SHIFT;

const _: () = assert!(SLOWEST <= FLOW_RATE_MASK && PAUSE_US << SLOWEST <= DUE_MASK.div_ceil(2));

impl<N: Nic> Emp<'_, N> {
    /// Adds the pressure to the ack at `start`, before it is sent.
    #[inline(never)]
    pub(crate) fn add_pressure(&mut self, start: u32) {
        let pressure = (self.nic.rx_pressure() & PRESSURE_MASK) << PRESSURE_SHIFT;
        let word = self.word(start, WORD_TYPE_KIND);
        self.store(start, WORD_TYPE_KIND, word | pressure);
    }

    /// The pressure in the ack at `start`.
    #[inline(never)]
    pub(crate) fn pressure_of(&self, start: u32) -> u32 {
        (self.word(start, WORD_TYPE_KIND) >> PRESSURE_SHIFT) & PRESSURE_MASK
    }

    /// Applies the pressure reported by `node`.
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

    /// Whether the head of the send queue must wait; then it is held. Otherwise its frame counts as sent.
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

    /// Whether a message that has sent nothing yet is behind another such message to its node.
    fn is_behind_one_that_waits(&mut self, slot: Slot, node: u32) -> bool {
        let record = self.tables.transmit_mut(slot);
        if record.sent() != 0 || self.oldest_transmit(node) == slot {
            return false;
        }
        let before = self.tables.transmit_mut(slot).peer_previous;
        let before = self.tables.transmit_mut(before);
        before.sent() == 0 && !before.resending && before.queueing != Queueing::Out
    }

    /// Remaining pause before the next frame to `node`.
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

    /// Starts the pause after a frame to `node`.
    fn begin_pause(&mut self, node: u32) {
        let at = self.route_word(node, ROUTE_EPOCH);
        let entry = self.nic.load(at);
        let due_us = self.nic.now_us().wrapping_add(pause_us(rate_of(entry)));
        let others = !(DUE_MASK << FLOW_DUE_SHIFT);
        self.change(at, |entry| (entry & others) | (due_us << FLOW_DUE_SHIFT));
    }

    /// Returns messages whose pause has ended to the send queue; those to one node in order.
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

/// Rate of a route entry's word.
fn rate_of(entry: u32) -> u32 {
    (entry >> FLOW_RATE_SHIFT) & FLOW_RATE_MASK
}

/// Pause between two frames at a rate.
fn pause_us(rate: u32) -> u32 {
    if rate == 0 { 0 } else { PAUSE_US << rate }
}
