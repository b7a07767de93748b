//! Delivering: a matched frame's payload goes to host memory, and a message that is all there to its
//! host.
//!
//! A frame may need several DMAs (its message's pages); the last one frees it. While a DMA or a fetch of
//! page entries is under way its record counts it as pending; the host is told when all frames have
//! arrived and nothing is pending. Word order matters there: the status, which the host polls,
//! is written last.

use crate::Emp;
use crate::descriptor::{Fetch, Seek};
use crate::dma::{active_fetch_cookie, delivery_cookie};
use crate::nic::{Event, Nic, RxFrame};
use crate::tables::{Active, Arriving, NO_SLOT, Posting, Slot};
use defs::emp::descriptor::{Code, SEND_DESCRIPTORS};

/// Write DMAs that must be free before a frame is taken: more than one that spans two pages needs.
pub(crate) const FRAME_WRITES: u32 = 4;

/// Where a frame's payload belongs.
pub(crate) struct Place {
    /// Its message.
    pub slot: Slot,
    /// Offset of the payload in the frame.
    pub header_bytes: u32,
    /// Offset of the payload in the message.
    pub offset: u32,
    /// Bytes of the payload.
    pub payload: u32,
    /// Of a message's first frame: what its record must learn.
    pub opening: Option<Opening>,
}

/// What a message header says.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    /// Bytes of its frame.
    pub frame_bytes: u16,
    /// Bytes of the message.
    pub length: u32,
    /// Tag (high half) and number of frames.
    pub tag_frames: u32,
    /// The oldest message that the source still has open.
    pub oldest: u16,
}

impl Active {
    /// Notes a failure; the first one stays.
    #[inline(always)]
    pub(crate) fn fail(&mut self, code: Code) {
        if !self.has_failed() {
            self.code = code;
        }
    }

    /// No more frames are awaited: the message ends with `Timeout` unless it has failed already.
    pub(crate) fn break_off(&mut self, state: Arriving) {
        self.state = state;
        self.missing = 0;
        self.fail(Code::Timeout);
    }

    /// The message is longer than its receive.
    #[inline(always)]
    fn truncate(&mut self) {
        if self.code == Code::Done {
            self.code = Code::Truncated;
        }
    }

    /// No more of the message can be delivered.
    #[inline(always)]
    fn has_failed(&self) -> bool {
        !matches!(self.code, Code::Done | Code::Truncated)
    }
}

impl<N: Nic> Emp<'_, N> {
    /// Starts the DMAs of a frame's payload. The last one frees the frame; where there is none, the
    /// frame is freed here.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, frame: RxFrame, place: &Place) {
        let slot = place.slot;
        let record = self.tables.active_mut(slot);
        let room = record.capacity.saturating_sub(place.offset);
        let mut left = room.min(place.payload);
        if left != place.payload {
            record.truncate();
        }
        if record.has_failed() {
            left = 0;
        }
        let cache = self.memory.active_cache(slot);
        let (mut offset, mut local) = (place.offset, frame.start + place.header_bytes);
        let mut slots = FRAME_WRITES;
        while left != 0 {
            let record = self.tables.active_mut(slot);
            match record.pages.seek(&self.nic, cache, offset) {
                Seek::Found { host, room } => {
                    let piece = room.min(left);
                    left -= piece;
                    record.pending += 1;
                    self.nic
                        .push_write(host, local, piece, left == 0, delivery_cookie(slot));
                    if left == 0 {
                        return self.fetch_ahead(slot);
                    }
                    offset += piece;
                    local = self.nic.rx_advance(local, piece);
                    slots -= 1;
                    if slots == 0 {
                        slots = self.await_write_slots(slot);
                    }
                }
                Seek::Missing(block) => self.await_active_fetch(slot, block),
                Seek::End => record.fail(Code::BadDescriptor),
            }
            if self.tables.active_mut(slot).has_failed() {
                break;
            }
        }
        let end = self.nic.rx_advance(frame.start, frame.length);
        self.nic.free_rx(end);
    }

    #[inline(always)]
    fn fetch_ahead(&mut self, slot: Slot) {
        if let Some(block) = self.tables.active_mut(slot).pages.next_block() {
            self.fetch_for_active(slot, block);
        }
    }

    /// Starts to fetch page entries, unless a fetch is under way or the DMA ring is full.
    #[cold]
    #[inline(never)]
    fn fetch_for_active(&mut self, slot: Slot, block: u8) {
        if self.nic.read_slots() == 0 {
            return;
        }
        let cache = self.memory.active_cache(slot);
        let record = self.tables.active_mut(slot);
        if let Some(Fetch {
            host,
            local,
            length,
        }) = record.pages.begin_fetch(cache, block)
        {
            record.pending += 1;
            let cookie = active_fetch_cookie(slot);
            self.nic.push_read(host, local, length, false, cookie);
        }
    }

    /// Within a frame: waits until write DMAs can be queued again, and returns how many. The record
    /// is pinned meanwhile.
    #[cold]
    #[inline(never)]
    fn await_write_slots(&mut self, slot: Slot) -> u32 {
        self.nic.wait_enter();
        self.tables.active_mut(slot).pending += 1;
        while self.nic.write_slots() == 0 {
            self.serve_writes();
        }
        self.tables.active_mut(slot).pending -= 1;
        self.nic.wait_exit();
        self.nic.write_slots()
    }

    /// Within a frame: waits until a block of page entries has come, or its fetch has failed.
    #[cold]
    #[inline(never)]
    fn await_active_fetch(&mut self, slot: Slot, block: u8) {
        self.nic.wait_enter();
        self.tables.active_mut(slot).pending += 1;
        while self.tables.active_mut(slot).pages.lacks(block)
            && !self.tables.active_mut(slot).has_failed()
        {
            self.fetch_for_active(slot, block);
            self.serve_reads();
        }
        self.tables.active_mut(slot).pending -= 1;
        self.nic.wait_exit();
    }

    /// No DMA is under way for a message that a frame has just come for.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle_at_once(&mut self, slot: Slot) {
        self.settle_receive(slot);
    }

    /// Tells the host of a message that is all in memory, or given up, and frees its record.
    #[inline(always)]
    pub(crate) fn settle_receive(&mut self, slot: Slot) {
        let record = self.tables.active_mut(slot);
        if record.pending != 0 || record.missing != 0 {
            return;
        }
        let (index, code, length) = (u32::from(record.descriptor), record.code, record.length);
        self.write_status(index, code, length);

        let record = self.tables.active_mut(slot);
        let (key, state) = (record.key, record.state);
        let place = index.wrapping_sub(SEND_DESCRIPTORS) as u16;
        self.tables.posted_mut(place).state = Posting::Free;
        if state == Arriving::GivenUp {
            self.tables.active_mut(slot).state = Arriving::Remembered;
        } else {
            self.free_active_record(slot);
        }
        self.nic
            .event(Event::ReceiveComplete, key >> 16, key & 0xFFFF, code as u32);
    }

    /// Takes a record out of its peer's list and frees it.
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

    /// Takes a record that is not the first out of its peer's list.
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
}
