//! Estimate of the ack time: a loss is detected soon after an ack is overdue.
//!
//! One group at a time is timed, from the reservation of its last frame in the transmit buffer to its ack.
//! The estimate rises at once to a longer time and falls slowly to shorter ones. A retransmission makes a
//! measurement ambiguous, so it is discarded, unless it is the first one: that begins again at each
//! retransmission. The estimate grows by an eighth with each try (less with the first one since an ack), so
//! that it adapts to peers that have become slow. Before the first measurement it is a sixteenth of the
//! host's timeout.
//!
//! The estimate only adds shorter waits at the start. Every other one is twice as long, until they reach the
//! host's timeout; from there on the host's timeouts and retry limit apply unchanged. So a peer is asked earlier, but never
//! abandoned earlier than the host has set.

use crate::Emp;
use crate::nic::Nic;
use crate::tables::{NO_SLOT, Slot};
use defs::emp::control::TIMEOUT_DOUBLINGS;

/// Added to twice the estimate for the first wait.
const MARGIN_US: u32 = 128;
/// Longest estimate.
const LONGEST_US: u32 = 1 << 20;

/// A sixteenth of the host's timeout, as a power of two: the estimate before an ack has been timed. It is added
/// to a first time that may belong to a retransmission.
const ASSUMED_SHIFT: u32 = 4;

/// Nodes whose later tries are apart, less one: senders that have failed together at a full buffer would meet there again.
const SPREAD_NODES: u32 = 15;
/// Binary logarithm of the distance between such nodes' tries at the first doubling of the host's timeout, in us: longer than a group of
/// frames takes. With each doubling they are twice as far apart: longer than the groups of a window.
const SPREAD_SHIFT: u32 = 6;

/// State of the ack time estimate.
pub(crate) struct Pace {
    /// The estimate, in us.
    estimate_us: u32,
    /// Whether an ack has been timed: before, the estimate is a part of the host's timeout.
    measured: bool,
    /// The message whose group is timed, or [`NO_SLOT`].
    slot: Slot,
    /// Number of the timed group's last frame, and the time at which it was sent.
    number: u16,
    sent_us: u32,
}

impl Pace {
    /// Starts without a measurement, with the host's timeout.
    pub(crate) const fn new(timeout_us: u32) -> Self {
        Self {
            estimate_us: timeout_us >> ASSUMED_SHIFT,
            measured: false,
            slot: NO_SLOT,
            number: 0,
            sent_us: 0,
        }
    }
}

/// Flag in a message's count of early waits: the current wait is early.
pub(crate) const EARLY_NOW: u8 = 1 << 7;
/// Flag in that count: a wait of the current length has ended. The bits below are the number of doublings;
/// a shift, on the chip and by `wrapping_shl`, uses nothing above them.
const EARLY_TWICE: u8 = 1 << 6;
/// Doublings up to which reports of a gap are believed: eight reports without progress.
const GAP_DOUBLINGS: u8 = 4;

