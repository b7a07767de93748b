//! The matcher: a posted receive waits in a list, a header frame makes it active, frames fill it.
//!
//! ```text
//! posted --header frame matches--> active --all frames in, all DMAs over--> settled
//!                                    |                                        ^
//!                                    +-- given up (`abandon`), DMAs over -----+
//! ```
//!
//! * A header frame is matched only if its message is the next one of its source. An earlier header frame
//!   is early, and shows a gap, which is reported to its source once; a later one belongs to an active message, or to a complete one whose acks were lost.
//! * Data frames of an active message are taken in any order, each once.
//! * A frame goes to the deliverer as soon as its position is known; records are updated after it.
//! * A dropped frame, or one that only needs an ack, is freed in ring order.
//! * Bytes beyond the end of the posted receive are dropped (`Truncated`). After a failure the rest of the
//!   message is acknowledged and dropped.

mod header;

use crate::Emp;
use crate::deliver::{Delivery, SinkOpening};
use crate::descriptor::covers;
use crate::jobs::{self, Queue};
use crate::nic::{Arrival, Event, Nic, RxFrame, Stage};
use crate::peer::is_after;
use crate::roles::Roles;
use crate::tables::{Arriving, FRAME_LIMIT, NO_SLOT, Posting, Slot};
use defs::emp::control::{Counter, MAILBOX_RECEIVE};
use defs::emp::descriptor::{
    ANY_NODE, ANY_TAG, Code, Form, MESSAGE_LIMIT_BYTES, SEND_DESCRIPTORS, WORD_LENGTH,
    WORD_NODE_TAG, node_tag,
};
use defs::emp::frame::{
    DATA_PAYLOAD, HEADER_PAYLOAD, Kind, WORD_MESSAGE_LENGTH, WORD_OFFSET, WORD_TAG_FRAMES,
    WORD_TYPE_KIND,
};
use header::{FramePosition, Header, Opening, is_kind, part_of_message};

/// In the low half of a peer's word of early frames: the expected message was turned away, not lost.
const TURNED_AWAY: u32 = 0xFFFF;

/// Reason for dropping a frame: the counter to increment, and the answer.
struct Refusal {
    counter: Counter,
    answer: Option<Kind>,
}

impl Refusal {
    /// Drops the frame without an answer.
    const fn of(counter: Counter) -> Self {
        Self {
            counter,
            answer: None,
        }
    }

    /// Drops the frame, with an answer if it ends its group.
    fn answered(counter: Counter, answer: Kind, header: &Header) -> Self {
        Self {
            counter,
            answer: header.group_end.then_some(answer),
        }
    }
}

