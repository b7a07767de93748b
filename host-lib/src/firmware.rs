//! Firmware images and their loading into the board's SRAM.

use defs::tigon2::map::SRAM_LIMIT;
use thiserror::Error;

use crate::board::BoardWindow;

pub mod linux;

/// A program for CPU A.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Firmware {
    /// SRAM address and content of each part. Zero-initialised memory is contained as zero bytes.
    pub segments: Vec<(u32, Vec<u8>)>,
    /// Start address of CPU A.
    pub entry: u32,
}

/// An image cannot be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ImageError {
    /// The window has no sub-word access.
    #[error("the segment at {address:#x} does not start at a multiple of 4")]
    Unaligned {
        /// Start of the segment.
        address: u32,
    },
    /// Only SRAM can be loaded.
    #[error("the segment at {address:#x} ({length_bytes} bytes) does not lie in SRAM")]
    OutsideSram {
        /// Start of the segment.
        address: u32,
        /// Length of the segment in bytes.
        length_bytes: usize,
    },
}

impl Firmware {
    /// Writes all segments through the window. A segment's last word is padded with zero bytes.
    ///
    /// # Errors
    /// [`ImageError`]; then nothing has been written.
    pub async fn load(&self, board: &mut BoardWindow) -> Result<(), ImageError> {
        for (address, bytes) in &self.segments {
            check_segment(*address, bytes.len())?;
        }
        for (address, bytes) in &self.segments {
            board.write_sram_burst(*address, &words(bytes)).await;
        }
        Ok(())
    }
}

fn check_segment(address: u32, length_bytes: usize) -> Result<(), ImageError> {
    if !address.is_multiple_of(4) {
        return Err(ImageError::Unaligned { address });
    }
    let end = u64::from(address).saturating_add(length_bytes as u64);
    if end > u64::from(SRAM_LIMIT) {
        return Err(ImageError::OutsideSram {
            address,
            length_bytes,
        });
    }
    Ok(())
}

/// Converts bytes to the NIC's big-endian words.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    let (whole, rest) = bytes.as_chunks();
    let mut words: Vec<u32> = whole.iter().map(|word| u32::from_be_bytes(*word)).collect();
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        words.push(u32::from_be_bytes(word));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at_once::block_on;
    use crate::fake::Fake;

    fn load(segments: Vec<(u32, Vec<u8>)>) -> (Fake, Result<(), ImageError>) {
        let fake = Fake::new();
        let mut board = BoardWindow::new(fake.clone().into());
        let firmware = Firmware { segments, entry: 0 };
        let result = block_on(firmware.load(&mut board));
        (fake, result)
    }

    #[test]
    fn segments_arrive_as_big_endian_words() {
        let (fake, result) = load(vec![
            (0x4000, vec![1, 2, 3, 4, 5]),
            (0x7F_FFFC, vec![9; 4]),
            (0x5000, Vec::new()),
        ]);
        assert_eq!(result, Ok(()));
        let machine = fake.lock();
        assert_eq!(machine.word(0x4000), 0x0102_0304);
        assert_eq!(machine.word(0x4004), 0x0500_0000);
        assert_eq!(machine.word(0x7F_FFFC), 0x0909_0909);
    }

    #[test]
    fn a_bad_segment_is_refused_before_anything_is_written() {
        let check = |address, length, expected| {
            let (fake, result) = load(vec![(0x4000, vec![1; 4]), (address, vec![0; length])]);
            assert_eq!(result, Err(expected));
            assert!(fake.lock().writes.is_empty());
        };
        let outside = |address, length_bytes| ImageError::OutsideSram {
            address,
            length_bytes,
        };
        check(0x4002, 4, ImageError::Unaligned { address: 0x4002 });
        check(0x7F_FFFC, 5, outside(0x7F_FFFC, 5));
        check(0xC0_0000, 4, outside(0xC0_0000, 4));
        check(0xFFFF_FFFC, 8, outside(0xFFFF_FFFC, 8));
    }
}
