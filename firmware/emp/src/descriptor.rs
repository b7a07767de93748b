//! Descriptors and their pages.
//!
//! A transfer's page entries lie in a cache of [`CACHE_ENTRIES`] entries in NIC memory, two blocks of
//! [`BLOCK_ENTRIES`]. Short and chained descriptors put all their entries into the first block. For an
//! indirect descriptor, block `b` of its list is fetched by DMA into half `b & 1`; while a message
//! moves through one block the next one is fetched.
//!
//! [`Pages`] is a cursor: the current entry and the message offset at which it starts. Frames mostly come
//! in order, so a seek is a comparison and sometimes a step; for a retransmission the cursor steps back. A
//! seek has three results ([`Seek`]): the bytes are found, their block is missing (fetch it), or the
//! descriptor has no such bytes.

use crate::nic::{HostAddress, Nic};
use defs::emp::descriptor::{
    CHAIN_DESCRIPTORS, DESCRIPTOR_BYTES, DESCRIPTOR_COUNT, Form, INDIRECT_PAGES, PAGE_ENTRY_BYTES,
    STATUS_NEXT_MASK, STATUS_NEXT_NONE, WORD_PAGE_HIGH, WORD_STATUS,
};

/// Number of page entries fetched at once.
pub const BLOCK_ENTRIES: u32 = 16;
/// Number of page entries in a transfer's cache.
pub const CACHE_ENTRIES: u32 = 2 * BLOCK_ENTRIES;
/// Bytes of a transfer's cache in NIC memory.
pub const CACHE_BYTES: u32 = CACHE_ENTRIES * PAGE_ENTRY_BYTES;

const BLOCK_SHIFT: u32 = BLOCK_ENTRIES.trailing_zeros();
const BLOCK_BYTES: u32 = BLOCK_ENTRIES * PAGE_ENTRY_BYTES;
const NO_BLOCK: u8 = 0xFF;

/// Index of the descriptor at `offset` bytes from the array's start; `None` outside of the array and off
/// its grid.
///
/// The chip has no division and no multiplication: a sum of right shifts gives a fifth of `offset / 4` or
/// one less.
#[inline(always)]
#[must_use]
pub fn descriptor_at(offset: u32) -> Option<u32> {
    if offset >= DESCRIPTOR_COUNT * DESCRIPTOR_BYTES {
        return None;
    }
    let words = offset >> 2;
    let mut index = (words >> 1) + (words >> 2);
    index += index >> 4;
    index += index >> 8;
    index >>= 2;
    match offset.wrapping_sub(bytes_of(index)) {
        0 => Some(index),
        DESCRIPTOR_BYTES => Some(index + 1),
        _ => None,
    }
}

/// Offset of descriptor `index` in the array.
#[inline(always)]
#[must_use]
pub const fn bytes_of(index: u32) -> u32 {
    (index << 4) + (index << 2)
}

/// Calls `sink(nic, position, word 0, word 1)` for each page entry of a chained descriptor. Returns the
/// number of entries; `None` if the chain is broken or too long.
#[inline(always)]
fn each_entry<N: Nic>(
    nic: &mut N,
    array: u32,
    head: u32,
    mut sink: impl FnMut(&mut N, u32, u32, u32),
) -> Option<u32> {
    let mut at = array + bytes_of(head);
    let entry = |nic: &N, at: u32, word: usize| {
        let at = at + ((word as u32) << 2);
        (nic.load(at), nic.load(at + 4))
    };
    let (high, low) = entry(nic, at, WORD_PAGE_HIGH);
    sink(nic, 0, high, low);
    let mut count = 1;
    loop {
        let next = nic.load(at + ((WORD_STATUS as u32) << 2)) & STATUS_NEXT_MASK;
        if next == STATUS_NEXT_NONE {
            return Some(count);
        }
        if next >= DESCRIPTOR_COUNT || count as usize >= 2 * CHAIN_DESCRIPTORS - 1 {
            return None;
        }
        at = array + bytes_of(next);
        for word in [0, 2] {
            let (high, low) = entry(nic, at, word);
            sink(nic, count, high, low);
            count += 1;
        }
    }
}

/// Whether a descriptor's page entries can hold `length` bytes. Of an indirect descriptor only the number
/// of entries is known, not their sizes.
#[inline(always)]
pub(crate) fn covers<N: Nic>(nic: &mut N, array: u32, head: u32, form: Form, length: u32) -> bool {
    if form == Form::Chained {
        return chain_covers(nic, array, head, length);
    }
    let at = array + bytes_of(head) + ((WORD_PAGE_HIGH as u32) << 2);
    suffices(form, nic.load(at) >> 16, length)
}

/// [`covers`] for a chain.
#[inline(never)]
fn chain_covers<N: Nic>(nic: &mut N, array: u32, head: u32, length: u32) -> bool {
    let mut total = 0;
    let add = |_: &mut N, _, high, _| total += high >> 16;
    each_entry(nic, array, head, add).is_some() && total >= length
}

