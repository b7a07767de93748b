//! Estimate of the ack time: a loss is detected soon after an ack is overdue.
//!
//! One group at a time is timed, from the reservation of its last frame in the transmit buffer to its ack.
//! The estimate rises at once to a longer time and falls slowly to shorter ones. A retransmission makes a
//! measurement ambiguous, so it is discarded; the estimate then grows by an eighth, so that it adapts to
//! peers that have become slow.
//!
//! The estimate only adds shorter waits at the start. They double until they reach the host's timeout; from
//! there on the host's timeouts and retry limit apply unchanged. So a peer is asked earlier, but never
//! abandoned earlier than the host has set.

use crate::Emp;
use crate::nic::Nic;
use crate::tables::{NO_SLOT, Slot};
use defs::emp::control::TIMEOUT_DOUBLINGS;

/// Added to twice the estimate for the first wait.
const MARGIN_US: u32 = 128;
/// Longest estimate.
const LONGEST_US: u32 = 1 << 20;
/// Maximum number of consecutive early waits of a message: the last one is 64 times the first.
const MOST_EARLY: u8 = 7;

/// State of the ack time estimate.
pub(crate) struct Pace {
    /// The estimate, in us; 0 while no ack has been timed.
    estimate_us: u32,
    /// The message whose group is timed, or [`NO_SLOT`].
    slot: Slot,
    /// Number of the timed group's last frame, and the time at which it was sent.
    number: u16,
    sent_us: u32,
}

impl Pace {
    pub(crate) const fn new() -> Self {
        Self {
            estimate_us: 0,
            slot: NO_SLOT,
            number: 0,
            sent_us: 0,
        }
    }
}

/// Flag in a message's count of early waits: the current wait is early.
const EARLY_NOW: u8 = 1 << 7;

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
            Some(excess) => estimate_us - (excess >> 2),
            None => us.min(LONGEST_US),
        };
    }

    /// Stops timing a message that has failed.
    #[inline(always)]
    pub(crate) fn stop_timing(&mut self, slot: Slot) {
        if self.pace.slot == slot {
            self.pace.slot = NO_SLOT;
        }
    }

    /// Raises the estimate after a timeout of a message.
    pub(crate) fn doubt_timing(&mut self, slot: Slot) {
        self.stop_timing(slot);
        let estimate_us = self.pace.estimate_us;
        self.pace.estimate_us = (estimate_us + (estimate_us >> 3)).min(LONGEST_US);
    }

    /// Length of the next wait for an ack of a message that has seen `retries` timeouts of the host's
    /// setting expire since its last progress.
    #[inline(never)]
    pub(crate) fn wait_us(&mut self, slot: Slot, retries: u8) -> u32 {
        let timeout_us = self.config.timeout_us;
        let early = &mut self.tables.transmit_mut(slot).early;
        *early &= !EARLY_NOW;
        let first_us = (self.pace.estimate_us << 1) + MARGIN_US;
        if retries == 0 && self.pace.estimate_us != 0 && *early < MOST_EARLY {
            let us = first_us << *early;
            if us < timeout_us {
                *early |= EARLY_NOW;
                return us;
            }
        }
        timeout_us << u32::from(retries).min(TIMEOUT_DOUBLINGS)
    }

    /// Ends a wait for an ack. Returns whether it was an early one, which does not count as a retry.
    pub(crate) fn expire_early(&mut self, slot: Slot) -> bool {
        let early = &mut self.tables.transmit_mut(slot).early;
        let was_early = *early & EARLY_NOW != 0;
        if was_early {
            *early = (*early & !EARLY_NOW) + 1;
        }
        was_early
    }
}
