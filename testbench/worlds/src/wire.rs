//! Time on the wire: frames with their preamble, FCS and gap.

use defs::emp::frame::ETHERNET_BYTES;
use emulator::profile::{Profile, ProfileError};
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::frame::{FCS_BYTES, INTER_FRAME_GAP_BYTES, PREAMBLE_BYTES};
use emulator::wire::ethernet::link::Link;

/// Times of frames from a node's transmitter to the other end of its cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTimes {
    /// The cable.
    pub link: Link,
    /// From the start of a transmission to the first bit.
    pub transmit_start: SimTime,
}

impl FrameTimes {
    /// Those of a profile.
    ///
    /// # Errors
    /// If the profile is for boards of another medium.
    pub fn of(profile: &Profile) -> Result<Self, ProfileError> {
        let mut from = profile.reader();
        Ok(Self {
            link: Link::read(&mut from)?,
            transmit_start: from.span("mac.transmit_start")?,
        })
    }

    /// Transmission time of a frame of `length` bytes without FCS, with preamble.
    #[must_use]
    pub fn frame(&self, length: u32) -> SimTime {
        let bytes = PREAMBLE_BYTES + u64::from(length) + FCS_BYTES;
        self.link.span(bytes)
    }
}

/// Bytes of wire time for a frame with `payload` bytes above Ethernet, including the gap.
#[must_use]
pub const fn wire_bytes(payload: u32) -> u64 {
    PREAMBLE_BYTES + (ETHERNET_BYTES + payload) as u64 + FCS_BYTES + INTER_FRAME_GAP_BYTES
}
