//! The transmitter: moves frames and acks into the transmit buffer, and reads page entries and payload from
//! host memory.
//!
//! A frame reserves its space in the transmit buffer first; from then on it must be sent. If its payload
//! cannot be read, its header says `Void`. The DMAs of the payload are queued before the header is written;
//! the last of them releases the frame to the MAC.

use crate::Emp;
use crate::descriptor::{Fetch, Seek};
use crate::dma::{active_fetch_cookie, frame_cookie, transmit_fetch_cookie};
use crate::jobs::{self, Queue};
use crate::nic::{Event, HostAddress, Nic, Stage};
use crate::roles::Roles;
use crate::tables::{Cursor, Slot};
use crate::transmit::{Cut, Words};
use defs::emp::control::{ROUTE_MAC_HIGH, ROUTE_MAC_LOW};
use defs::emp::descriptor::{Code, Form, WORD_LENGTH, WORD_STATUS};
use defs::emp::frame::{
    DATA_PAYLOAD, HEADER_PAYLOAD, KIND_MASK, KIND_SHIFT, Kind, WORD_FRAME_EPOCH,
    WORD_MESSAGE_LENGTH, WORD_OFFSET, WORD_SOURCE_MESSAGE, WORD_TAG_FRAMES, WORD_TYPE_KIND,
};

/// Number of free read DMAs needed before a frame begins: more than a frame that spans two pages uses.
const FRAME_READS: u32 = 4;
/// Backlog of the transmit buffer above which frames wait in host memory: some 130 us on the wire. A longer
/// backlog would delay acks.
const BACKLOG_LIMIT_BYTES: u32 = 16 * 1024;

/// A frame's address in the transmit buffer and the position of its payload in host memory.
pub(crate) struct TxPlace {
    start: u32,
    payload: Seek,
}