/// Whether `total` bytes of entries (indirect: of the list) suffice for a message of `length`.
#[inline(always)]
fn suffices(form: Form, total: u32, length: u32) -> bool {
    match form {
        Form::Indirect => length == 0 || total >= PAGE_ENTRY_BYTES,
        _ => total >= length,
    }
}

/// Position of a message's bytes in host memory: see the module's text. The owner knows the cache's
/// address. The field order lets fields that are written together begin at a word boundary: the chip has no
/// unaligned store.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Pages {
    /// Host address of an indirect list.
    list: HostAddress,
    /// Message offset of the first byte of entry `entry`.
    start: u32,
    /// Number of page entries.
    count: u16,
    /// Index of the current entry.
    entry: u16,
    /// The blocks in the two halves of the cache.
    blocks: [u8; 2],
    /// The block that is being fetched.
    fetching: u8,
    /// The entries are in host memory.
    indirect: bool,
    /// Bytes of the current entry; 0 while it may be missing from the cache.
    here: u16,
}

/// Result of [`Pages::seek`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seek {
    /// The bytes are at `host`, followed by `room` contiguous bytes (at least 1).
    Found { host: HostAddress, room: u32 },
    /// The entries of this block must be fetched first.
    Missing(u8),
    /// The descriptor has no memory for this offset.
    End,
}

/// Result of [`Pages::walk`].
enum Walk {
    /// The cursor is at the entry that holds the bytes.
    There,
    /// The walk stopped before this block.
    Missing(u8),
    /// The walk passed the last entry, or the first.
    End,
}

/// A fetch of page entries, for the read DMA.
pub(crate) struct Fetch {
    pub host: HostAddress,
    pub local: u32,
    pub length: u32,
}

impl Pages {
    /// A cursor with all bits zero: an unused record needs no space in an image's file.
    pub(crate) const ZERO: Self = Self {
        list: HostAddress { high: 0, low: 0 },
        start: 0,
        count: 0,
        entry: 0,
        here: 0,
        blocks: [0; 2],
        fetching: 0,
        indirect: false,
    };

    /// Takes the entries of a descriptor for `length` bytes. `false` if its chain is broken or they do not
    /// cover the length (see [`covers`]).
    #[inline(always)]
    pub(crate) fn take<N: Nic>(
        &mut self,
        nic: &mut N,
        array: u32,
        head: u32,
        form: Form,
        length: u32,
        cache: u32,
    ) -> bool {
        let at = array + bytes_of(head) + ((WORD_PAGE_HIGH as u32) << 2);
        let (high, low) = (nic.load(at), nic.load(at + 4));
        self.start = 0;
        self.count = 1;
        self.entry = 0;
        self.blocks = [0, NO_BLOCK];
        self.fetching = NO_BLOCK;
        self.indirect = false;
        self.here = (high >> 16) as u16;
        let total = match form {
            Form::Short => {
                nic.store(cache, high);
                nic.store(cache + 4, low);
                high >> 16
            }
            Form::Chained => match self.take_chain(nic, array, head, cache) {
                Some(total) => total,
                None => return false,
            },
            Form::Indirect => self.take_list(high, low),
        };
        suffices(form, total, length)
    }

    /// Takes the list of an indirect descriptor; returns its size in bytes.
    #[inline(never)]
    fn take_list(&mut self, high: u32, low: u32) -> u32 {
        self.list = host_address(high, low);
        self.count = (high >> 19).min(INDIRECT_PAGES) as u16;
        self.here = 0;
        self.blocks[0] = NO_BLOCK;
        self.indirect = true;
        high >> 16
    }

    /// Takes the entries of a chain; returns the number of bytes that they hold, `None` if the chain is
    /// broken.
    #[inline(never)]
    fn take_chain<N: Nic>(
        &mut self,
        nic: &mut N,
        array: u32,
        head: u32,
        cache: u32,
    ) -> Option<u32> {
        let mut total = 0;
        let count = each_entry(nic, array, head, |nic, position, high, low| {
            total += high >> 16;
            let at = cache + (position << 3);
            nic.store(at, high);
            nic.store(at + 4, low);
        })?;
        self.count = count as u16;
        Some(total)
    }

    /// Moves to the entry that holds `offset`: usually the current one.
    #[inline(always)]
    pub(crate) fn seek<N: Nic>(&mut self, nic: &N, cache: u32, offset: u32) -> Seek {
        loop {
            let here = u32::from(self.here);
            // Before the entry's start, this wraps to more than any length.
            let into = offset.wrapping_sub(self.start);
            if into < here {
                let at = entry_address(cache, self.entry);
                return Seek::Found {
                    host: host_address(nic.load(at), nic.load(at + 4)).advanced(into),
                    room: here - into,
                };
            }
            match self.walk(nic, cache, offset) {
                Walk::There => {}
                Walk::Missing(block) => return Seek::Missing(block),
                Walk::End => return Seek::End,
            }
        }
    }

