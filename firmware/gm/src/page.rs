//! The page table: from a process's addresses to those of DMA.
//!
//! The driver keeps the table in host memory: buckets of four entries of 16 bytes. A page that a process has registered has
//! an entry with the process's key. The firmware keeps copies, one for each value of the hash. A page without an entry
//! is not the process's.
use defs::gm::map::{
    BUCKET_ENTRIES, Counter, PAGE_ENTRIES, PAGE_ENTRY_BYTES, PAGE_TABLE_HIGH, PAGE_TABLE_LOW,
    PAGE_TABLE_MASK, RECEIVE_PAGES, SEND_PAGES, page_hash, page_tag,
};
use defs::{record, words};

use crate::nic::{HostAddress, Role};
use crate::state::{RECEIVE_BUCKET, SEND_BUCKET};
use crate::{Gm, Nic};

const _: () =
    assert!(PAGE_ENTRIES.is_power_of_two() && PAGE_ENTRY_BYTES == 16 && BUCKET_ENTRIES == 4);

words! {
    impl Gm<N: Nic>;
    /// Host address of the page table, upper half; written by the host.
    page_table_high: u32 = PAGE_TABLE_HIGH;
    /// Host address of the page table, lower half; written by the host.
    page_table_low: u32 = PAGE_TABLE_LOW;
    /// Mask of a hash that gives the number of a bucket; written by the host.
    page_table_mask: u32 = PAGE_TABLE_MASK;
}

record! {
    /// Entry of the page table, in a bucket or in the copies.
    struct Page {
        /// Address in the process's memory, upper half.
        high: u32 = 0;
        /// Address in the process's memory, lower half, with the key of the process; 0 if the entry is empty.
        tag, set_tag: u32 = 4;
        /// Address for DMA, upper half.
        host_high: u32 = 8;
        /// Address for DMA, lower half.
        host_low: u32 = 12;
    }
}

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
        let entry = Page::at(Self::PAGES + ((page_hash(high, tag) & (PAGE_ENTRIES - 1)) << 4));
        let known = entry.tag(self) == tag && entry.high(self) == high;
        if !known && !self.fetch_page(high, tag) {
            return None;
        }
        Some(HostAddress {
            high: entry.host_high(self),
            low: entry.host_low(self) | low & 0xFFF,
        })
    }

    /// Copies the entry of a page from host memory. Returns whether there is one.
    #[cold]
    #[inline(never)]
    fn fetch_page(&mut self, high: u32, tag: u32) -> bool {
        self.count(Counter::PageMisses);
        let hash = page_hash(high, tag);
        let base = self.page_table_low();
        let host = HostAddress {
            high: self.page_table_high(),
            low: base.wrapping_add((hash & self.page_table_mask()) << 6),
        };
        self.nic
            .fetch(host, Self::BUCKET, BUCKET_ENTRIES * PAGE_ENTRY_BYTES);
        let place = Self::PAGES + ((hash & (PAGE_ENTRIES - 1)) << 4);
        let mut at = Self::BUCKET;
        while at < Self::BUCKET + BUCKET_ENTRIES * PAGE_ENTRY_BYTES {
            if Page::at(at).tag(self) == tag && Page::at(at).high(self) == high {
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
        Page::at(place).set_tag(self, 0);
    }

    /// Forgets all copies.
    pub(crate) fn forget_pages(&mut self) {
        for entry in 0..PAGE_ENTRIES {
            Page::at(Self::PAGES + entry * PAGE_ENTRY_BYTES).set_tag(self, 0);
        }
    }
}
