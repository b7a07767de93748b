//! Queued DMA and actions on its completion.

use acenic_protocol::config::HostAddress;
use defs::acenic::{Mode, READ_CONFIG, WRITE_CONFIG, message};
use tigon2_hal::dma::{Direction, DmaState, ReadRing, Ring, RingFull, Transfer, WriteRing};
use tigon2_hal::{event, scratchpad_a, sram};

use crate::statistics::count;
use crate::{Firmware, assist, trace};

/// Flag in a descriptor's kind: the transfer failed.
pub const FAILED: u32 = 1 << 31;

/// Purpose of a DMA read, stored in the descriptor's kind. Each constant names the meaning of the index.
pub mod read {
    /// Send descriptors; index: their number.
    pub const SEND_DESCRIPTORS: u32 = 1;
    /// A part of a frame.
    pub const SEND_DATA: u32 = 2;
    /// A frame's last part.
    pub const SEND_LAST: u32 = 3;
    /// Receive descriptors of ring `kind - BUFFERS`; index: their number.
    pub const BUFFERS: u32 = 4;
    /// The statistics block; index: 0. Follows the kinds of the three buffer rings.
    pub const STATISTICS: u32 = BUFFERS + 3;
}

/// Purpose of a DMA write, stored in the descriptor's kind. Each constant names the meaning of the index.
pub mod write {
    /// A received frame; index: address of its return descriptor.
    pub const FRAME: u32 = 1;
    /// Beginning of a received frame, before its tag.
    pub const FRAME_PART: u32 = 2;
    /// Return descriptors; index: their number.
    pub const RETURNED: u32 = 3;
    /// An event.
    pub const EVENT: u32 = 4;
    /// The event producer.
    pub const EVENT_PRODUCER: u32 = 5;
    /// The return producer.
    pub const RETURN_PRODUCER: u32 = 6;
    /// The send consumer.
    pub const SEND_CONSUMER: u32 = 7;
    /// The statistics block.
    pub const STATISTICS: u32 = 8;
    /// A word whose completion has no effect.
    pub const QUIET: u32 = 9;
}

/// Number of write descriptors reserved for events and indices; received frames do not use them.
pub const KEPT_FOR_REPORTS: u32 = 8;

/// State bits that the host may set: bus width and thresholds.
const CONFIG_MASK: u32 = 0x1F8;

/// State words of the four types of transfer.
pub struct DmaControl {
    /// Descriptors, indices and statistics, host to NIC.
    pub read: DmaState,
    /// Descriptors, indices and statistics, NIC to host.
    pub write: DmaState,
    /// Frames, host to NIC.
    pub read_data: DmaState,
    /// Frames, NIC to host.
    pub write_data: DmaState,
    /// A statistics report is due.
    pub statistics_due: bool,
    /// A load of the statistics from the host is requested.
    pub statistics_wanted: bool,
}

impl DmaControl {
    /// State words before the host's modes are known.
    pub const fn new() -> Self {
        Self {
            read: DmaState::START,
            write: DmaState::START,
            read_data: DmaState::START,
            write_data: DmaState::START,
            statistics_due: false,
            statistics_wanted: false,
        }
    }

    /// State words for the host's modes.
    pub fn for_mode(mode: Mode) -> Self {
        let config = |word| DmaState::from_bits_retain(sram::read(word) & CONFIG_MASK);
        let swapped = |swap: bool| match swap {
            true => DmaState::START,
            false => DmaState::START.union(DmaState::NO_BYTE_SWAP),
        };
        let words = swapped(mode.contains(Mode::SWAP_DESCRIPTORS));
        let data = swapped(mode.contains(Mode::SWAP_DATA));
        Self {
            read: words | config(READ_CONFIG),
            write: words | config(WRITE_CONFIG),
            read_data: data | config(READ_CONFIG),
            write_data: data | config(WRITE_CONFIG),
            statistics_due: false,
            statistics_wanted: false,
        }
    }
}

/// Queues a DMA read.
#[inline(always)]
pub fn push_read(transfer: &Transfer) -> Result<(), RingFull> {
    let queued = ReadRing::push(transfer);
    assist::wake();
    queued
}

/// Queues a DMA write.
#[inline(always)]
pub fn push_write(transfer: &Transfer) -> Result<(), RingFull> {
    let queued = WriteRing::push(transfer);
    assist::wake();
    queued
}

/// Queues a DMA write of one word.
pub fn push_word(
    address: HostAddress,
    word: u32,
    kind: u32,
    state: DmaState,
) -> Result<(), RingFull> {
    let queued = WriteRing::push_index(&Transfer {
        host_high: address.high,
        host_low: address.low,
        local: 0,
        length: 0,
        state,
        kind,
        index: word,
    });
    assist::wake();
    queued
}

