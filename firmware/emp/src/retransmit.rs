//! Retransmission: one timer for all messages, also for those that arrive (`abandon`).
//!
//! A record's deadline moves when the last frame of a group is sent and when an ack brings progress. A receiver
//! takes messages in order: if a header frame is lost, everything behind it is dropped as early. So
//! retransmission concerns the *path* to a peer. Its deadline is that of the oldest message that waits for
//! acks, its *first* one.
//!
//! | event | sent again: all frames of groups that were sent and not acknowledged | counts as a try |
//! |-------|------------|-----------------|
//! | the first message is due | of it, and of all others to the peer whose acks are overdue | yes |
//! | a later message is answered | of those before it, once: frames and answers come in order | no |
//! | the peer reports a gap | of all from the gap on, also of one that is being sent | as an early wait |
//!
//! Retransmitted messages go in the order of their identifiers, before everything new. A try after which no
//! message to the peer has progressed lengthens the waits, up to 16 times the host's timeout. After the last
//! retry every message without an ack since its last try fails.
//!
//! The hardware timer is armed for a time not later than the earliest deadline of a path: a restart moves only
//! the record's deadline, and an expiry that finds nothing due arms the timer again. Without deadlines the
//! timer event is masked.

use crate::Emp;
use crate::nic::{Event, Nic};
use crate::pace::EARLY_NOW;
use crate::roles::Roles;
use crate::tables::{Closing, Cursor, NO_SLOT, Queueing, Slot, Transmit};
use defs::emp::control::Counter;
use defs::emp::descriptor::Code;

/// Deadlines that are so near are due: else many paths would keep the CPU in the timer's handler.
const GRAIN_US: u32 = 32;

/// The messages to a peer that are sent again.
#[derive(Clone, Copy)]
enum Again {
    /// All that were sent: there is a gap.
    All,
    /// The first one, and those that are due at this time, in us, with the same number of tries.
    Due(u32),
    /// Messages before this one that were not sent again since their last progress.
    Before(Slot),
}