    /// Moves from a used-up entry to the next one, if that is in the cache: a shortcut for
    /// [`seek`](Self::seek).
    #[inline(always)]
    pub(crate) fn step<N: Nic>(&mut self, nic: &N, cache: u32) {
        let next = self.entry + 1;
        if next < self.count && self.missing(next).is_none() {
            self.start = self.start.wrapping_add(u32::from(self.here));
            self.entry = next;
            self.here = (nic.load(entry_address(cache, next)) >> 16) as u16;
        }
    }

    /// Steps back or forward from the current entry.
    #[inline(never)]
    fn walk<N: Nic>(&mut self, nic: &N, cache: u32, offset: u32) -> Walk {
        self.here = 0;
        while offset < self.start {
            // The cursor can get before its first entry only if the host rewrote the list.
            let Some(before) = self.entry.checked_sub(1) else {
                return Walk::End;
            };
            if let Some(block) = self.missing(before) {
                return Walk::Missing(block);
            }
            let length = nic.load(entry_address(cache, before)) >> 16;
            self.start = self.start.wrapping_sub(length);
            self.entry = before;
        }
        while self.entry < self.count {
            if let Some(block) = self.missing(self.entry) {
                return Walk::Missing(block);
            }
            let length = nic.load(entry_address(cache, self.entry)) >> 16;
            if offset.wrapping_sub(self.start) < length {
                self.here = length as u16;
                return Walk::There;
            }
            self.start = self.start.wrapping_add(length);
            self.entry += 1;
        }
        Walk::End
    }

    /// The block of `entry` if it is not in the cache.
    #[inline(always)]
    fn missing(&self, entry: u16) -> Option<u8> {
        let block = (entry >> BLOCK_SHIFT) as u8;
        self.lacks(block).then_some(block)
    }

    /// Whether `block` is not in the cache.
    #[inline(always)]
    pub(crate) fn lacks(&self, block: u8) -> bool {
        self.blocks[usize::from(block & 1)] != block
    }

    /// The block to prefetch, if there is one.
    #[inline(always)]
    pub(crate) fn next_block(&self) -> Option<u8> {
        if !self.indirect {
            return None;
        }
        let next = self.entry | (BLOCK_ENTRIES as u16 - 1);
        if next + 1 >= self.count {
            return None;
        }
        self.missing(next + 1)
    }

    /// Starts to fetch `block`; `None` while another fetch is in progress.
    pub(crate) fn begin_fetch(&mut self, cache: u32, block: u8) -> Option<Fetch> {
        if self.fetching != NO_BLOCK {
            return None;
        }
        let first = u32::from(block) << BLOCK_SHIFT;
        let entries = u32::from(self.count).saturating_sub(first);
        if entries == 0 {
            return None;
        }
        let half = block & 1;
        self.here = 0;
        self.blocks[usize::from(half)] = NO_BLOCK;
        self.fetching = block;
        Some(Fetch {
            host: self.list.advanced(first << 3),
            local: cache + if half == 0 { 0 } else { BLOCK_BYTES },
            length: entries.min(BLOCK_ENTRIES) << 3,
        })
    }

    /// Whether a fetch is in progress.
    pub(crate) fn is_fetching(&self) -> bool {
        self.fetching != NO_BLOCK
    }

    /// Ends the fetch in progress.
    pub(crate) fn end_fetch(&mut self) {
        let block = self.fetching;
        self.fetching = NO_BLOCK;
        self.blocks[usize::from(block & 1)] = block;
    }
}

/// NIC address of `entry` in its cache.
#[inline(always)]
fn entry_address(cache: u32, entry: u16) -> u32 {
    cache + ((u32::from(entry) & (CACHE_ENTRIES - 1)) << 3)
}

#[inline(always)]
fn host_address(high: u32, low: u32) -> HostAddress {
    HostAddress {
        high: high & 0xFFFF,
        low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_grid_of_the_array_holds_descriptors() {
        for offset in 0..DESCRIPTOR_COUNT * DESCRIPTOR_BYTES + 100 {
            let inside = offset.is_multiple_of(DESCRIPTOR_BYTES)
                && offset < DESCRIPTOR_COUNT * DESCRIPTOR_BYTES;
            let expected = inside.then_some(offset / DESCRIPTOR_BYTES);
            assert_eq!(descriptor_at(offset), expected, "{offset}");
        }
        assert_eq!(descriptor_at(u32::MAX), None);
    }

    #[test]
    fn host_addresses_carry_into_the_high_word() {
        let check = |low, bytes, expected| {
            let address = HostAddress { high: 1, low };
            let (high, low) = expected;
            assert_eq!(address.advanced(bytes), HostAddress { high, low });
        };
        check(0xFFFF_F000, 0xFFF, (1, 0xFFFF_FFFF));
        check(0xFFFF_F000, 0x1000, (2, 0));
        check(5, 0, (1, 5));
    }
}