/// Handles a failed descriptor at which the hardware assist stopped: marks it and restarts the assist.
fn skip_failed<D: Direction>() {
    if let Some(descriptor) = Ring::<D>::failed() {
        descriptor.mark(FAILED);
        Ring::<D>::skip_failed();
    }
}

impl Firmware {
    pub fn on_read_attention(&mut self) {
        skip_failed::<tigon2_hal::dma::Read>();
    }

    pub fn on_write_attention(&mut self) {
        skip_failed::<tigon2_hal::dma::Write>();
    }

    pub fn on_read_done(&mut self) {
        while let Some(done) = ReadRing::completed() {
            let (kind, index, sum) = (done.kind(), done.index(), done.checksum());
            let (local, length) = (done.local(), done.length());
            done.consume();
            let failed = kind & FAILED != 0;
            let kind = kind & !FAILED;
            if failed {
                count!("nic_dma_rd_master_aborts");
                if !matches!(kind, read::SEND_DATA | read::SEND_LAST | read::STATISTICS) {
                    // The cache still holds descriptors of an earlier round.
                    sram::clear(local, length);
                }
                self.transfer_failed(kind, index, FAILED_READ);
            }
            match kind {
                read::SEND_DATA => self.send.part_read(failed),
                read::SEND_LAST => frame_read(self, failed, sum),
                read::SEND_DESCRIPTORS => self.send_descriptors_read(index),
                read::STATISTICS => {}
                _ => self.buffers_read(kind - read::BUFFERS, index),
            }
        }
        self.fetch_buffers();
        self.fetch_send_descriptors();
        self.fetch_statistics();
    }

    pub fn on_write_done(&mut self) {
        while let Some(done) = WriteRing::completed() {
            let (kind, index, sum) = (done.kind(), done.index(), done.checksum());
            let (local, length) = (done.local(), done.length());
            done.consume();
            let failed = kind & FAILED != 0;
            let kind = kind & !FAILED;
            if failed {
                count!("nic_dma_wr_master_aborts");
                self.transfer_failed(kind, index, FAILED_WRITE);
            }
            match kind {
                write::FRAME => {
                    self.receive
                        .frame_written(index, sum, failed.then_some((local, length)));
                }
                write::FRAME_PART => self.receive.part_written(failed),
                write::RETURNED => self.returned(index),
                write::EVENT_PRODUCER => self.interrupt_unless(Mode::NO_EVENT_INTERRUPT),
                write::RETURN_PRODUCER => self.interrupt_unless(Mode::NO_RECEIVE_INTERRUPT),
                write::SEND_CONSUMER => self.interrupt_unless(Mode::NO_SEND_INTERRUPT),
                write::STATISTICS if !failed => self.send_event(message::STATISTICS_UPDATED, 0, 0),
                _ => {}
            }
        }
        self.push_reports();
    }

    /// Reports a failed transfer (no host memory answered), unless its own handler reports it.
    #[inline(never)]
    fn transfer_failed(&mut self, kind: u32, index: u32, direction: u32) {
        trace!("dmaFail", direction, kind, index);
        let reports = direction == FAILED_WRITE && kind >= write::EVENT;
        if !reports {
            self.send_event(message::ERROR, message::BAD_CONFIGURATION, direction);
        }
    }

    /// Queues the DMA of pending reports to the host, as far as there is room.
    pub fn push_reports(&mut self) {
        let _ = self.push_returned();
        let _ = self.push_indices();
        let _ = self.push_events();
        let _ = self.push_statistics();
    }
}

/// Index of the error event after a DMA read failed.
const FAILED_READ: u32 = 1;
/// Index of the error event after a DMA write failed.
const FAILED_WRITE: u32 = 2;

scratchpad_a! {
    fn frame_read(firmware: &mut Firmware, failed: bool, sum: u32) {
        firmware.frame_read(failed, sum);
    }
}

/// Events that CPU A handles from the start.
pub const EVENTS: u32 = 1 << event::MAILBOX
    | 1 << event::READ_DMA_DONE
    | 1 << event::WRITE_DMA_DONE
    | 1 << event::RX_COMPLETE
    | 1 << event::SOFT_SEND
    | 1 << event::MAC_RX_ATTENTION;
/// Additional events with the hardware assist. Without it CPU B handles failures.
pub const ASSIST_EVENTS: u32 = 1 << event::READ_DMA_ATTENTION | 1 << event::WRITE_DMA_ATTENTION;
