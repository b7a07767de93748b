//! Messages that break off while they arrive.
//!
//! Three things end a message of which frames are still awaited, and its receive with `Timeout`:
//!
//! | who says so | how | afterwards |
//! |-------------|-----|------------|
//! | its source | a header frame with a later oldest open identifier | the record is free |
//! | its source | a later epoch | the record is free |
//! | this node | no frame of it came for the receive timeout | the record remembers it |
//!
//! In the last case the source may be alive and go on sending. What it sends must not be acknowledged, for
//! an ack says that the frames are there; an old message is acknowledged again only if it was received. So
//! the record stays in its peer's list, and a frame of the message that asks for an ack is answered by a nack, upon which the source
//! fails the message too. The record is free once the source has closed the message. If another message needs a record before that
//! and none is free, one is forgotten: its source is then *in doubt*, and nothing old is acknowledged to it
//! until a header frame says that nothing before the expected message is open there.

use crate::Emp;
use crate::jobs::{self, Queue};
use crate::nic::Nic;
use crate::peer::is_after;
use crate::retransmit::is_due;
use crate::roles::Roles;
use crate::tables::{ACTIVE_SLOTS, Arriving, NO_SLOT, Slot};

/// In a receive timeout silence is looked for so often. Frames are not timed one by one: that would cost on each.
const LOOKS: u16 = 1 << LOOKS_SHIFT;
const LOOKS_SHIFT: u32 = 3;

impl<N: Nic> Emp<'_, N> {
    /// The source has closed its messages before an identifier, or all (a later life): nothing more of them
    /// is awaited.
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

    /// No more frames of a message are awaited: it ends with `Timeout` unless it has failed already.
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

    /// Looks for messages that have got no frame since the last time, when it is time to; gives up those
    /// that have been silent for too long.
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

    /// A message of several frames is arriving: its silence has an end.
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

    /// The receive timeout has changed: all messages that are arriving have the whole of the new one.
    pub(crate) fn watch_anew(&mut self) {
        for slot in 0..ACTIVE_SLOTS as Slot {
            self.tables.active_mut(slot).quiet = 0;
        }
        self.watching = false;
        self.begin_to_watch();
    }

    /// Frees a record for a message from `node`, whose oldest open message is `oldest`: those that remember what
    /// that node has closed, or else one that remembers another message, if there is one.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room(&mut self, node: u32, oldest: u16) {
        self.abandon(node, Some(oldest));
        if self.free_active == NO_SLOT {
            self.forget_one();
        }
    }

    /// Frees the record of one remembered message, if there is one.
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

    /// What to do about a frame of an old message that is not awaited, from what is remembered of it.
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
