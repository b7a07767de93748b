//! Completion and failure of DMAs.
//!
//! Each DMA carries a cookie: its purpose and the slot of its record. A record counts its DMAs, so that its
//! slot is not given to another message while one of them is in progress.
//!
//! A failed DMA (no memory answered at the host address) stops its channel and raises the attention event.
//! A frame without its payload must not be sent as a valid frame: its header becomes void before the
//! channel restarts, because then a later frame's DMA can release it.

use crate::Emp;
use crate::jobs::{self, Queue};
use crate::nic::{Completion, Nic, Stage, type_kind};
use crate::roles::Roles;
use crate::tables::Slot;
use defs::emp::control::Counter;
use defs::emp::descriptor::Code;
use defs::emp::frame::{Kind, WORD_TYPE_KIND};

const PURPOSE_SHIFT: u32 = 30;
/// A piece of a frame's payload, host memory to the transmit buffer.
const FRAME: u32 = 0;
/// Page entries of a transmit record.
const TRANSMIT_FETCH: u32 = 1;
/// Page entries of an active receive.
const ACTIVE_FETCH: u32 = 2;
const SLOT_SHIFT: u32 = 18;
/// The frame's address in units of 8 bytes: SRAM addresses have 21 bits.
const START_MASK: u32 = (1 << SLOT_SHIFT) - 1;
const START_SHIFT: u32 = 3;

/// The cookie of a piece of a frame that starts at `start` in the transmit buffer.
#[inline(always)]
pub(crate) fn frame_cookie(slot: Slot, start: u32) -> u32 {
    (FRAME << PURPOSE_SHIFT)
        | (u32::from(slot) << SLOT_SHIFT)
        | ((start >> START_SHIFT) & START_MASK)
}

/// The cookie of a fetch of page entries for a transmit record.
#[inline(always)]
pub(crate) fn transmit_fetch_cookie(slot: Slot) -> u32 {
    (TRANSMIT_FETCH << PURPOSE_SHIFT) | (u32::from(slot) << SLOT_SHIFT)
}

/// The cookie of a fetch of page entries for an active receive.
#[inline(always)]
pub(crate) fn active_fetch_cookie(slot: Slot) -> u32 {
    (ACTIVE_FETCH << PURPOSE_SHIFT) | (u32::from(slot) << SLOT_SHIFT)
}

/// The cookie of a piece of a received frame: the record only.
#[inline(always)]
pub(crate) fn delivery_cookie(slot: Slot) -> u32 {
    u32::from(slot)
}

#[inline(always)]
fn cookie_slot(cookie: u32) -> Slot {
    (cookie >> SLOT_SHIFT) as Slot
}

