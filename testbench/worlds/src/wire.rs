//! Time on the wire: frames with their preamble, FCS and gap.

use defs::emp::frame::ETHERNET_BYTES;
use emulator::sim::time::SimTime;
use emulator::tigon2::timing::Timing;
use emulator::wire::ethernet::frame::{FCS_BYTES, INTER_FRAME_GAP_BYTES, PREAMBLE_BYTES};

/// Transmission time of a frame of `length` bytes without FCS, with preamble.
#[must_use]
pub fn frame_time(length: u32, timing: &Timing) -> SimTime {
    let bytes = PREAMBLE_BYTES + u64::from(length) + FCS_BYTES;
    SimTime::from_ps(timing.byte_time().ps() * bytes)
}

/// Bytes of wire time for a frame with `payload` bytes above Ethernet, including the gap.
#[must_use]
pub const fn wire_bytes(payload: u32) -> u64 {
    PREAMBLE_BYTES + (ETHERNET_BYTES + payload) as u64 + FCS_BYTES + INTER_FRAME_GAP_BYTES
}