impl<N: Nic> Emp<'_, N> {
    /// Opens the source of a new message: takes over its pages. `false` if its descriptor is invalid.
    #[inline(always)]
    pub(crate) fn open_source(&mut self, slot: Slot, form: Form, length: u32) -> bool {
        let (array, cache) = (self.memory.descriptors(), self.memory.transmit_cache(slot));
        let source = self.tables.source_mut(slot);
        source.failed = false;
        source.closing = false;
        source
            .pages
            .take(&mut self.nic, array, u32::from(slot), form, length, cache)
    }

    /// Whether DMAs refer to a record; if so, the sender is notified of their end.
    #[inline(always)]
    pub(crate) fn awaits_source(&mut self, slot: Slot) -> bool {
        let source = self.tables.source_mut(slot);
        let busy = source.pending != 0;
        if busy {
            source.closing = true;
        }
        busy
    }

    /// Reserves space for a frame of `length` bytes, whose payload begins at `offset` of its message, if
    /// DMA slots and buffer allow it.
    #[inline(always)]
    pub(crate) fn place_frame(&mut self, slot: Slot, offset: u32, length: u32) -> Option<TxPlace> {
        let consumer = self.nic.tx_consumer();
        if self.nic.read_slots() < FRAME_READS
            || self.nic.tx_backlog(consumer) > BACKLOG_LIMIT_BYTES
        {
            return None;
        }
        let cache = self.memory.transmit_cache(slot);
        let source = self.tables.source_mut(slot);
        let payload = source.pages.seek(&self.nic, cache, offset);
        if let Seek::Missing(block) = payload {
            self.fetch_for_transmit(slot, block);
            return None;
        }
        let start = self.nic.reserve_tx(length, consumer)?;
        Some(TxPlace { start, payload })
    }

    /// Queues the DMAs of a frame's payload; the last one releases the frame. Returns whether all are
    /// queued.
    #[inline(always)]
    pub(crate) fn push_payload(&mut self, cut: &Cut, place: &TxPlace) -> bool {
        let slot = cut.slot;
        let cookie = frame_cookie(slot, place.start);
        let cache = self.memory.transmit_cache(slot);
        let (mut offset, mut left) = (cut.cursor.offset, cut.payload);
        if left == 0 {
            return true;
        }
        let mut payload = place.payload;
        let mut local = place.start + cut.header;
        let mut slots = FRAME_READS;
        loop {
            match payload {
                Seek::Found { host, room } => {
                    let piece = room.min(left);
                    left -= piece;
                    self.nic.push_read(host, local, piece, left == 0, cookie);
                    if left == 0 {
                        // The last one is counted when the MAC has the frame.
                        return true;
                    }
                    let source = self.tables.source_mut(slot);
                    source.pending += 1;
                    source.pages.step(&self.nic, cache);
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
            let source = self.tables.source_mut(slot);
            if source.failed {
                break;
            }
            payload = source.pages.seek(&self.nic, cache, offset);
        }
        self.give_up_frame(slot);
        false
    }

    /// Fails a message whose memory is too short or missing. Waits for the DMAs that its frame has queued,
    /// so that none of them can overwrite a later frame's header in the buffer.
    #[cold]
    #[inline(never)]
    fn give_up_frame(&mut self, slot: Slot) {
        self.fail_source(slot, Code::BadDescriptor);
        self.nic.wait_enter();
        while self.tables.source_mut(slot).pending != 0 {
            self.serve_reads();
        }
        self.nic.wait_exit();
    }

    /// Reports to the sender, once, that a message's memory could not be read.
    pub(crate) fn fail_source(&mut self, slot: Slot, code: Code) {
        let source = self.tables.source_mut(slot);
        if source.failed {
            return;
        }
        source.failed = true;
        if N::Roles::SENDER {
            self.fail_transmit(slot, code);
        } else {
            self.report(jobs::reports::FAILED, slot, code as u32);
        }
    }

    /// Queues a report on a message for the sender; there is room for two per message.
    fn report(&mut self, kind: u32, slot: Slot, what: u32) {
        let job = (kind << jobs::KIND_SHIFT) | (u32::from(slot) << jobs::SLOT_SHIFT) | what;
        self.nic.put(Queue::Reports, [job]);
    }

    /// Reports the end of a message's last DMA, as the sender requested.
    #[cold]
    #[inline(never)]
    pub(crate) fn close_source(&mut self, slot: Slot) {
        let source = self.tables.source_mut(slot);
        if source.pending != 0 {
            return;
        }
        source.closing = false;
        if N::Roles::SENDER {
            self.settle_transmit(slot);
        } else {
            self.report(jobs::reports::CLOSED, slot, 0);
        }
    }

    /// Writes a frame's header while its DMAs run, and gives it to the MAC. A frame that is not `whole` is
    /// void.
    #[inline(always)]
    pub(crate) fn finish_frame(&mut self, cut: &Cut, place: &TxPlace, words: &Words, whole: bool) {
        let (slot, start) = (cut.slot, place.start);
        let length = cut.header + cut.payload;
        self.write_header(start, words, whole);
        self.nic.push_tx(start, length);
        if whole && cut.payload != 0 {
            self.tables.source_mut(slot).pending += 1;
        } else {
            let end = self.nic.tx_advance(start, length);
            self.nic.release_cpu_frame(end);
        }
        if let Some(block) = self.tables.source_mut(slot).pages.next_block() {
            self.fetch_for_transmit(slot, block);
        }
    }

    #[inline(always)]
    fn write_header(&mut self, start: u32, words: &Words, whole: bool) {
        let (id, number) = (words.number_id & 0xFFFF, words.number_id >> 16);
        let type_kind = if whole {
            words.type_kind
        } else {
            void(words.type_kind)
        };
        self.write_addresses(start, words.node);
        self.store(start, WORD_TYPE_KIND, type_kind);
        self.store(start, WORD_SOURCE_MESSAGE, self.config.node_high | id);
        self.store(start, WORD_FRAME_EPOCH, (number << 16) | self.config.epoch);
        self.store(start, WORD_OFFSET, words.offset);
        if number == 0 {
            self.store(start, WORD_TAG_FRAMES, words.tag_frames);
            self.store(start, WORD_MESSAGE_LENGTH, words.length);
        }
        self.nic.event(Event::FrameSent, words.node, id, number);
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

    /// Starts a fetch of page entries, unless a fetch is in progress or the DMA ring is full.
    #[cold]
    #[inline(never)]
    pub(crate) fn fetch_for_transmit(&mut self, slot: Slot, block: u8) {
        if self.nic.read_slots() == 0 {
            return;
        }
        let cache = self.memory.transmit_cache(slot);
        let source = self.tables.source_mut(slot);
        if let Some(fetch) = source.pages.begin_fetch(cache, block) {
            source.pending += 1;
            self.push_fetch(&fetch, transmit_fetch_cookie(slot));
        }
    }

    fn push_fetch(&mut self, fetch: &Fetch, cookie: u32) {
        let &Fetch {
            host,
            local,
            length,
        } = fetch;
        self.nic.push_read(host, local, length, false, cookie);
    }

    /// Fetches page entries for an active receive; there is a DMA slot.
    pub(crate) fn push_active_fetch(&mut self, slot: Slot, fetch: &Fetch) {
        self.push_fetch(fetch, active_fetch_cookie(slot));
    }

    /// Waits within a frame until read DMAs can be queued again, and returns their number. The record is
    /// pinned meanwhile.
    #[cold]
    #[inline(never)]
    fn await_read_slots(&mut self, slot: Slot) -> u32 {
        self.nic.wait_enter();
        self.tables.source_mut(slot).pending += 1;
        while self.nic.read_slots() == 0 {
            self.serve_reads();
        }
        self.tables.source_mut(slot).pending -= 1;
        self.nic.wait_exit();
        self.nic.read_slots()
    }

    /// Waits within a frame until a block of page entries has arrived, or its fetch has failed.
    #[cold]
    #[inline(never)]
    fn await_transmit_fetch(&mut self, slot: Slot, block: u8) {
        self.nic.wait_enter();
        self.tables.source_mut(slot).pending += 1;
        while self.tables.source_mut(slot).pages.lacks(block)
            && !self.tables.source_mut(slot).failed
        {
            self.fetch_for_transmit(slot, block);
            self.serve_reads();
        }
        self.tables.source_mut(slot).pending -= 1;
        self.nic.wait_exit();
    }

    /// Handles frames from a sender on the other CPU: sends one, if DMA slots and buffer allow it.
    #[inline(always)]
    pub fn on_frames(&mut self) {
        if N::Roles::SENDER || !N::Roles::TRANSMITTER {
            return;
        }
        let Some(at) = self.nic.front(Queue::Frames) else {
            return self.nic.rest(Queue::Frames);
        };
        let job = self.nic.load(at);
        let slot = (job >> jobs::SLOT_SHIFT) as Slot;
        let taken = if job >> jobs::KIND_SHIFT == jobs::frames::CLOSE {
            self.tables.source_mut(slot).closing = true;
            self.close_source(slot);
            true
        } else {
            self.nic.stage_enter(Stage::Transmission);
            let taken = self.take_frame_job(at, job, slot);
            self.nic.stage_exit(Stage::Transmission);
            taken
        };
        if taken {
            self.frame_opened = false;
            self.nic.remove(Queue::Frames);
        }
    }

    /// Sends the frame of a job, if possible; returns whether the job is done.
    #[inline(always)]
    fn take_frame_job(&mut self, at: u32, job: u32, slot: Slot) -> bool {
        if job & jobs::frames::OPENS != 0 && !self.frame_opened {
            self.frame_opened = true;
            self.open_passed(slot);
        }
        let number_id = self.nic.load(at + 12);
        let first = number_id >> 16 == 0;
        let offset = self.nic.load(at + 16);
        let cut = Cut {
            slot,
            cursor: Cursor {
                offset: if first { 0 } else { offset },
                number: (number_id >> 16) as u16,
                before: 0,
                group: 0,
            },
            header: if first { HEADER_PAYLOAD } else { DATA_PAYLOAD },
            payload: job & 0xFFFF,
        };
        if self.tables.source_mut(slot).failed {
            return true;
        }
        let length = cut.header + cut.payload;
        let Some(place) = self.place_frame(slot, cut.cursor.offset, length) else {
            return false;
        };
        let words = Words {
            node: self.nic.load(at + 4),
            type_kind: self.nic.load(at + 8),
            number_id,
            offset,
            tag_frames: if first { self.nic.load(at + 20) } else { 0 },
            length: if first { self.nic.load(at + 24) } else { 0 },
        };
        let whole = self.push_payload(&cut, &place);
        self.finish_frame(&cut, &place, &words, whole);
        true
    }

    /// Opens a message of a sender on the other CPU.
    #[inline(always)]
    fn open_passed(&mut self, slot: Slot) {
        let status = self
            .nic
            .load(self.descriptor_word(u32::from(slot), WORD_STATUS));
        let length = self
            .nic
            .load(self.descriptor_word(u32::from(slot), WORD_LENGTH));
        let form = Form::from_status(status).unwrap_or(Form::Short);
        if !self.open_source(slot, form, length) {
            // The descriptor was valid when it was posted: the host has rewritten it.
            self.fail_source(slot, Code::BadDescriptor);
        }
    }

    /// Handles acks and fetches from the other CPU: executes one, if there is room for it.
    #[inline(always)]
    pub fn on_acks(&mut self) {
        if !N::Roles::TRANSMITTER || (N::Roles::MATCHER && N::Roles::DELIVERER) {
            return;
        }
        let Some(at) = self.nic.front(Queue::Acks) else {
            return self.nic.rest(Queue::Acks);
        };
        let job = [0, 4, 8, 12].map(|word| self.nic.load(at + word));
        if job[0] >> jobs::KIND_SHIFT == jobs::acks::ACK {
            self.send_ack(crate::ack::Ack::from_job(job));
        } else if !self.take_fetch(&job) {
            return;
        }
        self.nic.remove(Queue::Acks);
    }

    /// Starts a fetch for a deliverer on the other CPU; returns whether there was a DMA slot.
    #[cold]
    #[inline(never)]
    fn take_fetch(&mut self, job: &[u32; 4]) -> bool {
        if self.nic.read_slots() == 0 {
            return false;
        }
        let fetch = Fetch {
            host: HostAddress {
                high: job[1],
                low: job[2],
            },
            local: job[3],
            length: job[0] & 0xFFFF,
        };
        self.push_active_fetch((job[0] >> jobs::SLOT_SHIFT) as Slot, &fetch);
        true
    }
}

/// The word at `WORD_TYPE_KIND` that makes a frame void.
#[inline(always)]
const fn void(type_kind: u32) -> u32 {
    (type_kind & !(KIND_MASK << KIND_SHIFT)) | ((Kind::Void as u32) << KIND_SHIFT)
}
