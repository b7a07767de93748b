//! How long acks take, so that a loss is noticed when an ack is overdue and not much later.
//!
//! One group at a time is timed, from its last frame's place in the transmit buffer to its ack. The estimate
//! rises at once to a longer time and sinks slowly to shorter ones. If anything of the message is sent
//! again the time is not taken: nobody knows which frame the ack is for. Then the estimate grows by an eighth, so
//! that peers that have become slow are believed in the end.
//!
//! The estimate only makes the first waits shorter. They double until they are as long as the host's
//! timeout; from there on the host's timeouts and retry limit hold as if nothing had been before. So a
//! peer is asked earlier, and given up no earlier than the host has said.

use crate::Emp;
use crate::nic::Nic;
use crate::tables::{NO_SLOT, Slot};
use defs::emp::control::TIMEOUT_DOUBLINGS;

/// The first wait is twice the estimate and this.
const MARGIN_US: u32 = 128;
/// Longest estimate.
const LONGEST_US: u32 = 1 << 20;
/// Most early waits of a message in a row: the last one is 64 times the first.
const MOST_EARLY: u8 = 7;

/// What is known of the time that acks take.
pub(crate) struct Pace {
    /// The estimate, in us; 0 while no ack has been timed.
    estimate_us: u32,
    /// The message whose group is timed, or [`NO_SLOT`].
    slot: Slot,
    /// Number of the group's last frame, and when it was sent.
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

/// In the count of a message's early waits: the one that is under way is early too.
const EARLY_NOW: u8 = 1 << 7;

impl<N: Nic> Emp<'_, N> {
    /// The last frame of a group was sent for the first time.
    #[inline(always)]
    pub(crate) fn time_group(&mut self, slot: Slot, number: u16) {
        if self.pace.slot == NO_SLOT {
            self.pace.slot = slot;
            self.pace.number = number;
            self.pace.sent_us = self.nic.now_us();
        }
    }

    /// The ack of a group has come.
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

    /// A message has failed: its acks tell nothing.
    #[inline(always)]
    pub(crate) fn stop_timing(&mut self, slot: Slot) {
        if self.pace.slot == slot {
            self.pace.slot = NO_SLOT;
        }
    }

    /// Nothing came in time for a message.
    pub(crate) fn doubt_timing(&mut self, slot: Slot) {
        self.stop_timing(slot);
        let estimate_us = self.pace.estimate_us;
        self.pace.estimate_us = (estimate_us + (estimate_us >> 3)).min(LONGEST_US);
    }

    /// How long to wait now for an ack of a message that has seen `retries` of the host's timeouts expire
    /// since the last progress.
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

    /// A wait for an ack of a message has expired. Says whether it was an early one, which does not count
    /// as a retry.
    pub(crate) fn expire_early(&mut self, slot: Slot) -> bool {
        let early = &mut self.tables.transmit_mut(slot).early;
        let was_early = *early & EARLY_NOW != 0;
        if was_early {
            *early = (*early & !EARLY_NOW) + 1;
        }
        was_early
    }
}
