//! The deliverer: copies the payload of matched frames to host memory and reports complete messages to the
//! host.
//!
//! A frame may need several DMAs (one per page); the last one frees it. A record counts its DMAs and
//! page-entry fetches in progress as pending. The host is notified when all frames have arrived and nothing
//! is pending. The status, which the host polls, is written last.
//!
//! Page entries come from the transmitter, which may be on the other CPU. A frame whose entries are missing
//! is *stalled*, together with everything behind it, until they arrive.

use crate::Emp;
use crate::descriptor::{Pages, Seek};
use crate::dma::delivery_cookie;
use crate::jobs::{self, Queue};
use crate::nic::{Event, Nic, RxFrame, Stage};
use crate::roles::Roles;
use crate::tables::{Sink, Slot};
use defs::emp::descriptor::{Code, Form, WORD_LENGTH, WORD_NODE_TAG, WORD_STATUS};
use defs::emp::frame::{DATA_PAYLOAD, HEADER_PAYLOAD};

/// Number of free write DMAs needed before a frame is taken: more than a frame that spans two pages uses.
const FRAME_WRITES: u32 = 4;

/// A frame for the deliverer.
pub(crate) struct Delivery {
    /// Slot of its message.
    pub slot: Slot,
    /// Offset of its payload in the frame.
    pub header_bytes: u32,
    /// Offset of its payload in the message.
    pub offset: u32,
    /// Bytes of its payload.
    pub payload: u32,
}

/// Data of a message's first frame for the deliverer.
#[derive(Clone, Copy)]
pub(crate) struct SinkOpening {
    /// The posted receive's descriptor.
    pub descriptor: u16,
    /// Source node (high half) and message identifier.
    pub key: u32,
    /// The message's tag.
    pub tag: u32,
    /// Bytes of the message.
    pub length: u32,
}

/// The part of a frame that is not delivered yet.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    slot: Slot,
    /// Offset in the message.
    offset: u32,
    /// Address in the receive buffer.
    local: u32,
    /// Bytes.
    left: u32,
    /// The frame's end.
    end: u32,
}

impl Rest {
    /// An empty rest.
    pub(crate) const NONE: Self = Self {
        slot: 0,
        offset: 0,
        local: 0,
        left: 0,
        end: 0,
    };
}

impl Sink {
    /// Records a failure; the first one is kept.
    #[inline(always)]
    pub(crate) fn fail(&mut self, code: Code) {
        if !self.has_failed() {
            self.code = code;
        }
    }

    /// Records that the message is longer than its receive.
    #[inline(always)]
    fn truncate(&mut self) {
        if self.code == Code::Done {
            self.code = Code::Truncated;
        }
    }

    /// Whether the rest of the message cannot be delivered.
    #[inline(always)]
    fn has_failed(&self) -> bool {
        !matches!(self.code, Code::Done | Code::Truncated)
    }
}

