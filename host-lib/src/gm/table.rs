//! The page table, which the board reads: for each registered page of a process its place in physical memory
//! (`defs::gm::map`).

use std::collections::BTreeMap;

use defs::gm::map::{
    BUCKET_ENTRIES, PAGE_BYTES, PAGE_ENTRY_BYTES, PAGE_TABLE_SCRATCH, page_hash, page_key, page_tag,
};

use super::error::MemoryError;
use crate::window::{AnySystem, PhysicalAddress, VirtualAddress};

/// A page of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Page {
    pub(super) process: u8,
    /// Address of the page's first byte.
    pub(super) address: u64,
}

impl Page {
    pub(super) const fn key(self) -> u32 {
        page_key(self.process as u32)
    }

    const fn tag(self) -> u32 {
        page_tag(self.address as u32, self.key())
    }

    const fn hash(self) -> u32 {
        page_hash((self.address >> 32) as u32, self.tag())
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct PageTable {
    /// First bucket.
    at: VirtualAddress,
    /// First bucket, as the board addresses it.
    pub(super) physical: PhysicalAddress,
    /// Number of buckets less 1.
    pub(super) mask: u32,
    /// The pages of each bucket.
    buckets: BTreeMap<u32, [Option<Page>; BUCKET_ENTRIES as usize]>,
    /// Registrations of each page.
    uses: BTreeMap<Page, u32>,
}

impl PageTable {
    /// An empty table of `buckets` buckets, a power of two.
    pub(super) fn new(system: &mut AnySystem, buckets: u32) -> Option<Self> {
        let bytes = PAGE_BYTES + buckets * BUCKET_ENTRIES * PAGE_ENTRY_BYTES;
        let (at, physical) = system.allocate_contiguous(bytes.into())?;
        // The board counts in the lower half of addresses.
        if (physical.0 + u64::from(bytes)) >> 32 != physical.0 >> 32 {
            return None;
        }
        const { assert!(PAGE_TABLE_SCRATCH <= PAGE_BYTES) }
        let behind = u64::from(PAGE_BYTES);
        Some(Self {
            at: VirtualAddress(at.0 + behind),
            physical: PhysicalAddress(physical.0 + behind),
            mask: buckets - 1,
            buckets: BTreeMap::new(),
            uses: BTreeMap::new(),
        })
    }

    /// Enters a page, or counts one more registration of it.
    pub(super) fn enter(
        &mut self,
        system: &mut AnySystem,
        page: Page,
        physical: PhysicalAddress,
    ) -> Result<(), MemoryError> {
        if let Some(uses) = self.uses.get_mut(&page) {
            *uses += 1;
            return Ok(());
        }
        let number = page.hash() & self.mask;
        let bucket = self.buckets.entry(number).or_default();
        let free = bucket.iter().position(Option::is_none);
        let index = free.ok_or(MemoryError::PageTableFull(VirtualAddress(page.address)))?;
        bucket[index] = Some(page);
        self.uses.insert(page, 1);
        let words = [
            (page.address >> 32) as u32,
            page.tag(),
            (physical.0 >> 32) as u32,
            physical.0 as u32,
        ];
        self.write(system, number, index, words)
    }

    /// Counts one registration of a page less. Returns whether it was the last one: the page is gone.
    pub(super) fn leave(&mut self, system: &mut AnySystem, page: Page) -> bool {
        let Some(uses) = self.uses.get_mut(&page) else {
            return false;
        };
        *uses -= 1;
        if *uses > 0 {
            return false;
        }
        self.uses.remove(&page);
        let number = page.hash() & self.mask;
        let bucket = self.buckets.entry(number).or_default();
        if let Some(index) = bucket.iter().position(|entry| *entry == Some(page)) {
            bucket[index] = None;
            // The table is the library's own memory: it is mapped.
            let _ = self.write(system, number, index, [0; 4]);
        }
        true
    }

    fn write(
        &self,
        system: &mut AnySystem,
        bucket: u32,
        index: usize,
        words: [u32; 4],
    ) -> Result<(), MemoryError> {
        let place = u64::from(bucket * BUCKET_ENTRIES + index as u32) * u64::from(PAGE_ENTRY_BYTES);
        let mut bytes = [0; PAGE_ENTRY_BYTES as usize];
        for (part, word) in bytes.chunks_exact_mut(4).zip(words) {
            part.copy_from_slice(&word.to_be_bytes());
        }
        system
            .write_memory(VirtualAddress(self.at.0 + place), &bytes)
            .map_err(MemoryError::NotMapped)
    }
}
