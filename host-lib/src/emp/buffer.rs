//! User buffers and their pieces of pages.

use defs::emp::descriptor::{INDIRECT_PAGES, MESSAGE_LIMIT_BYTES, PAGE_BYTES, page_entry};

use smallvec::SmallVec;

use super::error::PostError;
use crate::window::{AnySystem, PhysicalAddress, System, VirtualAddress};

/// First physical address that a page entry cannot hold.
const PHYSICAL_LIMIT: u64 = 1 << 48;

/// Program memory that a message is sent from or received into.
///
/// From a post to its completion the NIC owns the memory: later writes of the program may or may not be
/// sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Start address, with any alignment.
    pub address: VirtualAddress,
    /// Length in bytes.
    pub length: u32,
}

/// A piece of a buffer within one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PagePiece {
    pub(super) address: PhysicalAddress,
    pub(super) length: u16,
}

impl PagePiece {
    /// The one piece of an empty message.
    pub(super) const EMPTY: Self = Self {
        address: PhysicalAddress(0),
        length: 0,
    };

    /// The piece as a page entry of a descriptor or page list.
    pub(super) const fn entry(self) -> [u32; 2] {
        page_entry(self.address.0, self.length)
    }
}

/// The pieces of a message, most of which have few.
pub(super) type Pieces = SmallVec<[PagePiece; 4]>;

/// Length of a message in `buffers`.
pub(super) fn message_length(buffers: &[Buffer]) -> Result<u32, PostError> {
    let length_bytes: u64 = buffers.iter().map(|buffer| u64::from(buffer.length)).sum();
    match u32::try_from(length_bytes) {
        Ok(length) if length <= MESSAGE_LIMIT_BYTES => Ok(length),
        _ => Err(PostError::TooLong { length_bytes }),
    }
}

/// Translates `buffers` (one system call each) into pieces, each within a page. Empty buffers contribute no
/// piece; an empty message is one empty piece.
pub(super) async fn pieces(
    system: &mut AnySystem,
    buffers: &[Buffer],
) -> Result<Pieces, PostError> {
    let count = buffers.iter().map(|buffer| lengths(buffer).count()).sum();
    if count > INDIRECT_PAGES as usize {
        return Err(PostError::TooManyPages { pages: count });
    }
    let mut pieces = Pieces::with_capacity(count);
    for buffer in buffers.iter().filter(|buffer| buffer.length > 0) {
        translate(system, *buffer, &mut pieces).await?;
    }
    if pieces.is_empty() {
        pieces.push(PagePiece::EMPTY);
    }
    Ok(pieces)
}

/// Adds the pieces of a buffer.
async fn translate(
    system: &mut AnySystem,
    buffer: Buffer,
    pieces: &mut Pieces,
) -> Result<(), PostError> {
    let unmapped = PostError::Unmapped {
        address: buffer.address,
        length_bytes: buffer.length,
    };
    let length = u64::from(buffer.length);
    if buffer.address.0.checked_add(length).is_none() {
        return Err(unmapped);
    }
    let addresses = system
        .translate(buffer.address, length)
        .await
        .filter(|addresses| addresses.len() == lengths(&buffer).count())
        .ok_or(unmapped)?;
    for (address, length) in addresses.into_iter().zip(lengths(&buffer)) {
        if address.0 >= PHYSICAL_LIMIT {
            return Err(PostError::Unreachable { address });
        }
        pieces.push(PagePiece { address, length });
    }
    Ok(())
}

/// Number of bytes of `buffer` in each of its pages.
fn lengths(buffer: &Buffer) -> impl Iterator<Item = u16> + use<> {
    let mut room = PAGE_BYTES - (buffer.address.0 % u64::from(PAGE_BYTES)) as u32;
    let mut left = buffer.length;
    std::iter::from_fn(move || {
        let length = left.min(std::mem::replace(&mut room, PAGE_BYTES));
        left -= length;
        (length > 0).then_some(length as u16)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lengths(address: u64, length: u32) -> Vec<u16> {
        let address = VirtualAddress(address);
        super::lengths(&Buffer { address, length }).collect()
    }

    #[test]
    fn pieces_end_at_page_boundaries() {
        assert_eq!(lengths(0x5000, 4096), [4096]);
        assert_eq!(lengths(0x5001, 4096), [4095, 1]);
        assert_eq!(lengths(0x5FFF, 2), [1, 1]);
        assert_eq!(lengths(0x5FFC, 4), [4]);
        assert_eq!(lengths(0x5000, 0), [0u16; 0]);
        assert_eq!(lengths(0x5800, 0x1900), [0x800, 0x1000, 0x100]);
        assert_eq!(lengths(u64::MAX, 1), [1]);
    }

    proptest! {
        #[test]
        fn pieces_cover_the_buffer_and_cross_no_page(
            address in 0u64..1 << 40,
            length in 0u32..=MESSAGE_LIMIT_BYTES,
        ) {
            let mut at = address;
            let page = u64::from(PAGE_BYTES);
            for piece in lengths(address, length) {
                let end = at + u64::from(piece);
                prop_assert!(piece > 0);
                prop_assert_eq!(at / page, (end - 1) / page);
                at = end;
            }
            prop_assert_eq!(at, address + u64::from(length));
        }
    }
}