impl<N: Nic> Emp<'_, N> {
    /// Handles completed read DMAs: the end of a frame's transmission.
    #[inline(always)]
    pub fn on_read_done(&mut self) {
        if !N::Roles::TRANSMITTER {
            return;
        }
        self.nic.stage_enter(Stage::Transmission);
        self.finish_reads();
        self.nic.stage_exit(Stage::Transmission);
    }

    /// Processes all completed read DMAs.
    #[inline(always)]
    fn finish_reads(&mut self) {
        while let Some(done) = self.nic.take_read() {
            let slot = cookie_slot(done.cookie);
            match done.cookie >> PURPOSE_SHIFT {
                FRAME => {
                    let source = self.tables.source_mut(slot);
                    source.pending -= 1;
                    if done.failed || source.closing || source.failed {
                        self.end_transmit_read(slot, done.failed);
                    }
                }
                _ => self.end_fetch(done, slot),
            }
        }
    }

    /// Handles the end of a fetch of page entries, successful or not.
    #[cold]
    #[inline(never)]
    fn end_fetch(&mut self, done: Completion, slot: Slot) {
        if done.cookie >> PURPOSE_SHIFT == TRANSMIT_FETCH {
            let source = self.tables.source_mut(slot);
            source.pending -= 1;
            source.pages.end_fetch();
            self.end_transmit_read(slot, done.failed);
        } else if N::Roles::DELIVERER {
            self.take_pages(slot, done.failed);
        } else {
            let failed = if done.failed { jobs::PAGES_FAILED } else { 0 };
            self.nic.put(Queue::Pages, [failed | u32::from(slot)]);
        }
    }

    /// After a read for a message: records its failure, and notifies the sender if it asked for it.
    #[cold]
    #[inline(never)]
    fn end_transmit_read(&mut self, slot: Slot, failed: bool) {
        if failed {
            self.fail_source(slot, Code::HostMemory);
        }
        if N::Roles::SENDER {
            self.settle_transmit(slot);
        } else if self.tables.source_mut(slot).closing {
            self.close_source(slot);
        }
    }

    /// Handles a read DMA without host memory: its message fails, its frame becomes void, the channel
    /// restarts.
    #[cold]
    #[inline(never)]
    pub fn on_read_attention(&mut self) {
        if !N::Roles::TRANSMITTER {
            return;
        }
        let Some(cookie) = self.nic.failed_read() else {
            return;
        };
        // The channel is stopped: everything completed before can be processed now, and nothing follows.
        self.finish_reads();
        if cookie >> PURPOSE_SHIFT == FRAME {
            let start = (cookie & START_MASK) << START_SHIFT;
            self.store(start, WORD_TYPE_KIND, type_kind(Kind::Void));
            self.fail_source(cookie_slot(cookie), Code::HostMemory);
        }
        self.nic.skip_failed_read();
        self.finish_reads();
        self.count_rarely(Counter::DmaErrors);
    }

    /// Handles completed write DMAs: a frame is in host memory, and perhaps a complete message.
    #[inline(always)]
    pub fn on_write_done(&mut self) {
        if N::Roles::DELIVERER {
            self.finish_write();
        }
    }

    /// Processes one completed write: first the host's status, then the ring's descriptor. Returns whether
    /// there was one.
    #[inline(always)]
    fn finish_write(&mut self) -> bool {
        self.nic.stage_enter(Stage::Receiving);
        let Some(done) = self.nic.next_write() else {
            self.nic.stage_idle(Stage::Receiving);
            return false;
        };
        let slot = done.cookie as Slot;
        let sink = self.tables.sink_mut(slot);
        sink.pending -= 1;
        if done.failed {
            sink.fail(Code::HostMemory);
        }
        if self.is_over(slot) {
            self.end_receive(slot);
        }
        self.nic.retire_write();
        self.nic.stage_exit(Stage::Receiving);
        true
    }

    /// Ends a message after its last DMA. Its record belongs to the matcher; this work is receive
    /// bookkeeping on either CPU.
    #[inline(always)]
    fn end_receive(&mut self, slot: Slot) {
        self.hand_back(slot);
        if N::Roles::MATCHER {
            self.nic.stage_exit(Stage::Receiving);
            self.nic.stage_enter(Stage::ReceiveBookkeeping);
            self.close(slot);
            self.nic.stage_exit(Stage::ReceiveBookkeeping);
            self.nic.stage_enter(Stage::Receiving);
        }
    }

    #[cold]
    #[inline(never)]
    fn finish_writes(&mut self) {
        while self.finish_write() {}
    }

    /// Handles a write DMA without host memory: the channel restarts, and the DMA's completion reports the
    /// failure.
    #[cold]
    #[inline(never)]
    pub fn on_write_attention(&mut self) {
        if N::Roles::DELIVERER && self.nic.write_failed() {
            self.finish_writes();
            self.nic.skip_failed_write();
            self.finish_writes();
            self.count_rarely(Counter::DmaErrors);
        }
    }

    /// Handles the read channel's events while waiting for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_reads(&mut self) {
        if N::Roles::TRANSMITTER {
            self.on_read_attention();
            self.finish_reads();
        }
    }

    /// Handles the write channel's events while waiting for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_writes(&mut self) {
        self.on_write_attention();
        self.finish_writes();
    }
}
