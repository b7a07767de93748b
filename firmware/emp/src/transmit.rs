//! The sender: a posted transmit becomes a record, a record becomes frames.
//!
//! ```text
//! posted -> open, queued --frames--> all sent, not queued --acks--> decided -> settled
//!              ^                         |
//!              +------- timeout ---------+
//! ```
//!
//! * A record's slot is its descriptor's index: every send descriptor has a record.
//! * Records with frames to send form a queue, oldest first. The head sends one frame at a time until it
//!   has no more: messages to a peer begin in the order of their identifiers, in which the peer matches
//!   them.
//! * A record is *decided* once its result (`code`) is known, by its last ack, a timeout or a failure. It
//!   is *settled* (status written, slot free) when in addition it is not in the queue and the transmitter
//!   (`frames`) has finished with it: after its completion the NIC does not access the message's memory. A
//!   transmitter on the other CPU is asked only if it may have unfinished work: acknowledged frames have
//!   been fetched.

use crate::Emp;
use crate::descriptor::covers;
use crate::jobs::{self, Queue};
use crate::nic::{Event, Nic, Stage, type_kind};
use crate::roles::Roles;
use crate::tables::{Closing, Cursor, FRAME_LIMIT, NO_SLOT, Queueing, Slot};
use core::hint::cold_path;
use defs::emp::control::{Counter, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{
    Code, Form, MESSAGE_LIMIT_BYTES, SEND_DESCRIPTORS, WORD_LENGTH, WORD_NODE_TAG,
};
use defs::emp::frame::{DATA_PAYLOAD, FLAG_GROUP_END, GROUP_BEFORE_SHIFT, HEADER_PAYLOAD, Kind};

/// A frame cut from its message.
pub(crate) struct Cut {
    /// Slot of its message.
    pub slot: Slot,
    /// Position of the frame in its message.
    pub cursor: Cursor,
    /// Bytes before its payload.
    pub header: u32,
    /// Bytes of its payload.
    pub payload: u32,
}

/// Header words of a frame that differ from frame to frame.
pub(crate) struct Words {
    /// Destination node.
    pub node: u32,
    /// The word at `WORD_TYPE_KIND`.
    pub type_kind: u32,
    /// Frame number (high half) and message identifier.
    pub number_id: u32,
    /// The word at `WORD_OFFSET`.
    pub offset: u32,
    /// A header frame's tag and number of frames.
    pub tag_frames: u32,
    /// A header frame's message length.
    pub length: u32,
}

impl<N: Nic> Emp<'_, N> {
    /// Handles a posted transmit. Its first frame is sent at once if the send queue is empty. `send` is
    /// [`on_send`](Self::on_send), an argument so that an image contains it only once.
    #[inline(always)]
    pub fn post_transmit(&mut self, send: fn(&mut Self)) {
        let free = |emp: &Self, index| index < SEND_DESCRIPTORS && !emp.is_open(index as Slot);
        if let Some((index, status)) = self.take_post(MAILBOX_TRANSMIT, free) {
            self.open_transmit(index, status);
        }
        let sends = !self.send_raised && self.queue_first != NO_SLOT;
        self.nic.stage_exit(Stage::SendBookkeeping);
        if sends {
            send(self);
        }
    }

    /// Checks a descriptor and opens its record.
    #[inline(always)]
    fn open_transmit(&mut self, index: u32, status: u32) {
        let slot = index as Slot;
        let node_tag = self.nic.load(self.descriptor_word(index, WORD_NODE_TAG));
        let length = self.nic.load(self.descriptor_word(index, WORD_LENGTH));
        let node = node_tag >> 16;
        if node >= self.config.route_count {
            return self.write_status(index, Code::UnknownNode, 0);
        }
        let form = Form::from_status(status);
        let Some(frames) = self.fragment(slot, form, length) else {
            return self.write_status(index, Code::BadDescriptor, 0);
        };
        let Some(id) = self.next_id(node) else {
            return self.write_status(index, Code::NoResources, 0);
        };
        let (peer_next, peer_previous) = self.link_transmit(node, slot);
        let closing = match form {
            Some(Form::Indirect) => Closing::Ask,
            _ => Closing::Clear,
        };
        let start = Cursor::start(self.config.ack_group);
        let record = self.tables.transmit_mut(slot);
        record.length = length;
        record.cursor = start;
        record.fresh = start;
        record.frames = frames;
        record.outstanding = 0;
        record.id = id;
        record.node = node as u8;
        record.last_group = 0;
        record.retries = 0;
        record.early = 0;
        record.resending = false;
        record.closing = closing;
        record.code = Code::Pending;
        record.peer_next = peer_next;
        record.peer_previous = peer_previous;
        self.tables.unacked_mut(slot).clear(frames);
        self.open_count += 1;
        self.mark_open(slot, true);
        self.enqueue(slot);
        self.nic
            .event(Event::PostTransmit, node, u32::from(id), length);
    }

    /// Finds a message's pages; returns its number of frames, `None` if the descriptor is invalid.
    #[inline(always)]
    fn fragment(&mut self, slot: Slot, form: Option<Form>, length: u32) -> Option<u16> {
        let form = form?;
        if length > MESSAGE_LIMIT_BYTES {
            return None;
        }
        let frames = 1 + match length.checked_sub(self.config.header_capacity) {
            None | Some(0) => 0,
            Some(more) => pieces(more, self.config.data_capacity),
        };
        if frames > FRAME_LIMIT {
            return None;
        }
        let valid = if N::Roles::TRANSMITTER {
            self.open_source(slot, form, length)
        } else {
            let array = self.memory.descriptors();
            covers(&mut self.nic, array, u32::from(slot), form, length)
        };
        valid.then_some(frames as u16)
    }

    /// Whether a record is in use: posted, and its status not yet written.
    #[inline(always)]
    pub(crate) fn is_open(&self, slot: Slot) -> bool {
        self.open_slots[usize::from(slot >> 5)] & (1 << (slot & 31)) != 0
    }

    #[inline(always)]
    fn mark_open(&mut self, slot: Slot, open: bool) {
        let word = &mut self.open_slots[usize::from(slot >> 5)];
        let bit = 1 << (slot & 31);
        *word = if open { *word | bit } else { *word & !bit };
    }

    /// Appends a record to the send queue.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        record.queueing = Queueing::In;
        record.queue_next = NO_SLOT;
        let last = self.queue_last;
        self.queue_last = slot;
        if last == NO_SLOT {
            self.queue_first = slot;
        } else {
            self.tables.transmit_mut(last).queue_next = slot;
        }
    }

    /// Puts a record into the send queue behind the record `before`, or, if that is [`NO_SLOT`], before all.
    // One copy: the images that divide the work have little room.
    #[inline(never)]
    pub(crate) fn insert(&mut self, slot: Slot, before: Slot) {
        let next = match before {
            NO_SLOT => core::mem::replace(&mut self.queue_first, slot),
            _ => core::mem::replace(&mut self.tables.transmit_mut(before).queue_next, slot),
        };
        let record = self.tables.transmit_mut(slot);
        record.queueing = Queueing::In;
        record.queue_next = next;
        if next == NO_SLOT {
            self.queue_last = slot;
        }
    }

    /// Removes the head of the send queue.
    #[inline(always)]
    pub(crate) fn unqueue(&mut self) {
        let record = self.tables.transmit_mut(self.queue_first);
        record.queueing = Queueing::Out;
        self.queue_first = record.queue_next;
        if self.queue_first == NO_SLOT {
            self.queue_last = NO_SLOT;
        }
    }

    /// Removes the head of the send queue, which has no more frames. There is room for one job.
    #[cold]
    #[inline(never)]
    fn dismiss(&mut self, slot: Slot) {
        self.unqueue();
        let record = self.tables.transmit_mut(slot);
        if N::Roles::TRANSMITTER || record.is_closed() {
            return self.settle_at_last(slot);
        }
        if record.closing != Closing::Asked {
            record.closing = Closing::Asked;
            let job =
                (jobs::frames::CLOSE << jobs::KIND_SHIFT) | (u32::from(slot) << jobs::SLOT_SHIFT);
            self.nic.put(Queue::Frames, [job]);
        }
    }

    /// Sends one frame of the oldest record that has any, if DMA slots and buffer allow it. Cutting the
    /// frame from its message counts as send bookkeeping, which grows with the frames; the transmitter's
    /// work counts as transmission.
    #[inline(always)]
    pub(crate) fn transmit_next(&mut self) {
        let Some(cut) = self.cut_frame() else {
            return self.nic.stage_idle(Stage::SendFrame);
        };
        if N::Roles::TRANSMITTER {
            let place = self.place_frame(cut.slot, cut.cursor.offset, cut.header + cut.payload);
            self.nic.stage_exit(Stage::SendFrame);
            let Some(place) = place else {
                return;
            };
            self.nic.stage_enter(Stage::Transmission);
            let whole = self.push_payload(&cut, &place);
            let words = self.words_of(&cut);
            self.finish_frame(&cut, &place, &words, whole);
            self.account_frame(&cut);
            self.nic.stage_exit(Stage::Transmission);
        } else {
            let words = self.words_of(&cut);
            self.nic.stage_exit(Stage::SendFrame);
            self.pass_frame(&cut, &words);
            self.nic.stage_enter(Stage::SendFrame);
            self.account_frame(&cut);
            self.nic.stage_exit(Stage::SendFrame);
        }
    }

    /// Cuts the next frame.
    #[inline(always)]
    fn cut_frame(&mut self) -> Option<Cut> {
        let slot = self.queue_first;
        if slot == NO_SLOT || (!N::Roles::TRANSMITTER && self.nic.room(Queue::Frames) == 0) {
            return None;
        }
        let record = self.tables.transmit_mut(slot);
        if record.code != Code::Pending {
            self.dismiss(slot);
            return None;
        }
        let cursor = record.cursor;
        let (header, capacity) = if cursor.number == 0 {
            (HEADER_PAYLOAD, self.config.header_capacity)
        } else {
            (DATA_PAYLOAD, self.config.data_capacity)
        };
        let payload = record.length.saturating_sub(cursor.offset).min(capacity);
        if self.config.flow_control {
            cold_path();
            if self.hold_back(slot) {
                return None;
            }
        }
        Some(Cut {
            slot,
            cursor,
            header,
            payload,
        })
    }

    /// The words of a frame's header.
    #[inline(always)]
    fn words_of(&mut self, cut: &Cut) -> Words {
        let cursor = cut.cursor;
        let record = self.tables.transmit(cut.slot);
        let after = record.frames_after(&cursor);
        let kind = if cursor.number == 0 {
            Kind::Header
        } else {
            Kind::Data
        };
        let place = (u32::from(cursor.before) << GROUP_BEFORE_SHIFT) | after;
        let flags = if after == 0 { FLAG_GROUP_END } else { 0 };
        let mut words = Words {
            node: u32::from(record.node),
            type_kind: type_kind(kind) | flags | place,
            number_id: (u32::from(cursor.number) << 16) | u32::from(record.id),
            offset: cursor.offset,
            tag_frames: u32::from(record.frames),
            length: record.length,
        };
        if cursor.number == 0 {
            let oldest = self.oldest_transmit(words.node);
            words.offset = u32::from(self.tables.transmit(oldest).id);
            let at = self.descriptor_word(u32::from(cut.slot), WORD_NODE_TAG);
            words.tag_frames |= self.nic.load(at) << 16;
        }
        words
    }

    /// Queues a frame for the transmitter; there is room.
    #[inline(always)]
    fn pass_frame(&mut self, cut: &Cut, words: &Words) {
        let first = cut.cursor.number == 0;
        let opens = first && !self.tables.transmit(cut.slot).resending;
        let job = (jobs::frames::FRAME << jobs::KIND_SHIFT)
            | if opens { jobs::frames::OPENS } else { 0 }
            | (u32::from(cut.slot) << jobs::SLOT_SHIFT)
            | cut.payload;
        let &Words {
            node,
            type_kind,
            number_id,
            offset,
            tag_frames,
            length,
        } = words;
        let job = [job, node, type_kind, number_id, offset, tag_frames, length];
        self.nic.put(Queue::Frames, job);
    }

    /// Records in the message's record that a frame was sent.
    #[inline(always)]
    fn account_frame(&mut self, cut: &Cut) {
        let &Cut {
            slot,
            cursor,
            payload,
            ..
        } = cut;
        let record = self.tables.transmit_mut(slot);
        let group_end = record.frames_after(&cursor) == 0;
        let next = Cursor {
            offset: cursor.offset + payload,
            number: cursor.number + 1,
            before: if group_end { 0 } else { cursor.before + 1 },
            group: cursor.group,
        };
        if record.resending {
            return self.account_resent(slot, next);
        }
        record.cursor = next;
        let last = next.number == record.frames;
        let decided = record.code != Code::Pending;
        if group_end {
            record.outstanding += 1;
            record.last_group = cursor.before + 1;
            self.tables.unacked_mut(slot).insert(cursor.number);
            self.time_group(slot, cursor.number);
            self.restart_timer(slot);
        }
        if last {
            self.unqueue();
            if decided {
                // It has failed, and perhaps no DMA completion will settle it.
                self.settle_at_last(slot);
            }
        }
        self.count(Counter::FramesSent);
    }

    /// Removes the head of the send queue, which has no more to send, and settles it if possible.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_queue(&mut self, slot: Slot) {
        self.unqueue();
        self.settle_at_last(slot);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn settle_at_last(&mut self, slot: Slot) {
        self.settle_transmit(slot);
    }

    /// Fails a message whose memory the transmitter could not read.
    pub(crate) fn fail_transmit(&mut self, slot: Slot, code: Code) {
        let open = self.is_open(slot);
        let record = self.tables.transmit_mut(slot);
        if open && record.code == Code::Pending {
            record.code = code;
        }
    }

    /// Writes the status of a decided record and frees it, unless it is queued or the transmitter may have
    /// unfinished work for it.
    #[inline(always)]
    pub(crate) fn settle_transmit(&mut self, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        let code = record.code;
        if code == Code::Pending || record.queueing != Queueing::Out || !self.is_open(slot) {
            return;
        }
        if N::Roles::TRANSMITTER {
            if self.awaits_source(slot) {
                return;
            }
        } else if !self.tables.transmit_mut(slot).is_closed() {
            return self.ask_transmitter(slot);
        }
        self.write_status(u32::from(slot), code, 0);
        let record = self.tables.transmit_mut(slot);
        let (node, id) = (u32::from(record.node), u32::from(record.id));
        self.unlink_transmit(node, slot);
        if code != Code::Done {
            self.stop_timing(slot);
        }
        self.mark_open(slot, false);
        self.open_count -= 1;
        if self.open_count == 0 {
            self.stop_timer();
        }
        self.nic
            .event(Event::TransmitComplete, node, id, code as u32);
    }

    /// Queues a decided record once more, before all others, so that its host does not wait for their frames: the transmitter is asked
    /// next. Its own frames, as far as they are sent, have been passed before.
    #[cold]
    #[inline(never)]
    fn ask_transmitter(&mut self, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        if record.closing == Closing::Asked {
            return;
        }
        self.insert(slot, NO_SLOT);
        self.raise_send();
    }
}

/// Number of pieces of at most `capacity` bytes in `length` bytes (both at least 1): a division by shifts
/// and subtractions.
#[inline(never)]
fn pieces(length: u32, capacity: u32) -> u32 {
    let mut left = length - 1;
    let (mut step, mut weight) = (capacity, 1);
    while step <= left {
        step <<= 1;
        weight <<= 1;
    }
    let mut count = 1;
    while weight != 0 {
        if left >= step {
            left -= step;
            count += weight;
        }
        step >>= 1;
        weight >>= 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_counted_without_dividing() {
        for capacity in [42, 50, 1486, 8986] {
            for length in (1..5000).chain([65_536, (2 << 20) - 1, 2 << 20]) {
                let length: u32 = length;
                assert_eq!(pieces(length, capacity), length.div_ceil(capacity));
            }
        }
    }
}