impl<N: Nic> Emp<'_, N> {
    /// Handles the timer: resends what is due and arms the timer for the next deadline.
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
                    let node = u32::from(self.tables.transmit_mut(slot).node);
                    if self.oldest_transmit(node) == slot {
                        self.check_path(node, slot, now_us);
                    }
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

    /// Checks the deadline of the path to `node`, to which the message in `oldest` is the oldest open one.
    #[inline(always)]
    fn check_path(&mut self, node: u32, oldest: Slot, now_us: u32) {
        let mut first = oldest;
        loop {
            let record = self.tables.transmit_mut(first);
            if record.code == Code::Pending && record.outstanding != 0 {
                break;
            }
            first = record.peer_next;
            if first == oldest {
                return;
            }
        }
        let record = self.tables.transmit_mut(first);
        let (deadline_us, queueing) = (record.deadline_us, record.queueing);
        // The next look: after progress another message is the first one, perhaps with an earlier deadline.
        let soon_us = now_us.wrapping_add(self.first_wait_us());
        let due = is_due(deadline_us, now_us.wrapping_add(GRAIN_US));
        let soon = due || is_due(soon_us, deadline_us);
        self.arm_timer(if soon { soon_us } else { deadline_us });
        // While it still has frames to send, the peer is not silent.
        if due && queueing == Queueing::Out {
            self.repair_path(node, first, now_us);
        }
    }

    /// Sends messages to `node` again, or gives up; the message in `first` is due.
    #[cold]
    #[inline(never)]
    fn repair_path(&mut self, node: u32, first: Slot, now_us: u32) {
        if !self.try_again(node, first) {
            return self.fail_messages(node, Transmit::is_tried);
        }
        self.send_again(first, Again::Due(now_us.wrapping_add(self.overdue_us())));
        let tried = self.count_tried(node);
        self.tables.transmit_mut(first).tried = tried;
    }

    /// Number of open messages to `node` that were sent again without an ack since.
    #[cold]
    #[inline(never)]
    fn count_tried(&mut self, node: u32) -> u8 {
        let oldest = self.oldest_transmit(node);
        let (mut slot, mut tried) = (oldest, 0);
        loop {
            let record = self.tables.transmit_mut(slot);
            tried += u8::from(record.is_tried());
            slot = record.peer_next;
            if slot == oldest {
                return tried;
            }
        }
    }

    /// Counts a try of the oldest message that waits for acks. Progress of any message to the peer since
    /// the last try makes it the first one. Returns whether the peer may be asked once more.
    fn try_again(&mut self, node: u32, first: Slot) -> bool {
        let record = self.tables.transmit_mut(first);
        let tried_then = record.tried;
        if record.is_tried() && self.count_tried(node) < tried_then {
            let record = self.tables.transmit_mut(first);
            record.retries = 0;
            record.early &= EARLY_NOW;
        }
        let is_first = !self.tables.transmit_mut(first).is_tried();
        self.doubt_timing(is_first);
        let is_early = self.expire_early(first);
        let record = self.tables.transmit_mut(first);
        record.retries += u8::from(!is_early);
        u32::from(record.retries) <= self.config.retry_limit
    }

    /// Handles the report that the header frame of the message in `slot` is missing. What was sent after it
    /// was dropped, and is sent again. The reports of a message without progress are limited: then the
    /// timeouts decide.
    #[cold]
    #[inline(never)]
    pub(crate) fn apply_gap(&mut self, slot: Slot) -> Counter {
        let record = self.tables.transmit_mut(slot);
        let (node, id) = (u32::from(record.node), u32::from(record.id));
        if record.code == Code::Pending && record.sent() != 0 {
            record.begin_tries();
            if self.count_early(slot) {
                self.send_again(slot, Again::All);
            }
        }
        self.nic.event(Event::GapReceived, node, id, 0);
        Counter::GapsReceived
    }

    /// The message in `slot` was answered while older ones, from `oldest` on, are not acknowledged. Frames
    /// and answers come in order: a frame of these or an ack was lost. They are sent again, once.
    pub(crate) fn overtaken(&mut self, oldest: Slot, slot: Slot) {
        self.send_again(oldest, Again::Before(slot));
    }

    /// Sends again what is not acknowledged of messages to a peer, from `first` on, in their order and before
    /// anything new.
    #[cold]
    #[inline(never)]
    fn send_again(&mut self, first: Slot, again: Again) {
        let record = self.tables.transmit_mut(first);
        let (node, retries, early) = (
            u32::from(record.node),
            record.retries,
            record.early & !EARLY_NOW,
        );
        let oldest = self.oldest_transmit(node);
        let mut before = NO_SLOT;
        let mut slot = first;
        loop {
            let record = self.tables.transmit_mut(slot);
            let next = record.peer_next;
            let is_out = record.queueing == Queueing::Out;
            let chosen = match again {
                Again::All => true,
                Again::Due(until_us) => {
                    is_out && (slot == first || is_due(record.deadline_us, until_us))
                }
                Again::Before(_) => is_out && !record.is_tried(),
            };
            if chosen && record.code == Code::Pending && record.sent() != 0 {
                match again {
                    Again::Due(_) if slot != first => {
                        record.begin_tries();
                        record.retries = retries;
                        record.early = early;
                    }
                    Again::Before(_) => {
                        record.begin_tries();
                        self.count_early(slot);
                    }
                    _ => {}
                }
                let skip = match again {
                    Again::Due(_) => self.frames_to_skip(slot),
                    _ => 0,
                };
                self.begin_again(slot, skip);
                if is_out {
                    self.insert(slot, before);
                }
            }
            let record = self.tables.transmit_mut(slot);
            // A decided one waits for the transmitter, without order.
            if record.queueing == Queueing::In && record.code == Code::Pending {
                before = slot;
            }
            if next == oldest || matches!(again, Again::Before(end) if end == next) {
                break;
            }
            slot = next;
        }
        self.raise_send();
    }

    /// Begins to send a message's unacknowledged frames again, without so many of the first group.
    fn begin_again(&mut self, slot: Slot, skip: u8) {
        self.doubt_timed(slot);
        let record = self.tables.transmit_mut(slot);
        if !record.resending {
            record.resending = true;
            record.fresh = record.cursor;
        }
        record.closing = Closing::Ask;
        let (node, id, retries) = (record.node, record.id, record.retries);
        self.nic.event(
            Event::Retransmit,
            u32::from(node),
            u32::from(id),
            u32::from(retries),
        );
        self.resend_from(slot, 0, skip);
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

    /// [`restart_timer`](Self::restart_timer) where it is rare.
    #[cold]
    #[inline(never)]
    pub(crate) fn postpone(&mut self, slot: Slot) {
        self.restart_timer(slot);
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
            self.postpone(slot);
            self.resend_from(slot, next.number, 0);
        } else if next.number == self.tables.transmit_mut(slot).fresh.number {
            self.tables.transmit_mut(slot).resending = false;
        }
        let record = self.tables.transmit_mut(slot);
        if !record.resending && record.cursor.number == record.frames {
            self.leave_queue(slot);
        }
    }

    /// Moves the cursor to the first frame of the first group from frame `number` on that must be sent
    /// again, without its first `skip` frames; ends the retransmission if there is none. The last such group
    /// may have begun only.
    #[cold]
    #[inline(never)]
    fn resend_from(&mut self, slot: Slot, number: u16, skip: u8) {
        let (record, unacked) = self.tables.transmit_and_unacked(slot);
        let fresh = record.fresh;
        let first = match unacked.next(number, fresh.number) {
            Some(last) => {
                let frames = if last + 1 == record.frames {
                    u16::from(record.last_group)
                } else {
                    u16::from(fresh.group)
                };
                (last + 1).saturating_sub(frames)
            }
            None => fresh.number - u16::from(fresh.before),
        };
        if first == fresh.number {
            record.resending = false;
            record.cursor = fresh;
            return;
        }
        // At least one frame of the group goes; from then on the first one is left out again.
        let last = (fresh.number - first).min(u16::from(fresh.group)) as u8 - 1;
        let before = skip.min(last);
        let first = first + u16::from(before);
        let offset = match first {
            0 => 0,
            _ => self.config.header_capacity + product(first - 1, self.config.data_capacity),
        };
        record.cursor = Cursor {
            offset,
            number: first,
            before,
            group: fresh.group,
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
