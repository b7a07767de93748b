//! The host-managed free lists of descriptors, and a cache of host pages for page lists.

use std::collections::BTreeSet;
use std::ops::Range;

use smallvec::SmallVec;

use crate::window::{PhysicalAddress, VirtualAddress};

/// The descriptors of a transfer, of which most have one.
pub(super) type Descriptors = SmallVec<[u16; 4]>;

/// Free descriptors of one direction, by index into the NIC's array.
///
/// Descriptors are taken from the end of the range that is given at construction: few open transfers then
/// need few positions of the window's view.
#[derive(Debug)]
pub(super) struct Pool {
    free: BTreeSet<u16>,
    end: PoolEnd,
}

/// The end of its range from which a pool takes descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) enum PoolEnd {
    Lowest,
    Highest,
}

impl Pool {
    pub(super) fn new(range: Range<u16>, end: PoolEnd) -> Self {
        Self {
            free: range.collect(),
            end,
        }
    }

    /// Number of free descriptors.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Takes `count` descriptors; `None`, without taking any, if there are too few.
    pub(super) fn take(&mut self, count: usize) -> Option<Descriptors> {
        if self.free.len() < count {
            return None;
        }
        Some((0..count).filter_map(|_| self.take_one()).collect())
    }

    /// Frees descriptors.
    pub(super) fn give_back(&mut self, descriptors: &[u16]) {
        self.free.extend(descriptors);
    }

    /// Takes a descriptor from the end of the pool.
    fn take_one(&mut self) -> Option<u16> {
        match self.end {
            PoolEnd::Lowest => self.free.pop_first(),
            PoolEnd::Highest => self.free.pop_last(),
        }
    }
}

/// A host page, owned by the library, with the page entries of one indirect transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListPage {
    /// Virtual address, for the program's writes.
    pub(super) address: VirtualAddress,
    /// Physical address, for the NIC's reads.
    pub(super) physical: PhysicalAddress,
}
