//! Addresses of the firmware's tables in SRAM: after the image, below the chip's rings. They are plain
//! memory, not Rust objects, because DMA reads and writes them.

use acenic_protocol::config::receive_bytes;
use defs::acenic::info::INFO_BYTES;
use defs::acenic::message::EVENT_BYTES;
use defs::acenic::{EVENT_ENTRIES, JUMBO_ENTRIES, MINI_ENTRIES, STANDARD_ENTRIES, stats, trace};
use tigon2_hal::sram;

/// Number of records in the trace buffer.
const TRACE_RECORDS: u32 = 128;
/// Bytes of the trace buffer.
pub const TRACE_BYTES: u32 = TRACE_RECORDS << trace::RECORD_BYTES.trailing_zeros();
/// Number of slots for return descriptors in progress.
pub const RETURNING_ENTRIES: u32 = 64;

const TRACE: u32 = 0;
const INFO: u32 = TRACE + TRACE_BYTES;
/// Offset of the statistics block.
pub const STATISTICS: u32 = INFO + INFO_BYTES;
const EVENTS: u32 = STATISTICS + stats::BYTES;
const RETURNING: u32 = EVENTS + (EVENT_ENTRIES << EVENT_BYTES.trailing_zeros());
const STANDARD: u32 = RETURNING + receive_bytes(RETURNING_ENTRIES);
const JUMBO: u32 = STANDARD + receive_bytes(STANDARD_ENTRIES);
const MINI: u32 = JUMBO + receive_bytes(JUMBO_ENTRIES);
const END: u32 = MINI + receive_bytes(MINI_ENTRIES);

/// A table's address.
macro_rules! tables {
    ($($(#[$meta:meta])* $name:ident = $offset:ident;)*) => {
        $(
            $(#[$meta])*
            #[inline(always)]
            pub fn $name() -> u32 {
                sram::image_end() + $offset
            }
        )*
    };
}

tables! {
    /// The trace buffer.
    trace = TRACE;
    /// Copy of the host's information block.
    info = INFO;
    /// The statistics block.
    statistics = STATISTICS;
    /// Copy of the event ring.
    events = EVENTS;
    /// Return descriptors in progress.
    returning = RETURNING;
    /// Cache of the standard ring.
    standard = STANDARD;
    /// Cache of the jumbo ring.
    jumbo = JUMBO;
    /// Cache of the mini ring.
    mini = MINI;
    /// End of all tables.
    end = END;
}
