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
    /// Reads the times of a profile.
    ///
    /// # Errors
    /// If the profile is for boards of another medium.
    pub fn from_profile(profile: &Profile) -> Result<Self, ProfileError> {
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

/// Times of packets on Myrinet: of a board's sender and receiver, and of bytes on its cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketTimes {
    /// From the start of a transmission to the first byte.
    pub send_start: SimTime,
    /// From the last byte to the packet in SRAM.
    pub receive_end: SimTime,
    /// Time of a byte.
    byte_time: SimTime,
}

impl PacketTimes {
    /// Reads the times of a profile.
    ///
    /// # Errors
    /// If the profile is for boards of another medium.
    pub fn from_profile(profile: &Profile) -> Result<Self, ProfileError> {
        let mut from = profile.reader();
        Ok(Self {
            send_start: from.span("packet.send_start")?,
            receive_end: from.span("packet.receive_end")?,
            byte_time: SimTime::from_ps(8_000_000_000_000 / from.rate("link.rate", "bit/s")?),
        })
    }

    /// Time of `count` bytes.
    #[must_use]
    pub const fn bytes(&self, count: u64) -> SimTime {
        SimTime::from_ps(self.byte_time.ps().saturating_mul(count))
    }
}

/// Bytes of wire time for a frame with `payload` bytes above Ethernet, including the gap.
#[must_use]
pub const fn wire_bytes(payload: u32) -> u64 {
    PREAMBLE_BYTES + (ETHERNET_BYTES + payload) as u64 + FCS_BYTES + INTER_FRAME_GAP_BYTES
}
