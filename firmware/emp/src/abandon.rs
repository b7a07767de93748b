//! Abandoned receives: messages that stop before all frames have arrived.
//!
//! Three events abandon an incomplete message and end its receive with `Timeout`:
//!
//! | cause | detected by | record afterwards |
//! |-------|-------------|-------------------|
//! | the source closed the message | a header frame with a later oldest open identifier | free |
//! | the source restarted | a later epoch | free |
//! | silence | no frame of the message within the receive timeout | remembers the message |
//!
//! After a silence the source may still be alive and send more frames. They must not be acknowledged: an
//! ack states that the frames have arrived. So the record stays in its peer's list. A frame of the message
//! that requests an ack is answered by a nack, and then the source fails the message too. The record is
//! free once the source has closed the message. If another message needs a record earlier and none is free,
//! one remembered message is dropped: its source is then *in doubt*, and no old message of it is
//! acknowledged until a header frame shows that the source has no open message before the expected one.

use crate::Emp;
use crate::jobs::{self, Queue};
use crate::nic::Nic;
use crate::peer::is_after;
use crate::retransmit::is_due;
use crate::roles::Roles;
use crate::tables::{ACTIVE_SLOTS, Arriving, NO_SLOT, Slot};

/// Silence checks per receive timeout. Frames have no timers of their own: that would cost time on each
/// frame.
const LOOKS: u16 = 1 << LOOKS_SHIFT;
const LOOKS_SHIFT: u32 = 3;

impl<N: Nic> Emp<'_, N> {
    /// The source has closed its messages before an identifier, or all of them (restart): no more frames of
    /// them are expected.
    #[cold]
    #[inline(never)]
    pub(crate) fn abandon(&mut self, node: u32, before: Option<u16>) {
        let mut slot = self.first_active(node);
        while slot != NO_SLOT {
            let record = self.tables.active_mut(slot);
            let next = record.next;
            let id = record.key as u16;
            if before.is_none_or(|before| is_after(before, id)) {
                self.close_active(slot);
            }
            slot = next;
        }
    }

    /// Stops waiting for frames of a message: it ends with `Timeout` unless it has failed already.
    fn break_off(&mut self, slot: Slot, state: Arriving) {
        let record = self.tables.active_mut(slot);
        record.state = state;
        record.missing = 0;
        if N::Roles::DELIVERER {
            self.break_off_sink(slot);
        } else {
            let job = (jobs::arrivals::BREAK_OFF << jobs::KIND_SHIFT)
                | (u32::from(slot) << jobs::SLOT_SHIFT);
            self.nic.put(Queue::Arrivals, [job]);
        }
    }

    fn close_active(&mut self, slot: Slot) {
        let record = self.tables.active_mut(slot);
        match record.state {
            Arriving::Open if record.missing != 0 => {
                self.break_off(slot, Arriving::Closed);
            }
            Arriving::GivenUp => record.state = Arriving::Closed,
            Arriving::Remembered => {
                record.state = Arriving::Open;
                self.free_active_record(slot);
            }
            Arriving::Open | Arriving::Closed => {}
        }
    }

    /// When a check is due, looks for messages without a frame since the last check, and abandons those
    /// whose silence exceeds the timeout.
    pub(crate) fn check_silence(&mut self, now_us: u32) {
        if !is_due(self.look_at_us, now_us) {
            return self.arm_timer(self.look_at_us);
        }
        self.watching = false;
        for slot in 0..ACTIVE_SLOTS as Slot {
            let record = self.tables.active_mut(slot);
            if record.missing == 0 {
                continue;
            }
            if record.missing != record.missing_then {
                record.missing_then = record.missing;
                record.quiet = 0;
            }
            record.quiet += 1;
            if record.quiet < LOOKS {
                self.watch();
            } else {
                self.break_off(slot, Arriving::GivenUp);
            }
        }
    }

    /// Starts silence checks: a message of several frames is arriving.
    #[inline(always)]
    pub(crate) fn watch(&mut self) {
        if !self.watching {
            self.begin_to_watch();
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_to_watch(&mut self) {
        let limit_us = self.config.receive_timeout_us;
        if limit_us != 0 {
            self.watching = true;
            self.look_at_us = self
                .nic
                .now_us()
                .wrapping_add((limit_us >> LOOKS_SHIFT).max(1));
            self.arm_timer(self.look_at_us);
        }
    }

    /// Restarts the timeout of every arriving message after a change of the receive timeout.
    pub(crate) fn watch_anew(&mut self) {
        for slot in 0..ACTIVE_SLOTS as Slot {
            self.tables.active_mut(slot).quiet = 0;
        }
        self.watching = false;
        self.begin_to_watch();
    }

    /// Frees a record for a message from `node`, whose oldest open message is `oldest`. First choice:
    /// records that remember messages which that node has closed. Second choice: any record that remembers
    /// a message.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room(&mut self, node: u32, oldest: u16) {
        self.abandon(node, Some(oldest));
        if self.free_active == NO_SLOT {
            self.forget_one();
        }
    }

    /// Frees one record that remembers a message, if there is one.
    fn forget_one(&mut self) {
        for slot in 0..ACTIVE_SLOTS as Slot {
            let record = self.tables.active_mut(slot);
            if record.state == Arriving::Remembered {
                record.state = Arriving::Open;
                let node = record.key >> 16;
                self.doubt(node);
                return self.free_active_record(slot);
            }
        }
    }

    /// Finds the record of an old message for a frame that is not expected.
    pub(crate) fn find_old(&mut self, node: u32, key: u32) -> Option<(Slot, Arriving)> {
        let mut slot = self.first_active(node);
        while slot != NO_SLOT {
            let record = self.tables.active_mut(slot);
            if record.key == key {
                return Some((slot, record.state));
            }
            slot = record.next;
        }
        None
    }
}
