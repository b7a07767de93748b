//! Retransmission: one timer for all messages, also for those that arrive (`abandon`).
//!
//! A record's deadline moves when the last frame of a group is sent and when an ack brings progress. When
//! it expires, all frames of every sent and unacknowledged group are sent again, and the next timeout is
//! twice as long, up to 16 times the first. After the last retry the message fails.
//!
//! The hardware timer is armed for a time not later than the earliest deadline: a restart moves only the
//! record's deadline, and an expiry that finds nothing due arms the timer again. Without deadlines the
//! timer event is masked.

use crate::Emp;
use crate::nic::{Event, Nic};
use crate::roles::Roles;
use crate::tables::{Closing, Cursor, Queueing, Slot};
use defs::emp::control::Counter;
use defs::emp::descriptor::Code;

impl<N: Nic> Emp<'_, N> {
    /// Handles the timer: resends everything due and arms the timer for the next deadline.
    #[inline(never)]
    pub fn on_timer(&mut self) {
        self.timer_armed = false;
        let now_us = self.nic.now_us();
        let words = if N::Roles::SENDER {
            self.open_slots.len() as u8
        } else {
            0
        };
        for index in 0..words {
            let mut slots = self.open_slots[usize::from(index & 7)];
            let mut slot = index << 5;
            while slots != 0 {
                if slots & 1 != 0 {
                    self.check_deadline(slot, now_us);
                }
                slots >>= 1;
                slot = slot.wrapping_add(1);
            }
        }
        if N::Roles::SENDER && self.held != 0 {
            self.release_held(now_us);
        }
        if N::Roles::MATCHER && self.watching {
            self.check_silence(now_us);
        }
        if !self.timer_armed {
            self.nic.disarm_timer();
        }
    }

    fn check_deadline(&mut self, slot: Slot, now_us: u32) {
        let record = self.tables.transmit_mut(slot);
        if record.outstanding == 0 || record.code != Code::Pending {
            return;
        }
        let deadline_us = record.deadline_us;
        if !is_due(deadline_us, now_us) {
            return self.arm_timer(deadline_us);
        }
        if record.queueing != Queueing::Out {
            // The message still has frames to send: the peer is not silent.
            return self.restart_timer(slot);
        }
        let early = self.expire_early(slot);
        let limit = self.config.retry_limit;
        let record = self.tables.transmit_mut(slot);
        record.retries += u8::from(!early);
        let (node, id, retries) = (record.node, record.id, record.retries);
        if u32::from(retries) > limit {
            record.code = Code::Timeout;
            return self.settle_transmit(slot);
        }
        record.resending = true;
        record.closing = Closing::Ask;
        record.fresh = record.cursor;
        self.nic.event(
            Event::Retransmit,
            u32::from(node),
            u32::from(id),
            u32::from(retries),
        );
        self.doubt_timing(slot);
        self.resend_from(slot, 0);
        self.enqueue(slot);
        self.raise_send();
        self.restart_timer(slot);
    }

    /// Moves a record's deadline to one timeout from now.
    #[inline(always)]
    pub(crate) fn restart_timer(&mut self, slot: Slot) {
        let now_us = self.nic.now_us();
        let record = self.tables.transmit_mut(slot);
        let retries = record.retries;
        let deadline_us = now_us.wrapping_add(self.wait_us(slot, retries));
        self.tables.transmit_mut(slot).deadline_us = deadline_us;
        self.arm_timer(deadline_us);
    }

    /// Ensures that the timer expires not after `deadline_us`.
    #[inline(always)]
    pub(crate) fn arm_timer(&mut self, deadline_us: u32) {
        if !self.timer_armed || !is_due(self.armed_at_us, deadline_us) {
            self.timer_armed = true;
            self.armed_at_us = deadline_us;
            self.nic.arm_timer(deadline_us);
        }
    }

    /// Stops the timer when no transmit is open, unless it watches arriving messages.
    #[inline(always)]
    pub(crate) fn stop_timer(&mut self) {
        if self.timer_armed && !self.watching {
            self.timer_armed = false;
            self.nic.disarm_timer();
        }
    }

    /// Moves on after a retransmitted frame: to the next one (`next`, if it is in the current group), or to
    /// the first frame of the next group that needs it.
    #[cold]
    #[inline(never)]
    pub(crate) fn account_resent(&mut self, slot: Slot, next: Cursor) {
        self.count(Counter::FramesResent);
        self.tables.transmit_mut(slot).cursor = next;
        if next.before == 0 {
            self.restart_timer(slot);
            self.resend_from(slot, next.number);
        }
        let record = self.tables.transmit_mut(slot);
        if !record.resending && record.cursor.number == record.frames {
            self.leave_queue(slot);
        }
    }

    /// Moves the cursor to the first group from frame `number` on that must be sent again; ends the
    /// retransmission if there is none.
    fn resend_from(&mut self, slot: Slot, number: u16) {
        let (record, unacked) = self.tables.transmit_and_unacked(slot);
        let Some(last) = unacked.next(number, record.fresh.number) else {
            record.resending = false;
            record.cursor = record.fresh;
            return;
        };
        let frames = if last + 1 == record.frames {
            u16::from(record.last_group)
        } else {
            u16::from(record.fresh.group)
        };
        let first = (last + 1).saturating_sub(frames);
        let offset = match first {
            0 => 0,
            _ => self.config.header_capacity + product(first - 1, self.config.data_capacity),
        };
        record.cursor = Cursor {
            offset,
            number: first,
            before: 0,
            group: record.fresh.group,
        };
    }
}

/// Whether the time `at_us` is past at `now_us`.
#[inline(always)]
pub(crate) fn is_due(at_us: u32, now_us: u32) -> bool {
    now_us.wrapping_sub(at_us) < 1 << 31
}

/// `count * value` by shifts and additions.
fn product(count: u16, value: u32) -> u32 {
    let (mut count, mut value) = (u32::from(count), value);
    let mut sum: u32 = 0;
    while count != 0 {
        if count & 1 != 0 {
            sum = sum.wrapping_add(value);
        }
        count >>= 1;
        value <<= 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{is_due, product};

    #[test]
    fn times_wrap() {
        let check = |at, now, expected| assert_eq!(is_due(at, now), expected, "{at} at {now}");
        check(5, 5, true);
        check(5, 4, false);
        check(u32::MAX, 3, true);
        check(3, u32::MAX, false);
    }

    #[test]
    fn products_need_no_multiplier() {
        for count in [0, 1, 2, 3, 470, 1411, u16::MAX] {
            assert_eq!(product(count, 1486), u32::from(count) * 1486);
        }
    }
}
