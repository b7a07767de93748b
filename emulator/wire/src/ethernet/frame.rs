//! An Ethernet frame as it travels.

use std::sync::Arc;

use emulator_base::unit::{self, Defects, Unit};
use emulator_state::value_struct;

/// A frame that begins to leave.
pub type Departure = unit::Departure<Frame>;

/// Bytes of preamble and start delimiter before a frame (IEEE 802.3).
pub const PREAMBLE_BYTES: u64 = 8;
/// Bytes of silence after a frame: 96 bit times (IEEE 802.3).
pub const INTER_FRAME_GAP_BYTES: u64 = 12;
/// Bytes of the frame check sequence.
pub const FCS_BYTES: u64 = 4;
/// Shortest frame, without FCS: 64 bytes with it (IEEE 802.3).
pub const MINIMUM_BYTES: usize = 60;
/// Longest frame that the wire model carries, without FCS (jumbo).
pub const MAXIMUM_BYTES: usize = 9018;

/// A frame on the wire: its bytes from the destination address to the end of the payload, and the
/// frame check sequence that follows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    bytes: Arc<[u8]>,
    fcs: u32,
}

value_struct!(Frame {
    bytes: bytes,
    fcs: fcs
});

impl Frame {
    /// A frame as a MAC sends it: padded to the minimum, with a correct FCS.
    #[must_use]
    pub fn new(mut bytes: Vec<u8>) -> Self {
        if bytes.len() < MINIMUM_BYTES {
            bytes.resize(MINIMUM_BYTES, 0);
        }
        let fcs = crc32fast::hash(&bytes);
        Self {
            bytes: bytes.into(),
            fcs,
        }
    }

    /// A frame with a given FCS, right or wrong.
    #[must_use]
    pub fn with_fcs(bytes: Vec<u8>, fcs: u32) -> Self {
        Self {
            bytes: bytes.into(),
            fcs,
        }
    }

    /// The bytes without the FCS.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first bytes as big-endian words; zeros behind the end of a frame that a fault made shorter.
    #[must_use]
    pub fn head(&self) -> [u32; 9] {
        let mut head = [0; 9];
        for (word, bytes) in head.iter_mut().zip(self.bytes.chunks_exact(4)) {
            *word = bytes
                .iter()
                .fold(0, |word, &byte| word << 8 | u32::from(byte));
        }
        head
    }

    /// The frame check sequence.
    #[must_use]
    pub const fn fcs(&self) -> u32 {
        self.fcs
    }

    /// Whether the FCS fits the bytes.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        crc32fast::hash(&self.bytes) == self.fcs
    }

    /// Makes the FCS wrong, whatever it was.
    pub(super) fn damage(&mut self) {
        self.fcs = !crc32fast::hash(&self.bytes);
    }

    /// Bytes with the FCS.
    #[must_use]
    pub fn length_with_fcs(&self) -> u64 {
        self.bytes.len() as u64 + FCS_BYTES
    }
}

impl Unit for Frame {
    const CHECK_BYTES: usize = FCS_BYTES as usize;

    fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    fn check(&self) -> u32 {
        self.fcs
    }

    fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self::with_fcs(bytes, self.fcs)
    }

    fn with_check(bytes: Vec<u8>, check: u32) -> Self {
        Self::with_fcs(bytes, check)
    }

    fn defects(&self) -> Defects {
        let length = self.bytes.len();
        Defects {
            check: !self.is_intact(),
            too_long: length > MAXIMUM_BYTES,
            too_short: length < MINIMUM_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_frames_are_padded_and_intact() {
        let frame = Frame::new(vec![1, 2, 3]);
        assert_eq!(frame.bytes().len(), MINIMUM_BYTES);
        assert_eq!(frame.length_with_fcs(), 64);
        assert!(frame.is_intact());
        assert_eq!(frame.head(), [0x0102_0300, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Frame::with_fcs(vec![1; 7], 0).head()[..2], [0x0101_0101, 0]);
    }

    #[test]
    fn damage_shows() {
        let frame = Frame::new((0..200).map(|i| i as u8).collect());
        let mut bytes = frame.bytes().to_vec();
        bytes[77] ^= 1;
        assert!(!Frame::with_fcs(bytes, frame.fcs()).is_intact());
    }
}
