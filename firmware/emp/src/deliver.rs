//! The deliverer: a matched frame's payload goes to host memory, and a message that is all there to its
//! host.
//!
//! A frame may need several DMAs (its message's pages); the last one frees it. While a DMA or a fetch of
//! page entries is under way its record counts it as pending; the host is told when all frames have
//! arrived and nothing is pending. Word order matters there: the status, which the host polls,
//! is written last.
//!
//! The page entries come from the transmitter, which may be on the other CPU: a frame whose entries are not there
//! stays *stalled*, and everything behind it, until they come.

use crate::Emp;
use crate::descriptor::{Pages, Seek};
use crate::dma::delivery_cookie;
use crate::jobs::{self, Queue};
use crate::nic::{Event, Nic, RxFrame, Stage};
use crate::roles::Roles;
use crate::tables::{Sink, Slot};
use defs::emp::descriptor::{Code, Form, WORD_LENGTH, WORD_NODE_TAG, WORD_STATUS};
use defs::emp::frame::{DATA_PAYLOAD, HEADER_PAYLOAD};

/// Write DMAs that must be free before a frame is taken: more than one that spans two pages needs.
const FRAME_WRITES: u32 = 4;

/// A frame to be delivered.
pub(crate) struct Delivery {
    /// Its message.
    pub slot: Slot,
    /// Offset of its payload in the frame.
    pub header_bytes: u32,
    /// Offset of its payload in the message.
    pub offset: u32,
    /// Bytes of its payload.
    pub payload: u32,
}

/// What a message's first frame tells the deliverer.
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

/// What of a frame is still to be delivered.
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
    /// Nothing.
    pub(crate) const NONE: Self = Self {
        slot: 0,
        offset: 0,
        local: 0,
        left: 0,
        end: 0,
    };
}

impl Sink {
    /// Notes a failure; the first one stays.
    #[inline(always)]
    pub(crate) fn fail(&mut self, code: Code) {
        if !self.has_failed() {
            self.code = code;
        }
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
    /// Whether a frame can be delivered now.
    #[inline(always)]
    pub(crate) fn can_deliver(&self) -> bool {
        !self.stalled && self.nic.write_slots() >= FRAME_WRITES
    }

    /// A message begins: takes over its receive's memory.
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
            // It was valid when it was posted: only a host that rewrote it gets no pages here, and then
            // `BadDescriptor` at the first delivery.
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

    /// Starts the DMAs of a frame's payload. The last one frees the frame; where there is none, the
    /// frame is freed here.
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

    /// Delivers what is left of a frame, as far as page entries are there.
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

    /// A frame waits for page entries that are being fetched. Its record is pinned meanwhile.
    #[cold]
    #[inline(never)]
    fn stall(&mut self, rest: Rest) {
        self.tables.sink_mut(rest.slot).pending += 1;
        self.rest = rest;
        self.stalled = true;
    }

    /// Goes on with a stalled frame, if it can.
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

    /// Sees to it that a block of page entries is there, or is being fetched. Says whether there is no need
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

    /// Has page entries fetched, unless a fetch is under way or the DMA ring is full.
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

    /// Page entries have come, or have not.
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
            // Not here: this may be called while another frame waits for DMA slots.
            self.wakes = true;
            self.raise_send();
        }
        self.settle_receive(slot);
    }

    /// Within a frame: waits until write DMAs can be queued again, and returns how many. The record
    /// is pinned meanwhile.
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

    /// No more frames of a message come.
    #[inline(always)]
    pub(crate) fn end_sink(&mut self, slot: Slot) {
        let sink = self.tables.sink_mut(slot);
        sink.complete = true;
        if sink.pending == 0 {
            self.settle_at_once(slot);
        }
    }

    /// No more frames of a message come although some are missing.
    #[cold]
    #[inline(never)]
    pub(crate) fn break_off_sink(&mut self, slot: Slot) {
        self.tables.sink_mut(slot).fail(Code::Timeout);
        self.end_sink(slot);
    }

    /// No DMA is under way for a message that a frame has just come for.
    #[cold]
    #[inline(never)]
    fn settle_at_once(&mut self, slot: Slot) {
        self.settle_receive(slot);
    }

    /// Ends a message that is all in memory, or given up.
    #[inline(always)]
    pub(crate) fn settle_receive(&mut self, slot: Slot) {
        if self.is_over(slot) {
            self.hand_back(slot);
            if N::Roles::MATCHER {
                self.close(slot);
            }
        }
    }

    /// Whether nothing more of a message comes, neither frames nor DMAs.
    #[inline(always)]
    pub(crate) fn is_over(&mut self, slot: Slot) -> bool {
        let sink = self.tables.sink_mut(slot);
        sink.pending == 0 && sink.complete
    }

    /// Tells the host of a message that is over, and a matcher on the other CPU. That one finds it before the host can
    /// have posted the receive again.
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

    /// Frees a frame that is not delivered, in its turn.
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

    /// Leaves a frame that is not delivered for a deliverer on the other CPU.
    #[inline(always)]
    fn queue_drop(&mut self, end: u32) {
        let job = jobs::arrivals::DROP << jobs::KIND_SHIFT;
        self.nic.put(Queue::Arrivals, [job, end]);
    }

    /// Frames from a matcher on the other CPU: delivers one, if there are DMA slots.
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

    /// Page entries from a transmitter on the other CPU.
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
