//! Host memory that driver and firmware share: contiguous for DMA, and made of words.
//!
//! The control transfers keep the value of a 32-bit word (`Mode` in `defs::acenic`), so that
//! a structure is little-endian words here. Frames keep the order of their bytes.

use crate::window::{AnySystem, PhysicalAddress, VirtualAddress};

use super::error::MemoryError;

/// Bytes of a word.
pub(crate) const WORD_BYTES: u32 = 4;

/// A piece of contiguous memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DmaRegion {
    address: VirtualAddress,
    physical: PhysicalAddress,
}

impl DmaRegion {
    /// A new one, all zeros.
    pub(crate) fn allocate(system: &mut AnySystem, bytes: u32) -> Result<Self, MemoryError> {
        let (address, physical) = system
            .allocate_contiguous(u64::from(bytes))
            .ok_or(MemoryError::Exhausted { bytes })?;
        Ok(Self { address, physical })
    }

    /// Bus address of the byte at `offset`: the board's address of it.
    pub(crate) const fn bus_address(&self, offset: u32) -> u64 {
        self.physical.0 + offset as u64
    }

    /// Bus address of the byte at `offset` as two words, high word first.
    pub(crate) const fn bus_words(&self, offset: u32) -> [u32; 2] {
        let address = self.bus_address(offset);
        [(address >> 32) as u32, address as u32]
    }

    const fn address_of(&self, offset: u32) -> VirtualAddress {
        VirtualAddress(self.address.0 + offset as u64)
    }

    pub(crate) fn write_bytes(
        &self,
        system: &mut AnySystem,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), MemoryError> {
        system
            .write_memory(self.address_of(offset), bytes)
            .map_err(|address| MemoryError::Unmapped { address })
    }

    pub(crate) fn read_bytes(
        &self,
        system: &AnySystem,
        offset: u32,
        bytes: &mut [u8],
    ) -> Result<(), MemoryError> {
        system
            .read_memory(self.address_of(offset), bytes)
            .map_err(|address| MemoryError::Unmapped { address })
    }

    pub(crate) fn write_words(
        &self,
        system: &mut AnySystem,
        offset: u32,
        words: &[u32],
    ) -> Result<(), MemoryError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write_bytes(system, offset, &bytes)
    }

    pub(crate) fn read_words<const N: usize>(
        &self,
        system: &AnySystem,
        offset: u32,
    ) -> Result<[u32; N], MemoryError> {
        let mut words = [0; N];
        for (at, word) in (offset..).step_by(WORD_BYTES as usize).zip(&mut words) {
            let mut bytes = [0; WORD_BYTES as usize];
            self.read_bytes(system, at, &mut bytes)?;
            *word = u32::from_le_bytes(bytes);
        }
        Ok(words)
    }

    pub(crate) fn read_word(&self, system: &AnySystem, offset: u32) -> Result<u32, MemoryError> {
        let [word] = self.read_words(system, offset)?;
        Ok(word)
    }
}
