//! Sending: a posted transmit becomes a record, a record becomes frames.
//!
//! ```text
//! posted -> open, queued --frames--> all sent, not queued --acks--> decided -> settled
//!              ^                         |
//!              +------- timeout ---------+
//! ```
//!
//! * A record's slot is its descriptor's index: there is a record for every send descriptor.
//! * Records with frames to send form a queue, oldest first. The head sends one frame at a time until
//!   it has no more: messages to a peer begin in the order of their identifiers, which is the order in
//!   which the peer matches them.
//! * A record is *decided* once its outcome (`code`) is known, by its last ack, a timeout or a
//!   failure. It is *settled*, its status written and its slot free, when besides no DMA names it and
//!   it is not in the queue: after its completion the NIC touches the message's memory no more.
//! * A frame takes its place in the transmit buffer first; from there on it must go out. If its
//!   payload cannot be had, its header says `Void`.

use crate::Emp;
use crate::descriptor::{Fetch, Seek};
use crate::dma::{frame_cookie, transmit_fetch_cookie};
use crate::nic::{Event, Nic, Stage, type_kind};
use crate::tables::{Cursor, FRAME_LIMIT, NO_SLOT, Queueing, Slot};
use defs::emp::control::{Counter, MAILBOX_TRANSMIT, ROUTE_MAC_HIGH, ROUTE_MAC_LOW};
use defs::emp::descriptor::{
    Code, Form, MESSAGE_LIMIT_BYTES, SEND_DESCRIPTORS, WORD_LENGTH, WORD_NODE_TAG,
};
use defs::emp::frame::{
    DATA_PAYLOAD, FLAG_GROUP_END, GROUP_BEFORE_SHIFT, HEADER_PAYLOAD, Kind, WORD_FRAME_EPOCH,
    WORD_MESSAGE_LENGTH, WORD_OFFSET, WORD_SOURCE_MESSAGE, WORD_TAG_FRAMES, WORD_TYPE_KIND,
};

/// Read DMAs that must be free before a frame begins: more than a frame that spans two pages needs.
const FRAME_READS: u32 = 4;
/// Frames wait in host memory, not in the transmit buffer, when so many bytes are in it: some 130 us
/// on the wire. What waits there delays acks.
const BACKLOG_LIMIT_BYTES: u32 = 16 * 1024;

/// A frame whose place in the transmit buffer is taken.
struct Outgoing {
    /// Its message.
    slot: Slot,
    /// Its place in the message.
    cursor: Cursor,
    /// Its address.
    start: u32,
    /// Bytes before its payload.
    header: u32,
    /// Bytes of its payload.
    payload: u32,
}

