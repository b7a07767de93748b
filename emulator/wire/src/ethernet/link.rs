//! A full-duplex point-to-point link: rate and propagation.
//!
//! A sender announces a frame when its first bit leaves. The receiver cannot act on it before the
//! first 64 bytes are in (a MAC waits for them to see a runt), so [`Link::look_ahead`] is how far
//! two nodes may run apart.

use super::frame::{FCS_BYTES, Frame, INTER_FRAME_GAP_BYTES, PREAMBLE_BYTES};
use emulator_base::time::SimTime;
use emulator_profile::{ProfileError, Reader};

/// Bytes of a frame that a receiver holds before it acts.
pub const RECEIVE_HOLD_BYTES: u64 = 64;
/// Bytes of a frame that a cut-through switch waits for: addresses and type.
const HEADER_BYTES: u64 = 14;

/// A link's properties; both directions are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Time of one byte on the wire.
    pub byte_time: SimTime,
    /// Time from one end to the other.
    pub propagation: SimTime,
}

impl Link {
    /// The usual cable of a profile.
    ///
    /// # Errors
    /// If an entry is missing or invalid.
    pub fn read(from: &mut Reader<'_>) -> Result<Self, ProfileError> {
        let bits_per_s = from.rate("wire.rate", "bit/s")?;
        Ok(Self {
            byte_time: SimTime::from_ps(8_000_000_000_000 / bits_per_s),
            propagation: from.span("wire.propagation")?,
        })
    }

    /// The time that `bytes` take to pass.
    #[must_use]
    pub const fn span(&self, bytes: u64) -> SimTime {
        SimTime::from_ps(self.byte_time.ps() * bytes)
    }

    /// The span from the first bit of the preamble to the last bit of the FCS.
    #[must_use]
    pub fn frame_span(&self, frame: &Frame) -> SimTime {
        self.span(PREAMBLE_BYTES + frame.length_with_fcs())
    }

    /// The span from the first bit of the preamble to the end of the header.
    #[must_use]
    pub const fn header_span(&self) -> SimTime {
        self.span(PREAMBLE_BYTES + HEADER_BYTES)
    }

    /// The silence that must follow a frame.
    #[must_use]
    pub const fn gap(&self) -> SimTime {
        self.span(INTER_FRAME_GAP_BYTES)
    }

    /// The earliest that a frame whose first bit leaves now can matter to the receiver.
    #[must_use]
    pub fn look_ahead(&self) -> SimTime {
        self.propagation + self.span(PREAMBLE_BYTES + RECEIVE_HOLD_BYTES)
    }

    /// The span of the shortest frame.
    #[must_use]
    pub const fn shortest_frame(&self) -> SimTime {
        self.span(PREAMBLE_BYTES + super::frame::MINIMUM_BYTES as u64 + FCS_BYTES)
    }
}