impl<N: Nic> Emp<'_, N> {
    /// Whether a frame can be delivered now.
    #[inline(always)]
    pub(crate) fn can_deliver(&self) -> bool {
        !self.stalled && self.nic.write_slots() >= FRAME_WRITES
    }

    /// Opens the sink of a new message: takes over its receive's memory.
    #[inline(always)]
    pub(crate) fn open_sink(&mut self, slot: Slot, opening: &SinkOpening) {
        let index = u32::from(opening.descriptor);
        let status = self.nic.load(self.descriptor_word(index, WORD_STATUS));
        let capacity = self.nic.load(self.descriptor_word(index, WORD_LENGTH));
        let array = self.memory.descriptors();
        let cache = self.memory.active_cache(slot);
        let form = Form::from_status(status).unwrap_or(Form::Short);
        let sink = self.tables.sink_mut(slot);
        let pages = &mut sink.pages;
        if !pages.take(&mut self.nic, array, index, form, capacity, cache) {
            // The descriptor was valid when it was posted. If the host has rewritten it, the sink has no
            // pages and the first delivery fails with `BadDescriptor`.
            *pages = Pages::ZERO;
        }
        sink.key = opening.key;
        sink.length = opening.length;
        sink.capacity = capacity;
        sink.tag = opening.tag as u16;
        sink.descriptor = opening.descriptor;
        sink.pending = 0;
        sink.complete = false;
        sink.code = Code::Done;
    }

    /// Starts the DMAs of a frame's payload. The last one frees the frame; without any DMA the frame is
    /// freed here.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, start: u32, length: u32, delivery: &Delivery) {
        let &Delivery {
            slot,
            header_bytes,
            offset,
            payload,
        } = delivery;
        let sink = self.tables.sink_mut(slot);
        let room = sink.capacity.saturating_sub(offset);
        let mut left = room.min(payload);
        if left != payload {
            sink.truncate();
        }
        if sink.has_failed() {
            left = 0;
        }
        self.deliver_rest(Rest {
            slot,
            offset,
            local: start + header_bytes,
            left,
            end: self.nic.rx_advance(start, length),
        });
    }

    /// Delivers the rest of a frame, as far as page entries are available.
    #[inline(always)]
    fn deliver_rest(&mut self, rest: Rest) {
        let Rest { slot, end, .. } = rest;
        let Rest {
            mut offset,
            mut local,
            mut left,
            ..
        } = rest;
        let cache = self.memory.active_cache(slot);
        let mut slots = FRAME_WRITES;
        while left != 0 {
            let sink = self.tables.sink_mut(slot);
            match sink.pages.seek(&self.nic, cache, offset) {
                Seek::Found { host, room } => {
                    let piece = room.min(left);
                    left -= piece;
                    sink.pending += 1;
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
                Seek::Missing(block) => {
                    if !self.has_block(slot, block) {
                        return self.stall(Rest {
                            slot,
                            offset,
                            local,
                            left,
                            end,
                        });
                    }
                }
                Seek::End => sink.fail(Code::BadDescriptor),
            }
            if self.tables.sink_mut(slot).has_failed() {
                break;
            }
        }
        self.nic.free_rx(end);
    }

    /// Stalls a frame until page entries have been fetched. Its record is pinned meanwhile.
    #[cold]
    #[inline(never)]
    fn stall(&mut self, rest: Rest) {
        self.tables.sink_mut(rest.slot).pending += 1;
        self.rest = rest;
        self.stalled = true;
    }

    /// Resumes a stalled frame, if possible.
    #[cold]
    #[inline(never)]
    pub(crate) fn resume(&mut self) {
        if !self.stalled || self.nic.write_slots() < FRAME_WRITES {
            return;
        }
        let rest = self.rest;
        self.wakes = false;
        self.stalled = false;
        self.tables.sink_mut(rest.slot).pending -= 1;
        self.deliver_rest(rest);
        if !self.stalled
            && let Some(end) = self.freed_behind.take()
        {
            self.nic.free_rx(end);
        }
        if !self.stalled {
            self.settle_receive(rest.slot);
        }
    }

    #[inline(always)]
    fn fetch_ahead(&mut self, slot: Slot) {
        if let Some(block) = self.tables.sink_mut(slot).pages.next_block() {
            self.fetch_for_active(slot, block);
        }
    }

    /// Ensures that a block of page entries is available or being fetched. Returns whether there is no need
    /// to wait for it.
    #[cold]
    #[inline(never)]
    fn has_block(&mut self, slot: Slot, block: u8) -> bool {
        self.nic.wait_enter();
        loop {
            let sink = self.tables.sink_mut(slot);
            if !sink.pages.lacks(block) || sink.has_failed() {
                self.nic.wait_exit();
                return true;
            }
            if sink.pages.is_fetching() {
                self.nic.wait_exit();
                return false;
            }
            self.fetch_for_active(slot, block);
            if N::Roles::TRANSMITTER && !self.tables.sink_mut(slot).pages.is_fetching() {
                self.serve_reads();
            }
        }
    }

    /// Requests a fetch of page entries, unless a fetch is in progress or the DMA ring is full.
    #[cold]
    #[inline(never)]
    fn fetch_for_active(&mut self, slot: Slot, block: u8) {
        if N::Roles::TRANSMITTER && self.nic.read_slots() == 0 {
            return;
        }
        let cache = self.memory.active_cache(slot);
        let sink = self.tables.sink_mut(slot);
        let Some(fetch) = sink.pages.begin_fetch(cache, block) else {
            return;
        };
        sink.pending += 1;
        if N::Roles::TRANSMITTER {
            self.push_active_fetch(slot, &fetch);
        } else {
            let job = (jobs::acks::FETCH << jobs::KIND_SHIFT)
                | (u32::from(slot) << jobs::SLOT_SHIFT)
                | fetch.length;
            let job = [job, fetch.host.high, fetch.host.low, fetch.local];
            self.nic.put(Queue::Acks, job);
        }
    }

    /// Handles the end of a fetch of page entries, successful or not.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_pages(&mut self, slot: Slot, failed: bool) {
        let sink = self.tables.sink_mut(slot);
        sink.pending -= 1;
        sink.pages.end_fetch();
        if failed {
            sink.fail(Code::HostMemory);
        }
        if self.stalled && self.rest.slot == slot {
            // Deferred: this may be called while another frame waits for DMA slots.
            self.wakes = true;
            self.raise_send();
        }
        self.settle_receive(slot);
    }

    /// Waits within a frame until write DMAs can be queued again, and returns their number. The record is
    /// pinned meanwhile.
    #[cold]
    #[inline(never)]
    fn await_write_slots(&mut self, slot: Slot) -> u32 {
        self.nic.wait_enter();
        self.tables.sink_mut(slot).pending += 1;
        while self.nic.write_slots() == 0 {
            self.serve_writes();
        }
        self.tables.sink_mut(slot).pending -= 1;
        self.nic.wait_exit();
        self.nic.write_slots()
    }

    /// Marks a message as complete: no more frames will come.
    #[inline(always)]
    pub(crate) fn end_sink(&mut self, slot: Slot) {
        let sink = self.tables.sink_mut(slot);
        sink.complete = true;
        if sink.pending == 0 {
            self.settle_at_once(slot);
        }
    }

    /// Marks an incomplete message as ended: its missing frames will not come.
    #[cold]
    #[inline(never)]
    pub(crate) fn break_off_sink(&mut self, slot: Slot) {
        self.tables.sink_mut(slot).fail(Code::Timeout);
        self.end_sink(slot);
    }

    /// Handles a message without DMAs in progress, after a frame of it.
    #[cold]
    #[inline(never)]
    fn settle_at_once(&mut self, slot: Slot) {
        self.settle_receive(slot);
    }

    /// Ends a message that is complete in memory, or abandoned.
    #[inline(always)]
    pub(crate) fn settle_receive(&mut self, slot: Slot) {
        if self.is_over(slot) {
            self.hand_back(slot);
            if N::Roles::MATCHER {
                self.close(slot);
            }
        }
    }

    /// Whether no more frames and no more DMAs of a message will come.
    #[inline(always)]
    pub(crate) fn is_over(&mut self, slot: Slot) -> bool {
        let sink = self.tables.sink_mut(slot);
        sink.pending == 0 && sink.complete
    }

    /// Reports a finished message to the host and to a matcher on the other CPU. The matcher's job is
    /// queued before the host can post the receive again.
    #[inline(always)]
    pub(crate) fn hand_back(&mut self, slot: Slot) {
        let sink = self.tables.sink_mut(slot);
        sink.complete = false;
        let (index, code, length) = (u32::from(sink.descriptor), sink.code, sink.length);
        let (key, tag) = (sink.key, u32::from(sink.tag));
        let at = self.descriptor_word(index, WORD_NODE_TAG);
        self.nic.store(at, (key & 0xFFFF_0000) | tag);
        if N::Roles::MATCHER {
            self.write_status(index, code, length);
        } else {
            self.nic.leave(Queue::Closed, [u32::from(slot)]);
            self.write_status(index, code, length);
            self.nic.ring(Queue::Closed);
        }
        self.nic
            .event(Event::ReceiveComplete, key >> 16, key & 0xFFFF, code as u32);
    }

    /// Frees an undelivered frame in ring order.
    #[inline(always)]
    pub(crate) fn free_frame(&mut self, frame: RxFrame) {
        let end = self.nic.rx_advance(frame.start, frame.length);
        if N::Roles::DELIVERER {
            if self.stalled {
                // It lies behind a frame whose DMA is not queued yet.
                self.freed_behind = Some(end);
            } else {
                self.nic.free_rx(end);
            }
        } else {
            self.queue_drop(end);
        }
    }

    /// Queues an undelivered frame for a deliverer on the other CPU.
    #[inline(always)]
    fn queue_drop(&mut self, end: u32) {
        let job = jobs::arrivals::DROP << jobs::KIND_SHIFT;
        self.nic.put(Queue::Arrivals, [job, end]);
    }

    /// Handles frames from a matcher on the other CPU: delivers one if there are DMA slots.
    #[inline(always)]
    pub fn on_arrivals(&mut self) {
        if N::Roles::MATCHER || !N::Roles::DELIVERER {
            return;
        }
        if !self.can_deliver() {
            return self.resume();
        }
        let Some(at) = self.nic.front(Queue::Arrivals) else {
            return self.nic.rest(Queue::Arrivals);
        };
        let job = self.nic.load(at);
        let slot = (job >> jobs::SLOT_SHIFT) as Slot;
        match job >> jobs::KIND_SHIFT {
            jobs::arrivals::DROP => {
                let end = self.nic.load(at + 4);
                self.nic.free_rx(end);
            }
            jobs::arrivals::BREAK_OFF => self.break_off_sink(slot),
            kind => self.deliver_passed(at, job, slot, kind == jobs::arrivals::OPEN),
        }
        self.nic.remove(Queue::Arrivals);
    }

    #[inline(always)]
    fn deliver_passed(&mut self, at: u32, job: u32, slot: Slot, opens: bool) {
        self.nic.stage_enter(Stage::ReceiveFrame);
        let start = self.nic.load(at + 4);
        let payload = self.nic.load(at + 8);
        let offset = self.nic.load(at + 12);
        let mut delivery = Delivery {
            slot,
            header_bytes: DATA_PAYLOAD,
            offset,
            payload,
        };
        if opens {
            let descriptor_tag = offset;
            delivery.header_bytes = HEADER_PAYLOAD;
            delivery.offset = 0;
            let opening = SinkOpening {
                descriptor: (descriptor_tag >> 16) as u16,
                key: self.nic.load(at + 16),
                tag: descriptor_tag & 0xFFFF,
                length: self.nic.load(at + 20),
            };
            self.open_sink(slot, &opening);
        }
        self.deliver(start, job & 0xFFFF, &delivery);
        if job & jobs::arrivals::LAST != 0 {
            self.end_sink(slot);
        }
        self.nic.stage_exit(Stage::ReceiveFrame);
    }

    /// Handles page entries from a transmitter on the other CPU.
    #[inline(always)]
    pub fn on_pages(&mut self) {
        if N::Roles::TRANSMITTER || !N::Roles::DELIVERER {
            return;
        }
        let Some(at) = self.nic.front(Queue::Pages) else {
            return self.nic.rest(Queue::Pages);
        };
        let job = self.nic.load(at);
        self.nic.remove(Queue::Pages);
        self.take_pages(job as Slot, job & jobs::PAGES_FAILED != 0);
    }
}
