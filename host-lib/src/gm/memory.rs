//! Memory that the board may use: the process's registered ranges.

use defs::gm::map::{ARGUMENT_HIGH, COMMAND_UNCACHE, page_tag};

use super::Gm;
use super::error::MemoryError;
use super::table::Page;
use crate::window::{PAGE_BYTES, PhysicalAddress, System, VirtualAddress};

/// A range of the program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// First byte.
    pub address: VirtualAddress,
    /// Number of bytes.
    pub length: u32,
}

/// The registered ranges: first byte and length.
#[derive(Debug, Default)]
pub(super) struct Regions(Vec<(u64, u64)>);

impl Regions {
    /// Checks that a buffer is registered.
    pub(super) fn check(&self, buffer: Buffer) -> Result<(), MemoryError> {
        let Buffer { address, length } = buffer;
        let inside = |(start, bytes): &(u64, u64)| {
            let offset = address.0.checked_sub(*start);
            let end = offset.and_then(|offset| offset.checked_add(length.into()));
            end.is_some_and(|end| end <= *bytes)
        };
        let found = self.0.iter().any(inside);
        found
            .then_some(())
            .ok_or(MemoryError::Unregistered { address, length })
    }
}

/// The first bytes of the pages of a range.
fn pages(address: VirtualAddress, length: u64) -> impl Iterator<Item = u64> {
    let first = address.0 / PAGE_BYTES;
    let last = (address.0 + length.max(1) - 1) / PAGE_BYTES;
    (first..=last).map(|page| page * PAGE_BYTES)
}

impl Gm {
    /// Allocates and registers memory that is contiguous for the board.
    ///
    /// # Errors
    /// [`MemoryError::NoMemory`], [`MemoryError::PageTableFull`].
    #[doc(alias = "gm_dma_malloc")]
    pub fn allocate_dma(&mut self, length: u32) -> Result<Buffer, MemoryError> {
        let memory = self.system.allocate_contiguous(length.max(1).into());
        let (address, physical) = memory.ok_or(MemoryError::NoMemory)?;
        let places = pages(address, length.into())
            .map(|page| (page, PhysicalAddress(physical.0 + (page - address.0))));
        self.enter(address, length.into(), places.collect())?;
        Ok(Buffer { address, length })
    }

    /// Registers memory of the program, in one system call. All ports of this process may use it from now on.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`], [`MemoryError::PageTableFull`].
    #[doc(alias = "gm_register_memory")]
    pub async fn register(&mut self, buffer: Buffer) -> Result<(), MemoryError> {
        let Buffer { address, length } = buffer;
        let length = u64::from(length);
        let found = self.system.translate(address, length.max(1)).await;
        let found = found.ok_or(MemoryError::NotMapped(address))?;
        let begin = |physical: PhysicalAddress| PhysicalAddress(physical.0 & !(PAGE_BYTES - 1));
        let places = pages(address, length).zip(found.into_iter().map(begin));
        self.enter(address, length, places.collect())
    }

    /// Enters the pages of a range into the page table.
    fn enter(
        &mut self,
        address: VirtualAddress,
        length: u64,
        places: Vec<(u64, PhysicalAddress)>,
    ) -> Result<(), MemoryError> {
        let mut driver = self.driver.lock();
        for (at, (address, physical)) in places.iter().enumerate() {
            let page = Page {
                process: self.process,
                address: *address,
            };
            let entered = driver.table.enter(&mut self.system, page, *physical);
            if let Err(error) = entered {
                for (address, _) in &places[..at] {
                    let page = Page {
                        address: *address,
                        ..page
                    };
                    driver.table.leave(&mut self.system, page);
                }
                return Err(error);
            }
        }
        drop(driver);
        self.regions.0.push((address.0, length));
        Ok(())
    }

    /// Ends the registration of a range. When this returns, the board does not use it any more.
    ///
    /// # Errors
    /// [`MemoryError::Unregistered`], [`MemoryError::Silent`].
    #[doc(alias = "gm_deregister_memory")]
    #[doc(alias = "gm_dma_free")]
    pub async fn deregister(&mut self, buffer: Buffer) -> Result<(), MemoryError> {
        let Buffer { address, length } = buffer;
        let range = (address.0, u64::from(length));
        let index = self.regions.0.iter().position(|region| *region == range);
        let index = index.ok_or(MemoryError::Unregistered { address, length })?;
        self.regions.0.remove(index);
        for address in pages(address, length.into()) {
            let page = Page {
                process: self.process,
                address,
            };
            let gone = self.driver.lock().table.leave(&mut self.system, page);
            if gone {
                self.forget(page).await?;
            }
        }
        Ok(())
    }

    /// The board forgets a page.
    async fn forget(&mut self, page: Page) -> Result<(), MemoryError> {
        let tag = page_tag(page.address as u32, page.key());
        let arguments = [(page.address >> 32) as u32, tag];
        self.command_with(COMMAND_UNCACHE, 0, arguments)
            .await
            .map_err(|_| MemoryError::Silent)
    }
}

const _: () = assert!(defs::gm::map::ARGUMENT_LOW == ARGUMENT_HIGH + 4);