impl<N: Nic> Emp<'_, N> {
    /// Starts timing when the last frame of a group is sent for the first time.
    #[inline(always)]
    pub(crate) fn time_group(&mut self, slot: Slot, number: u16) {
        if self.pace.slot == NO_SLOT {
            self.pace.slot = slot;
            self.pace.number = number;
            self.pace.sent_us = self.nic.now_us();
        }
    }

    /// Ends timing at the ack of a group.
    #[inline(always)]
    pub(crate) fn end_timing(&mut self, slot: Slot, number: u16) {
        if self.pace.slot == slot && self.pace.number == number {
            self.take_time();
        }
    }

    #[inline(never)]
    fn take_time(&mut self) {
        self.pace.slot = NO_SLOT;
        let us = self.nic.now_us().wrapping_sub(self.pace.sent_us).max(1);
        let estimate_us = self.pace.estimate_us;
        self.pace.estimate_us = match estimate_us.checked_sub(us) {
            Some(excess) if self.pace.measured => estimate_us - (excess >> 2),
            _ => us.min(LONGEST_US),
        };
        self.pace.measured = true;
    }

    /// Stops timing a message that has failed.
    #[inline(always)]
    pub(crate) fn stop_timing(&mut self, slot: Slot) {
        if self.pace.slot == slot {
            self.pace.slot = NO_SLOT;
        }
    }

    /// Handles a retransmission of a message that may be timed. Before the first measurement its time counts from
    /// here, and from somewhat earlier: if the ack is one of the first transmission, the estimate is too
    /// short then, but not by so much that all messages that follow are sent again for long.
    pub(crate) fn doubt_timed(&mut self, slot: Slot) {
        if self.pace.measured {
            self.stop_timing(slot);
        } else if self.pace.slot == slot {
            let assumed_us = self.config.timeout_us >> ASSUMED_SHIFT;
            self.pace.sent_us = self.nic.now_us().wrapping_sub(assumed_us);
        }
    }

    /// Frames of a group that a try without progress leaves out. A burst may lose the same frames at a full buffer each time: one that
    /// holds one frame loses every other one. So every other try leaves out the first frame.
    #[cold]
    pub(crate) fn frames_to_skip(&mut self, slot: Slot) -> u8 {
        let record = self.tables.transmit_mut(slot);
        match record.retries {
            0 => u8::from(record.early & EARLY_TWICE == 0),
            // The first of the host's timeouts may be the first try of all.
            retries => (retries - 1) & 1,
        }
    }

    /// Raises the estimate after a timeout of a path: by little if it is the first one since an ack, which
    /// a lost frame explains as well as a peer that has become slow.
    pub(crate) fn doubt_timing(&mut self, is_first: bool) {
        let estimate_us = self.pace.estimate_us;
        let rise_us = estimate_us >> if is_first { 5 } else { 3 };
        self.pace.estimate_us = (estimate_us + rise_us).min(LONGEST_US);
    }

    /// The wait for an ack before the first try.
    pub(crate) fn first_wait_us(&self) -> u32 {
        ((self.pace.estimate_us << 1) + MARGIN_US).min(self.config.timeout_us)
    }

    /// Margin, in us: a message's ack is overdue so long before the message's deadline.
    pub(crate) fn overdue_us(&self) -> u32 {
        self.pace.estimate_us + (MARGIN_US >> 1)
    }

    /// Length of the next wait for an ack of a message that has seen `retries` timeouts of the host's
    /// setting expire since its last progress.
    #[inline(never)]
    pub(crate) fn wait_us(&mut self, slot: Slot, retries: u8) -> u32 {
        let timeout_us = self.config.timeout_us;
        let early = &mut self.tables.transmit_mut(slot).early;
        *early &= !EARLY_NOW;
        let first_us = (self.pace.estimate_us << 1) + MARGIN_US;
        if retries == 0 {
            let us = first_us.wrapping_shl(u32::from(*early));
            if us < timeout_us {
                *early |= EARLY_NOW;
                return us;
            }
        }
        let doublings = u32::from(retries).min(TIMEOUT_DOUBLINGS);
        let spread_us = match doublings {
            0 => 0,
            more => ((self.config.node_high >> 16) & SPREAD_NODES) << (SPREAD_SHIFT - 1 + more),
        };
        (timeout_us << doublings) + spread_us
    }

    /// Ends a wait for an ack. Returns whether it was an early one, which does not count as a retry.
    pub(crate) fn expire_early(&mut self, slot: Slot) -> bool {
        let was_early = self.tables.transmit_mut(slot).early & EARLY_NOW != 0;
        if was_early {
            self.count_early(slot);
        }
        was_early
    }

    /// Counts an early wait: every other one doubles the next wait. Returns whether a gap that was reported
    /// instead is believed.
    pub(crate) fn count_early(&mut self, slot: Slot) -> bool {
        let early = &mut self.tables.transmit_mut(slot).early;
        let believed = *early & !(EARLY_NOW | EARLY_TWICE) < GAP_DOUBLINGS;
        *early = (*early & !EARLY_NOW) ^ EARLY_TWICE;
        *early += u8::from(*early & EARLY_TWICE == 0);
        believed
    }
}
