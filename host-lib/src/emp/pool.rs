//! The host-managed free lists of descriptors, and the reused host pages for page lists.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::window::{PhysicalAddress, VirtualAddress};

/// Free descriptors of one direction, by index into the NIC's array.
///
/// Descriptors are taken from the end that is given at construction and stay there as long as
/// possible: few open transfers then share few positions of the window's view.
#[derive(Debug)]
pub(super) struct Pool {
    free: BTreeSet<u16>,
    end: End,
}

/// From which end of its range a pool hands out descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Lowest,
    Highest,
}

impl Pool {
    pub(super) fn new(range: Range<u16>, end: End) -> Self {
        Self {
            free: range.collect(),
            end,
        }
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Takes `count` descriptors; `None`, and nothing taken, when there are not so many.
    pub(super) fn take(&mut self, count: usize) -> Option<Vec<u16>> {
        if self.free.len() < count {
            return None;
        }
        Some((0..count).filter_map(|_| self.take_one()).collect())
    }

    pub(super) fn put(&mut self, descriptors: &[u16]) {
        self.free.extend(descriptors);
    }

    fn take_one(&mut self) -> Option<u16> {
        match self.end {
            End::Lowest => self.free.pop_first(),
            End::Highest => self.free.pop_last(),
        }
    }
}

/// A host page of the library's own that holds the page entries of one indirect transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListPage {
    /// Where the program writes it.
    pub(super) address: VirtualAddress,
    /// Where the NIC reads it.
    pub(super) physical: PhysicalAddress,
}
