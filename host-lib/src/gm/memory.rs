//! Memory that the board may use.

use super::Gm;
use super::error::MemoryError;
use crate::window::{PhysicalAddress, System, VirtualAddress, Window};

/// A range of the program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// First byte.
    pub address: VirtualAddress,
    /// Number of bytes.
    pub length: u32,
}

/// A registered range.
#[derive(Debug)]
struct Region {
    start: u64,
    length: u64,
    /// First byte of the range, then of each further page.
    pages: Vec<PhysicalAddress>,
    page_bytes: u64,
}

impl Region {
    /// Place of a page in physical memory, and bytes from `address` to its end.
    fn piece(&self, address: u64) -> Option<(u64, u64)> {
        let first = self.start / self.page_bytes;
        let index = (address / self.page_bytes).checked_sub(first)?;
        let page = self.pages.get(usize::try_from(index).ok()?)?;
        let begin = if index == 0 {
            self.start
        } else {
            (first + index) * self.page_bytes
        };
        let end = (first + index + 1) * self.page_bytes;
        Some((page.0 + (address - begin), end - address))
    }

    /// Physical address of a range; `None` if it is scattered.
    fn contiguous(&self, address: u64, length: u64) -> Option<u64> {
        let (start, mut known) = self.piece(address)?;
        while known < length {
            let (next, more) = self.piece(address + known)?;
            if next != start + known {
                return None;
            }
            known += more;
        }
        Some(start)
    }
}

/// The registered ranges.
#[derive(Debug, Default)]
pub(super) struct Regions(Vec<Region>);

impl Regions {
    /// Physical address of a buffer.
    pub(super) fn find(&self, buffer: Buffer) -> Result<PhysicalAddress, MemoryError> {
        let Buffer { address, length } = buffer;
        let inside = |region: &&Region| {
            let offset = address.0.checked_sub(region.start);
            let end = offset.and_then(|offset| offset.checked_add(length.into()));
            end.is_some_and(|end| end <= region.length)
        };
        let region = self.0.iter().rev().find(inside);
        let region = region.ok_or(MemoryError::Unregistered { address, length })?;
        // An empty message has no bytes to find.
        if length == 0 {
            return Ok(PhysicalAddress(0));
        }
        let place = region.contiguous(address.0, length.into());
        place
            .map(PhysicalAddress)
            .ok_or(MemoryError::Scattered { address, length })
    }
}

impl<W: Window, S: System> Gm<W, S> {
    /// Allocates and registers memory that is contiguous for the board.
    ///
    /// # Errors
    /// [`MemoryError::NoMemory`].
    #[doc(alias = "gm_dma_malloc")]
    pub fn allocate_dma(&mut self, length: u32) -> Result<Buffer, MemoryError> {
        let memory = self.system.allocate_contiguous(length.max(1).into());
        let (address, physical) = memory.ok_or(MemoryError::NoMemory)?;
        let count = u64::from(length).div_ceil(S::PAGE_BYTES).max(1);
        let pages = (0..count).map(|page| PhysicalAddress(physical.0 + page * S::PAGE_BYTES));
        self.regions.0.push(Region {
            start: address.0,
            length: length.into(),
            pages: pages.collect(),
            page_bytes: S::PAGE_BYTES,
        });
        Ok(Buffer { address, length })
    }

    /// Registers memory of the program, in one system call. A message must not cross pages that are not adjacent in
    /// physical memory.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`].
    #[doc(alias = "gm_register_memory")]
    pub async fn register(&mut self, buffer: Buffer) -> Result<(), MemoryError> {
        let Buffer { address, length } = buffer;
        let length = u64::from(length);
        let pages = self.system.translate(address, length.max(1)).await;
        let pages = pages.ok_or(MemoryError::NotMapped(address))?;
        self.regions.0.push(Region {
            start: address.0,
            length,
            pages,
            page_bytes: S::PAGE_BYTES,
        });
        Ok(())
    }

    /// Ends the registration of memory that begins at an address.
    ///
    /// # Errors
    /// [`MemoryError::Unregistered`].
    #[doc(alias = "gm_deregister_memory")]
    pub fn deregister(&mut self, buffer: Buffer) -> Result<(), MemoryError> {
        let Buffer { address, length } = buffer;
        let same =
            |region: &Region| region.start == address.0 && region.length == u64::from(length);
        let index = self.regions.0.iter().position(same);
        let index = index.ok_or(MemoryError::Unregistered { address, length })?;
        self.regions.0.remove(index);
        Ok(())
    }
}
