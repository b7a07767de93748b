//! The words of a transfer's descriptors, in its three forms (`defs::emp::descriptor`).

use defs::emp::descriptor::{
    CHAIN_PAGES, DESCRIPTOR_WORDS, Form, PAGE_ENTRY_BYTES, STATUS_NEXT_MASK, STATUS_NEXT_NONE,
    page_entry, status_posted,
};

use super::buffer::PagePiece;
use super::pool::ListPage;

/// The words of one descriptor.
pub(super) type DescriptorWords = [u32; DESCRIPTOR_WORDS];

/// Page entries of a chain continuation.
const CONTINUATION_PIECES: usize = 2;

/// The form for a message of `pieces` pieces.
pub(super) const fn form(pieces: usize) -> Form {
    match pieces {
        0 | 1 => Form::Short,
        2..=CHAIN_PAGES => Form::Chained,
        _ => Form::Indirect,
    }
}

/// Number of descriptors of a message of `pieces` pieces.
pub(super) const fn descriptors(pieces: usize) -> usize {
    match form(pieces) {
        Form::Short | Form::Indirect => 1,
        Form::Chained => 1 + (pieces - 1).div_ceil(CONTINUATION_PIECES),
    }
}

/// The head: its page entry, node and tag, length, and the status that gives it to the NIC.
pub(super) fn head(
    entry: [u32; 2],
    node_tag: u32,
    length: u32,
    form: Form,
    chain: &[u16],
) -> DescriptorWords {
    let status = status_posted(form, next(chain.first()));
    [entry[0], entry[1], node_tag, length, status]
}

/// The continuations of a chain, for the pieces after the head's. `chain` has one index per continuation.
pub(super) fn continuations(pieces: &[PagePiece], chain: &[u16]) -> Vec<DescriptorWords> {
    pieces
        .chunks(CONTINUATION_PIECES)
        .enumerate()
        .map(|(position, pair)| {
            let first = pair.first().map_or([0; 2], |piece| piece.entry());
            let second = pair.get(1).map_or([0; 2], |piece| piece.entry());
            let link = next(chain.get(position + 1)) & STATUS_NEXT_MASK;
            [first[0], first[1], second[0], second[1], link]
        })
        .collect()
}

/// The head's entry in the indirect form: address of the page list and its size in bytes.
pub(super) const fn list_entry(page: ListPage, pieces: usize) -> [u32; 2] {
    page_entry(page.physical.0, pieces as u16 * PAGE_ENTRY_BYTES as u16)
}

/// The page list's bytes: the NIC's DMA keeps byte order, so the words are big-endian.
pub(super) fn list_bytes(pieces: &[PagePiece]) -> Vec<u8> {
    pieces
        .iter()
        .flat_map(|piece| piece.entry())
        .flat_map(u32::to_be_bytes)
        .collect()
}

/// The bits of a status that name the next descriptor of a chain.
fn next(index: Option<&u16>) -> u32 {
    index.map_or(STATUS_NEXT_NONE, |&index| u32::from(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::PhysicalAddress;

    #[test]
    fn form_and_descriptors_follow_from_the_pieces() {
        let check = |pieces, expected: (Form, usize)| {
            assert_eq!((form(pieces), descriptors(pieces)), expected, "{pieces}");
        };
        check(1, (Form::Short, 1));
        check(2, (Form::Chained, 2));
        check(3, (Form::Chained, 2));
        check(4, (Form::Chained, 3));
        check(6, (Form::Chained, 4));
        check(7, (Form::Chained, 4));
        check(8, (Form::Indirect, 1));
        check(512, (Form::Indirect, 1));
    }

    #[test]
    fn a_chain_links_its_continuations_in_order() {
        let piece = |address| PagePiece {
            address: PhysicalAddress(address),
            length: 16,
        };
        let pieces = [piece(0x1_0000_2000), piece(0x3000), piece(0x4000)];
        assert_eq!(
            continuations(&pieces, &[7, 9]),
            [
                [0x0010_0001, 0x2000, 0x0010_0000, 0x3000, 9],
                [0x0010_0000, 0x4000, 0, 0, STATUS_NEXT_NONE],
            ]
        );
        assert_eq!(
            head([1, 2], 3, 4, Form::Chained, &[7, 9]),
            [1, 2, 3, 4, 0x8010_0007]
        );
    }

    #[test]
    fn the_full_page_list_is_one_page() {
        let page = ListPage {
            address: crate::window::VirtualAddress(0),
            physical: PhysicalAddress(0x2_0000_3000),
        };
        assert_eq!(list_entry(page, 512), [0x1000_0002, 0x3000]);
        assert_eq!(list_bytes(&[PagePiece::EMPTY; 512]).len(), 4096);
    }
}
