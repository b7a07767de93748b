//! The page table: from a process's addresses to those of DMA.
//!
//! The driver keeps the table in host memory: buckets of four entries of 16 bytes. A page that a process has registered has
//! an entry with the process's key. The firmware keeps copies, one for each value of the hash. A page without an entry
//! is not the process's.
use defs::gm::map::{
    BUCKET_ENTRIES, Counter, PAGE_ENTRIES, PAGE_ENTRY_BYTES, PAGE_TABLE_HIGH, PAGE_TABLE_LOW,
    PAGE_TABLE_MASK, RECEIVE_PAGES, SEND_PAGES, page_hash, page_tag,
};

use crate::nic::{HostAddress, Role};
use crate::state::{RECEIVE_BUCKET, SEND_BUCKET};
use crate::{Gm, Nic};

const _: () =
    assert!(PAGE_ENTRIES.is_power_of_two() && PAGE_ENTRY_BYTES == 16 && BUCKET_ENTRIES == 4);

impl<N: Nic> Gm<N> {
    const PAGES: u32 = match N::ROLE {
        Role::Receiver => RECEIVE_PAGES,
        _ => SEND_PAGES,
    };
    const BUCKET: u32 = match N::ROLE {
        Role::Receiver => RECEIVE_BUCKET,
        _ => SEND_BUCKET,
    };

    /// The address for DMA of a byte of a process; `None` if its page is not registered.
    #[inline(always)]
    pub(crate) fn page(&mut self, high: u32, low: u32, key: u32) -> Option<HostAddress> {
        let tag = page_tag(low, key);
        let entry = Self::PAGES + ((page_hash(high, tag) & (PAGE_ENTRIES - 1)) << 4);
        let known = self.nic.load(entry + 4) == tag && self.nic.load(entry) == high;
        if !known && !self.fetch_page(high, tag) {
            return None;
        }
        Some(HostAddress {
            high: self.nic.load(entry + 8),
            low: self.nic.load(entry + 12) | low & 0xFFF,
        })
    }

    /// Copies the entry of a page from host memory. Returns whether there is one.
    #[cold]
    #[inline(never)]
    fn fetch_page(&mut self, high: u32, tag: u32) -> bool {
        self.count(Counter::PageMisses);
        let hash = page_hash(high, tag);
        let base = self.nic.load(PAGE_TABLE_LOW);
        let host = HostAddress {
            high: self.nic.load(PAGE_TABLE_HIGH),
            low: base.wrapping_add((hash & self.nic.load(PAGE_TABLE_MASK)) << 6),
        };
        self.nic
            .fetch(host, Self::BUCKET, BUCKET_ENTRIES * PAGE_ENTRY_BYTES);
        let place = Self::PAGES + ((hash & (PAGE_ENTRIES - 1)) << 4);
        let mut at = Self::BUCKET;
        while at < Self::BUCKET + BUCKET_ENTRIES * PAGE_ENTRY_BYTES {
            if self.nic.load(at + 4) == tag && self.nic.load(at) == high {
                for word in [0, 4, 8, 12] {
                    let value = self.nic.load(at + word);
                    self.nic.store(place + word, value);
                }
                return true;
            }
            at += PAGE_ENTRY_BYTES;
        }
        false
    }

    /// Forgets the copy of a page's entry.
    pub(crate) fn forget_page(&mut self, high: u32, tag: u32) {
        let place = Self::PAGES + ((page_hash(high, tag) & (PAGE_ENTRIES - 1)) << 4);
        self.nic.store(place + 4, 0);
    }

    /// Forgets all copies.
    pub(crate) fn forget_pages(&mut self) {
        for entry in 0..PAGE_ENTRIES {
            self.nic
                .store(Self::PAGES + entry * PAGE_ENTRY_BYTES + 4, 0);
        }
    }
}