impl<N: Nic> Emp<'_, N> {
    /// Handles a posted receive.
    #[inline(always)]
    pub fn post_receive(&mut self) {
        if !N::Roles::DELIVERER && self.nic.front(Queue::Closed).is_some() {
            // A receive that completed before this post may use the same descriptor.
            self.take_closed_first();
        }
        let free = |emp: &Self, index: u32| {
            let place = index.wrapping_sub(SEND_DESCRIPTORS) as u16;
            index >= SEND_DESCRIPTORS && emp.tables.posted(place).state == Posting::Free
        };
        let Some((index, status)) = self.take_post(MAILBOX_RECEIVE, free) else {
            return;
        };
        let place = index.wrapping_sub(SEND_DESCRIPTORS) as u16;
        let key = self.nic.load(self.descriptor_word(index, WORD_NODE_TAG));
        let capacity = self.nic.load(self.descriptor_word(index, WORD_LENGTH));
        let array = self.memory.descriptors();
        let valid = capacity <= MESSAGE_LIMIT_BYTES
            && Form::from_status(status)
                .is_some_and(|form| covers(&mut self.nic, array, index, form, capacity));
        if !valid {
            return self.write_status(index, Code::BadDescriptor, 0);
        }
        let (any_node, any_tag) = (node_tag(ANY_NODE, 0), node_tag(0, ANY_TAG));
        let mut mask = u32::MAX;
        if key & any_node == any_node {
            mask &= !any_node;
        }
        if key & any_tag == any_tag {
            mask &= !any_tag;
        }
        self.tables.append_posted(place, key, mask);
        self.nic
            .event(Event::PostReceive, key >> 16, key & 0xFFFF, capacity);
    }

    /// Handles a received frame. As in [`on_mailbox`](Self::on_mailbox), further steps are arguments:
    /// [`take_ack`](Self::take_ack) and [`take_frame`](Self::take_frame).
    #[inline(always)]
    pub fn on_receive(
        &mut self,
        take_ack: fn(&mut Self, Arrival),
        take_frame: fn(&mut Self, Arrival, u32),
    ) {
        if !N::Roles::MATCHER {
            return;
        }
        // Taking a frame from the MAC counts as receive bookkeeping until it turns out to be an ack.
        self.nic.stage_enter(Stage::ReceiveBookkeeping);
        let Some(arrival) = self.nic.next_rx() else {
            return self.nic.stage_exit(Stage::ReceiveBookkeeping);
        };
        let type_kind = self.word(arrival.start, WORD_TYPE_KIND);
        if is_kind(type_kind, Kind::Ack) {
            self.nic.stage_exit(Stage::ReceiveBookkeeping);
            if !self.has_room_for_frame() {
                return;
            }
            self.nic.stage_enter(Stage::TakeAck);
            take_ack(self, arrival);
        } else {
            take_frame(self, arrival, type_kind);
        }
    }

    /// Whether the queues to the other CPU have room for the jobs of a frame. Otherwise frames stay with
    /// the MAC, and waiting transmits proceed.
    #[inline(always)]
    fn has_room_for_frame(&mut self) -> bool {
        let fits = |queue: Queue| self.nic.room(queue) >= queue.room_for_frame();
        let room = (N::Roles::DELIVERER || fits(Queue::Arrivals))
            && (N::Roles::TRANSMITTER || fits(Queue::Acks))
            && (N::Roles::SENDER || fits(Queue::Reports));
        if !room {
            self.send_meanwhile();
        }
        room
    }

    #[cold]
    #[inline(never)]
    fn send_meanwhile(&mut self) {
        if N::Roles::SENDER && self.queue_first != NO_SLOT {
            self.on_send();
        }
    }

    /// Takes a received frame other than an ack; `type_kind` is its word at `WORD_TYPE_KIND`. The frame
    /// stays with the MAC while it cannot be delivered.
    #[inline(always)]
    pub fn take_frame(&mut self, arrival: Arrival, type_kind: u32) {
        if N::Roles::DELIVERER && !self.can_deliver() {
            self.nic.stage_exit(Stage::ReceiveBookkeeping);
            return self.resume();
        }
        if !self.has_room_for_frame() {
            return self.nic.stage_exit(Stage::ReceiveBookkeeping);
        }
        let frame = self.nic.take_rx(arrival);
        match part_of_message(&frame, type_kind) {
            Some(first) => self.receive_frame(frame, type_kind, first),
            None => self.take_other(frame, type_kind),
        }
    }

    /// Handles a frame that is not part of a message.
    #[cold]
    #[inline(never)]
    fn take_other(&mut self, frame: RxFrame, type_kind: u32) {
        let kind = if is_kind(type_kind, Kind::Gap) {
            Kind::Gap
        } else {
            Kind::Nack
        };
        let counter = if !frame.intact {
            Some(Counter::DropDamaged)
        } else if is_kind(type_kind, kind) && frame.length >= DATA_PAYLOAD {
            self.take_answer(frame, kind)
        } else {
            Some(Counter::DropForeign)
        };
        self.free_frame(frame);
        if let Some(counter) = counter {
            self.count_rarely(counter);
        }
        self.nic.stage_exit(Stage::ReceiveBookkeeping);
    }

    /// Handles a frame of a message (`first`: its header frame): matches and delivers it, then acknowledges
    /// its group.
    #[inline(always)]
    fn receive_frame(&mut self, frame: RxFrame, type_kind: u32, first: bool) {
        let header = self.header(frame.start, type_kind);
        let place = if header.node >= self.config.route_count {
            Err(Refusal::of(Counter::DropForeign))
        } else if first {
            self.place_header(frame, &header)
        } else {
            self.place_data(frame, &header)
        };
        match place {
            Ok(place) => {
                self.pass_on(&frame, &place, &header);
                let complete = self.account(&place, &header);
                if N::Roles::DELIVERER && place.last {
                    self.end_sink(place.delivery.slot);
                }
                self.nic.stage_exit(Stage::ReceiveBookkeeping);
                if complete {
                    self.answer(header.answer(Kind::Ack));
                }
            }
            Err(refusal) => self.refuse(frame, &header, refusal),
        }
    }

    /// Passes a frame to the deliverer.
    #[inline(always)]
    fn pass_on(&mut self, frame: &RxFrame, place: &FramePosition, header: &Header) {
        let delivery = &place.delivery;
        let opening = place.opening.map(|opening| SinkOpening {
            descriptor: (u32::from(opening.posted) + SEND_DESCRIPTORS) as u16,
            key: header.key,
            tag: opening.tag_frames >> 16,
            length: opening.length,
        });
        self.nic.stage_exit(Stage::ReceiveBookkeeping);
        if N::Roles::DELIVERER {
            self.nic.stage_enter(Stage::ReceiveFrame);
            if let Some(opening) = &opening {
                self.open_sink(delivery.slot, opening);
            }
            self.deliver(frame.start, frame.length, delivery);
            self.nic.stage_exit(Stage::ReceiveFrame);
        } else {
            self.queue_frame(frame, place, &opening);
        }
        self.nic.stage_enter(Stage::ReceiveBookkeeping);
    }

    /// Queues a frame for a deliverer on the other CPU; there is room.
    #[inline(always)]
    fn queue_frame(
        &mut self,
        frame: &RxFrame,
        place: &FramePosition,
        opening: &Option<SinkOpening>,
    ) {
        let delivery = &place.delivery;
        let job = (u32::from(delivery.slot) << jobs::SLOT_SHIFT)
            | if place.last { jobs::arrivals::LAST } else { 0 }
            | frame.length;
        let (start, payload) = (frame.start, delivery.payload);
        let (kind, place, key, length) = match opening {
            Some(opening) => {
                let descriptor_tag = (u32::from(opening.descriptor) << 16) | opening.tag;
                let (key, length) = (opening.key, opening.length);
                (jobs::arrivals::OPEN, descriptor_tag, key, length)
            }
            None => (jobs::arrivals::DELIVER, delivery.offset, 0, 0),
        };
        let job = job | (kind << jobs::KIND_SHIFT);
        let job = [job, start, payload, place, key, length];
        self.nic.put(Queue::Arrivals, job);
    }

    /// Drops a frame and answers it.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, frame: RxFrame, header: &Header, refusal: Refusal) {
        self.nic.event(
            Event::FrameDropped,
            header.node,
            header.key & 0xFFFF,
            u32::from(header.number),
        );
        self.drop_frame(frame, refusal.counter);
        self.nic.stage_exit(Stage::ReceiveBookkeeping);
        if let Some(kind) = refusal.answer {
            let mut answer = header.answer(kind);
            if kind == Kind::Gap {
                answer.key = (header.node << 16) | u32::from(self.expected_id(header.node));
                answer.number = 0;
            }
            self.answer_rarely(answer);
        }
    }

    /// Matches a message's first frame to a receive and opens its record.
    #[inline(always)]
    fn place_header(&mut self, frame: RxFrame, header: &Header) -> Result<FramePosition, Refusal> {
        let node = header.node;
        let oldest = self.word(frame.start, WORD_OFFSET) as u16;
        let tag_frames = self.word(frame.start, WORD_TAG_FRAMES);
        let length = self.word(frame.start, WORD_MESSAGE_LENGTH);
        let frames = tag_frames & 0xFFFF;
        let room = frame.length - HEADER_PAYLOAD;
        if frames.wrapping_sub(1) >= FRAME_LIMIT
            || length > MESSAGE_LIMIT_BYTES
            || (room >= length) != (frames == 1)
            || !header.fits(frames as u16)
            || header.number != 0
            || is_after(oldest, header.key as u16)
        {
            return Err(Refusal::of(Counter::DropForeign));
        }
        if !self.is_sure_of(node, header.epoch) && !self.meet(node, header.epoch, oldest) {
            return Err(Refusal::of(Counter::DropEpoch));
        }
        let mut expected = self.expected_id(node);
        if is_after(oldest, expected) {
            self.expect_id(node, oldest);
            expected = oldest;
        }
        if header.key as u16 != expected {
            self.abandon(node, Some(oldest));
            return Err(self.out_of_turn(header, expected));
        }
        let Some(posted) = self.tables.find_posted((node << 16) | (tag_frames >> 16)) else {
            return Err(self.turn_away(node, oldest, Counter::DropUnmatched));
        };
        if self.free_active == NO_SLOT {
            self.make_room(node, oldest);
        }
        let slot = self.free_active;
        if slot == NO_SLOT {
            return Err(self.turn_away(node, oldest, Counter::DropResources));
        }
        Ok(FramePosition {
            delivery: Delivery {
                slot,
                header_bytes: HEADER_PAYLOAD,
                offset: 0,
                payload: room.min(length),
            },
            last: frames == 1,
            opening: Some(Opening {
                posted,
                frame_bytes: frame.length as u16,
                length,
                tag_frames,
                oldest,
            }),
        })
    }

    /// Handles a message in sequence that cannot be taken. Its header's information on other messages is
    /// still used.
    #[cold]
    #[inline(never)]
    fn turn_away(&mut self, node: u32, oldest: u16, counter: Counter) -> Refusal {
        self.abandon(node, Some(oldest));
        // What follows the message is early because of this node: the sender need not know it.
        let expected = u32::from(self.expected_id(node));
        *self.tables.heard_mut(node) = (expected << 16) | TURNED_AWAY;
        Refusal::of(counter)
    }

    /// Finds the record of a message's further frame.
    #[inline(always)]
    fn place_data(&mut self, frame: RxFrame, header: &Header) -> Result<FramePosition, Refusal> {
        let (node, epoch) = (header.node, header.epoch);
        if !self.is_sure_of(node, epoch) && !self.has_met(node, epoch) {
            return Err(Refusal::of(Counter::DropEpoch));
        }
        let Some(slot) = self.find_active(node, header.key) else {
            let expected = self.expected_id(node);
            return Err(self.out_of_turn(header, expected));
        };
        let offset = self.word(frame.start, WORD_OFFSET);
        let record = self.tables.active_mut(slot);
        let rest = record.length.wrapping_sub(offset);
        let room = frame.length - DATA_PAYLOAD;
        if !header.fits(record.frames)
            || offset >= record.length
            // All frames have the length of the first one, except the last.
            || (frame.length != u32::from(record.frame_bytes)
                && (room < rest || header.number.wrapping_add(1) != record.frames))
        {
            return Err(Refusal::of(Counter::DropForeign));
        }
        if self.tables.arrived_mut(slot).has(header.number) {
            return Err(self.taken_before(slot, header));
        }
        let last = self.tables.active_mut(slot).missing == 1;
        Ok(FramePosition {
            delivery: Delivery {
                slot,
                header_bytes: DATA_PAYLOAD,
                offset,
                payload: room.min(rest),
            },
            last,
            opening: None,
        })
    }

    /// Records a frame's arrival. Returns whether all frames of its group have arrived.
    #[inline(always)]
    fn account(&mut self, place: &FramePosition, header: &Header) -> bool {
        let slot = place.delivery.slot;
        if let Some(opening) = place.opening {
            self.open_active(slot, header, opening);
        }
        self.tables.active_mut(slot).missing -= 1;
        let arrived = self.tables.arrived_mut(slot);
        arrived.insert(header.number);
        let complete = header.group_in(arrived);
        self.count(Counter::FramesAccepted);
        self.nic.event(
            Event::FrameMatched,
            header.node,
            header.key & 0xFFFF,
            u32::from(header.number),
        );
        complete
    }

    /// Completes the opening of a message after its first frame's DMA was started: unlinks its receive,
    /// links its record to the peer, and expects the next message.
    #[inline(always)]
    fn open_active(&mut self, slot: Slot, header: &Header, opening: Opening) {
        self.free_active = self.tables.active_mut(slot).next;
        let next = self.push_active(header.node, slot);
        let frames = opening.tag_frames as u16;
        let record = self.tables.active_mut(slot);
        record.state = Arriving::Open;
        record.descriptor = opening.posted + SEND_DESCRIPTORS as u16;
        record.next = next;
        record.key = header.key;
        record.length = opening.length;
        record.frame_bytes = opening.frame_bytes;
        record.frames = frames;
        record.missing = frames;
        record.missing_then = frames;
        record.quiet = 0;
        self.tables.arrived_mut(slot).clear(frames);
        self.tables.unlink_posted(opening.posted, Posting::Filling);
        self.expect_id(header.node, (header.key as u16).wrapping_add(1));
        if next != NO_SLOT {
            self.abandon(header.node, Some(opening.oldest));
        }
        if frames != 1 {
            self.watch();
        }
    }

    /// Handles a frame whose message is neither the next one nor one that expects the frame.
    #[cold]
    #[inline(never)]
    fn out_of_turn(&mut self, header: &Header, expected: u16) -> Refusal {
        let id = header.key as u16;
        if id == expected || is_after(id, expected) {
            return Refusal {
                counter: Counter::DropEarly,
                answer: self.opens_gap(header, expected).then_some(Kind::Gap),
            };
        }
        match self.find_old(header.node, header.key) {
            Some((slot, Arriving::Open)) => self.taken_before(slot, header),
            Some((_, Arriving::GivenUp | Arriving::Remembered)) => {
                Refusal::answered(Counter::DropAbandoned, Kind::Nack, header)
            }
            Some((_, Arriving::Closed)) => Refusal::of(Counter::DropAbandoned),
            None if self.is_in_doubt(header.node) => Refusal::of(Counter::DropAbandoned),
            None => Refusal::answered(Counter::DropDuplicate, Kind::Ack, header),
        }
    }

    /// Whether the source must be told that the header frame of its message `expected` is missing: an early
    /// frame is the first one that shows it, or one that was sent before the last one heard, so that the
    /// source has begun again from the gap and its header frame was lost once more.
    fn opens_gap(&mut self, header: &Header, expected: u16) -> bool {
        let ahead = u32::from((header.key as u16).wrapping_sub(expected));
        let position = match ahead {
            0 => u32::from(header.number),
            _ if header.number == 0 => FRAME_LIMIT + ahead,
            _ => return false,
        };
        let heard = self.tables.heard_mut(header.node);
        let before = match *heard >> 16 {
            id if id == u32::from(expected) => *heard & 0xFFFF,
            _ => 0,
        };
        if before == TURNED_AWAY {
            return false;
        }
        *heard = (u32::from(expected) << 16) | position;
        before == 0 || position <= before
    }

    /// Handles a duplicate frame of an active message: its source is alive.
    #[cold]
    #[inline(never)]
    fn taken_before(&mut self, slot: Slot, header: &Header) -> Refusal {
        self.tables.active_mut(slot).quiet = 0;
        if header.group_in(self.tables.arrived_mut(slot)) {
            Refusal::answered(Counter::DropDuplicate, Kind::Ack, header)
        } else {
            Refusal::of(Counter::DropDuplicate)
        }
    }

    /// Frees an undelivered frame.
    #[inline(always)]
    fn drop_frame(&mut self, frame: RxFrame, counter: Counter) {
        self.free_frame(frame);
        self.count_rarely(counter);
    }

    /// Handles the end of a message: the deliverer has finished, and the host is notified.
    #[inline(always)]
    pub(crate) fn close(&mut self, slot: Slot) {
        let record = self.tables.active_mut(slot);
        let place = record.descriptor.wrapping_sub(SEND_DESCRIPTORS as u16);
        let state = record.state;
        self.tables.posted_mut(place).state = Posting::Free;
        if state == Arriving::GivenUp {
            self.tables.active_mut(slot).state = Arriving::Remembered;
        } else {
            self.free_active_record(slot);
        }
    }

    /// Removes a record from its peer's list and frees it.
    #[inline(always)]
    pub(crate) fn free_active_record(&mut self, slot: Slot) {
        let record = self.tables.active_mut(slot);
        let (node, next) = (record.key >> 16, record.next);
        if !self.pop_active(node, slot, next) {
            self.unlink_active(slot, node, next);
        }
        let free = self.free_active;
        self.tables.active_mut(slot).next = free;
        self.free_active = slot;
    }

    /// Removes a record other than the first from its peer's list.
    #[inline(never)]
    fn unlink_active(&mut self, slot: Slot, node: u32, next: Slot) {
        let mut at = self.first_active(node);
        while at != NO_SLOT {
            let record = self.tables.active_mut(at);
            if record.next == slot {
                record.next = next;
                return;
            }
            at = record.next;
        }
    }

    /// Handles messages that a deliverer on the other CPU has finished.
    #[inline(always)]
    pub fn on_closed(&mut self) {
        if N::Roles::DELIVERER || !N::Roles::MATCHER {
            return;
        }
        if self.nic.front(Queue::Closed).is_none() {
            return self.nic.rest(Queue::Closed);
        }
        self.take_closed();
    }

    #[inline(never)]
    fn close_passed(&mut self, slot: Slot) {
        self.nic.stage_enter(Stage::ReceiveBookkeeping);
        self.close(slot);
        self.nic.stage_exit(Stage::ReceiveBookkeeping);
    }

    #[cold]
    #[inline(never)]
    fn take_closed_first(&mut self) {
        self.take_closed();
    }

    #[inline(always)]
    fn take_closed(&mut self) {
        while let Some(at) = self.nic.front(Queue::Closed) {
            let slot = self.nic.load(at) as Slot;
            self.nic.remove(Queue::Closed);
            self.close_passed(slot);
        }
    }
}