impl<N: Nic> Emp<'_, N> {
    /// The host posted a transmit. Its first frame leaves at once if nothing else waits to be sent.
    #[inline(always)]
    pub fn post_transmit(&mut self) {
        if let Some((index, status)) = self.take_post(MAILBOX_TRANSMIT) {
            self.open_transmit(index, status);
        }
        let sends = !self.send_raised && self.queue_first != NO_SLOT;
        self.nic.stage_exit(Stage::SendBookkeeping);
        if sends {
            self.on_send();
        }
    }

    /// Checks a descriptor and opens its record.
    #[inline(always)]
    fn open_transmit(&mut self, index: u32, status: u32) {
        let slot = index as Slot;
        if index >= SEND_DESCRIPTORS || self.is_open(slot) {
            return self.bad_post(self.descriptor_word(index, 0));
        }
        let node_tag = self.nic.load(self.descriptor_word(index, WORD_NODE_TAG));
        let length = self.nic.load(self.descriptor_word(index, WORD_LENGTH));
        let node = node_tag >> 16;
        if node >= self.config.route_count {
            return self.write_status(index, Code::UnknownNode, 0);
        }
        let Some(frames) = self.fragment(slot, status, length) else {
            return self.write_status(index, Code::BadDescriptor, 0);
        };
        let Some(id) = self.next_id(node) else {
            return self.write_status(index, Code::NoResources, 0);
        };
        let (peer_next, peer_previous) = self.link_transmit(node, slot);
        let start = Cursor::start(self.config.ack_group);
        let record = self.tables.transmit_mut(slot);
        record.length = length;
        record.cursor = start;
        record.fresh = start;
        record.frames = frames;
        record.outstanding = 0;
        record.pending = 0;
        record.id = id;
        record.node = node as u8;
        record.last_group = 0;
        record.retries = 0;
        record.resending = false;
        record.code = Code::Pending;
        record.peer_next = peer_next;
        record.peer_previous = peer_previous;
        self.tables.unacked[usize::from(slot)].clear(frames);
        self.tables.early[usize::from(slot)] = 0;
        self.open_count += 1;
        self.mark_open(slot, true);
        self.enqueue(slot);
        self.nic
            .event(Event::PostTransmit, node, u32::from(id), length);
    }

    /// Finds a message's pages; the result is its number of frames, `None` if the descriptor makes no sense.
    #[inline(always)]
    fn fragment(&mut self, slot: Slot, status: u32, length: u32) -> Option<u16> {
        let form = Form::from_status(status)?;
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
        let (array, cache) = (self.memory.descriptors(), self.memory.transmit_cache(slot));
        let pages = &mut self.tables.transmit_mut(slot).pages;
        pages
            .take(&mut self.nic, array, u32::from(slot), form, length, cache)
            .then_some(frames as u16)
    }

    /// Whether a record is taken: posted and its status not yet written.
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

    /// Puts a record at the end of the send queue.
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

    /// Takes the head out of the send queue.
    #[inline(always)]
    pub(crate) fn unqueue(&mut self) {
        let record = self.tables.transmit_mut(self.queue_first);
        record.queueing = Queueing::Out;
        self.queue_first = record.queue_next;
        if self.queue_first == NO_SLOT {
            self.queue_last = NO_SLOT;
        }
    }

    /// The head of the send queue has no more to send: it leaves, and is settled if it can be.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_queue(&mut self, slot: Slot) {
        self.unqueue();
        self.settle_transmit(slot);
    }

    /// Sends one frame of the oldest record that has any, if DMA slots and buffer allow it. Cutting the
    /// frame from its message is send bookkeeping, which grows with the frames; what follows is its
    /// transmission.
    #[inline(always)]
    pub(crate) fn transmit_next(&mut self) {
        let frame = self.cut_frame();
        self.nic.stage_exit(Stage::SendBookkeeping);
        if let Some((frame, place)) = frame {
            self.nic.stage_enter(Stage::Transmission);
            self.send_frame(&frame, place);
            self.nic.stage_exit(Stage::Transmission);
        }
    }

    /// The next frame, its place in the transmit buffer taken, and where its payload lies.
    #[inline(always)]
    fn cut_frame(&mut self) -> Option<(Outgoing, Seek)> {
        let slot = self.queue_first;
        if slot == NO_SLOT {
            return None;
        }
        let record = self.tables.transmit_mut(slot);
        if record.code != Code::Pending {
            self.leave_queue(slot);
            return None;
        }
        let cursor = record.cursor;
        let (header, capacity) = if cursor.number == 0 {
            (HEADER_PAYLOAD, self.config.header_capacity)
        } else {
            (DATA_PAYLOAD, self.config.data_capacity)
        };
        let payload = record.length.saturating_sub(cursor.offset).min(capacity);
        let consumer = self.nic.tx_consumer();
        if self.nic.read_slots() < FRAME_READS
            || self.nic.tx_backlog(consumer) > BACKLOG_LIMIT_BYTES
        {
            return None;
        }
        let cache = self.memory.transmit_cache(slot);
        let record = self.tables.transmit_mut(slot);
        let place = record.pages.seek(&self.nic, cache, cursor.offset);
        if let Seek::Missing(block) = place {
            self.fetch_for_transmit(slot, block);
            return None;
        }
        if self.config.flow_control && self.hold_back(slot) {
            return None;
        }
        let start = self.nic.reserve_tx(header + payload, consumer)?;
        let frame = Outgoing {
            slot,
            cursor,
            start,
            header,
            payload,
        };
        Some((frame, place))
    }

    /// One frame whose place is taken: its DMA, then its header while the DMA runs, then its MAC
    /// descriptor, then the records.
    #[inline(always)]
    fn send_frame(&mut self, frame: &Outgoing, place: Seek) {
        let &Outgoing {
            slot,
            cursor,
            start,
            header,
            payload,
        } = frame;
        let length = header + payload;
        let whole = payload == 0 || self.push_payload(frame, place);
        let frames = self.tables.transmit_mut(slot).frames;
        let after = u32::from(cursor.group - 1 - cursor.before).min(u32::from(
            frames.wrapping_sub(1).wrapping_sub(cursor.number),
        ));
        self.write_header(frame, after, whole);
        self.nic.push_tx(start, length);
        if !whole || payload == 0 {
            let end = self.nic.tx_advance(start, length);
            self.nic.release_cpu_frame(end);
        }
        let next = Cursor {
            offset: cursor.offset + payload,
            number: cursor.number + 1,
            before: if after == 0 { 0 } else { cursor.before + 1 },
            group: cursor.group,
        };
        self.account_frame(frame, next, whole && payload != 0);
        if let Some(block) = self.tables.transmit_mut(slot).pages.next_block() {
            self.fetch_for_transmit(slot, block);
        }
    }

    /// Queues the DMAs of a frame's payload, the first of which is at `place`; the last one releases the
    /// frame. Says whether they are all queued.
    #[inline(always)]
    fn push_payload(&mut self, frame: &Outgoing, mut place: Seek) -> bool {
        let slot = frame.slot;
        let cookie = frame_cookie(slot, frame.start);
        let cache = self.memory.transmit_cache(slot);
        let (mut offset, mut left) = (frame.cursor.offset, frame.payload);
        let mut local = frame.start + frame.header;
        let mut slots = FRAME_READS;
        loop {
            match place {
                Seek::Found { host, room } => {
                    let piece = room.min(left);
                    left -= piece;
                    self.nic.push_read(host, local, piece, left == 0, cookie);
                    if left == 0 {
                        // The last one is counted with the frame, when the MAC has that.
                        return true;
                    }
                    self.tables.transmit_mut(slot).pending += 1;
                    offset += piece;
                    local = self.nic.tx_advance(local, piece);
                    slots -= 1;
                    if slots == 0 {
                        slots = self.await_read_slots(slot);
                    }
                }
                Seek::Missing(block) => self.await_transmit_fetch(slot, block),
                Seek::End => break,
            }
            let record = self.tables.transmit_mut(slot);
            if record.code != Code::Pending {
                break;
            }
            place = record.pages.seek(&self.nic, cache, offset);
        }
        self.give_up_frame(slot);
        false
    }

    /// A frame's memory ends too early or is gone: its message fails. Waits for the DMAs that it has
    /// queued, so that none of them can meet a later frame's header in the buffer.
    #[cold]
    #[inline(never)]
    fn give_up_frame(&mut self, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        if record.code == Code::Pending {
            record.code = Code::BadDescriptor;
        }
        self.nic.wait_enter();
        while self.tables.transmit_mut(slot).pending != 0 {
            self.serve_reads();
        }
        self.nic.wait_exit();
    }

    /// Writes a frame's header. A frame that is not `whole` is void.
    #[inline(always)]
    fn write_header(&mut self, frame: &Outgoing, after: u32, whole: bool) {
        let &Outgoing {
            slot,
            cursor,
            start,
            ..
        } = frame;
        let record = &self.tables.transmit[usize::from(slot)];
        let node = u32::from(record.node);
        let (id, number) = (u32::from(record.id), u32::from(cursor.number));
        let (frames, length) = (u32::from(record.frames), record.length);
        let kind = match (whole, cursor.number) {
            (true, 0) => Kind::Header,
            (true, _) => Kind::Data,
            (false, _) => Kind::Void,
        };
        let place = (u32::from(cursor.before) << GROUP_BEFORE_SHIFT) | after;
        let flags = if after == 0 { FLAG_GROUP_END } else { 0 };
        self.write_addresses(start, node);
        self.store(start, WORD_TYPE_KIND, type_kind(kind) | flags | place);
        self.store(start, WORD_SOURCE_MESSAGE, self.config.node_high | id);
        self.store(start, WORD_FRAME_EPOCH, (number << 16) | self.config.epoch);
        if cursor.number == 0 {
            let oldest = self.oldest_transmit(node);
            let oldest = u32::from(self.tables.transmit_mut(oldest).id);
            let tag = self
                .nic
                .load(self.descriptor_word(u32::from(slot), WORD_NODE_TAG))
                << 16;
            self.store(start, WORD_OFFSET, oldest);
            self.store(start, WORD_TAG_FRAMES, tag | frames);
            self.store(start, WORD_MESSAGE_LENGTH, length);
        } else {
            self.store(start, WORD_OFFSET, cursor.offset);
        }
        self.nic.event(Event::FrameSent, node, id, number);
    }

    /// Writes a frame's Ethernet addresses.
    #[inline(always)]
    pub(crate) fn write_addresses(&mut self, start: u32, node: u32) {
        let high = self.nic.load(self.route_word(node, ROUTE_MAC_HIGH));
        let low = self.nic.load(self.route_word(node, ROUTE_MAC_LOW));
        self.store(start, 0, (high << 16) | (low >> 16));
        self.store(start, 1, (low << 16) | self.config.mac_high);
        self.store(start, 2, self.config.mac_low);
    }

    /// Writes a word of the frame at `start`.
    #[inline(always)]
    pub(crate) fn store(&mut self, start: u32, word: usize, value: u32) {
        self.nic.store(start + ((word as u32) << 2), value);
    }

    /// Notes in the record that a frame was sent, and a last DMA queued for it if it has payload (`last_read`);
    /// `next` is the one after it.
    #[inline(always)]
    fn account_frame(&mut self, frame: &Outgoing, next: Cursor, last_read: bool) {
        let Outgoing { slot, cursor, .. } = *frame;
        let group_end = next.before == 0;
        let record = self.tables.transmit_mut(slot);
        record.pending += u8::from(last_read);
        if record.resending {
            return self.account_resent(slot, next);
        }
        record.cursor = next;
        let last = next.number == record.frames;
        if group_end {
            record.outstanding += 1;
            record.last_group = cursor.before + 1;
            self.tables.unacked[usize::from(slot)].insert(cursor.number);
            self.time_group(slot, cursor.number);
            self.restart_timer(slot);
        }
        if last && last_read {
            self.unqueue();
        } else if last {
            // No DMA will come back to settle a message that has failed.
            self.leave_queue(slot);
        }
        self.count(Counter::FramesSent);
    }

    /// Starts to fetch page entries, unless a fetch is under way or the DMA ring is full.
    #[cold]
    #[inline(never)]
    pub(crate) fn fetch_for_transmit(&mut self, slot: Slot, block: u8) {
        if self.nic.read_slots() == 0 {
            return;
        }
        let cache = self.memory.transmit_cache(slot);
        let record = self.tables.transmit_mut(slot);
        if let Some(Fetch {
            host,
            local,
            length,
        }) = record.pages.begin_fetch(cache, block)
        {
            record.pending += 1;
            let cookie = transmit_fetch_cookie(slot);
            self.nic.push_read(host, local, length, false, cookie);
        }
    }

    /// Within a frame: waits until read DMAs can be queued again, and returns how many. The record is
    /// pinned meanwhile.
    #[cold]
    #[inline(never)]
    fn await_read_slots(&mut self, slot: Slot) -> u32 {
        self.nic.wait_enter();
        self.tables.transmit_mut(slot).pending += 1;
        while self.nic.read_slots() == 0 {
            self.serve_reads();
        }
        self.tables.transmit_mut(slot).pending -= 1;
        self.nic.wait_exit();
        self.nic.read_slots()
    }

    /// Within a frame: waits until a block of page entries has come, or its fetch has failed.
    #[cold]
    #[inline(never)]
    fn await_transmit_fetch(&mut self, slot: Slot, block: u8) {
        self.nic.wait_enter();
        self.tables.transmit_mut(slot).pending += 1;
        while self.tables.transmit_mut(slot).pages.lacks(block)
            && self.tables.transmit_mut(slot).code == Code::Pending
        {
            self.fetch_for_transmit(slot, block);
            self.serve_reads();
        }
        self.tables.transmit_mut(slot).pending -= 1;
        self.nic.wait_exit();
    }

    /// Writes the status of a decided record and frees it, unless a DMA names it or it is queued.
    #[inline(always)]
    pub(crate) fn settle_transmit(&mut self, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        let code = record.code;
        if code == Code::Pending
            || record.pending != 0
            || record.queueing != Queueing::Out
            || !self.is_open(slot)
        {
            return;
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
}

/// How many pieces of at most `capacity` bytes make `length` bytes (both at least 1): a division by
/// shifting and subtracting.
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
