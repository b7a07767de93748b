//! A guest's memory, as far as it shares it.

use std::fs::File;

use emulator::board::memory::{Lent, NoMemory};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

use crate::Violation;

/// A piece of a guest's memory in a file.
#[derive(Debug)]
pub struct MemoryRegion {
    /// The guest's physical address.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Begin of the piece in the file.
    pub offset: u64,
    /// File that holds the piece.
    pub file: File,
}

/// Memory that is mapped; nothing at first. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MappedMemory(GuestMemoryMmap);

impl MappedMemory {
    /// Maps pieces.
    ///
    /// # Errors
    /// If their files do not have them.
    pub fn map(regions: Vec<MemoryRegion>) -> Result<Self, Violation> {
        let refuse = |why: String| Violation::Memory(why);
        let mut ranges = Vec::new();
        for MemoryRegion {
            address,
            length,
            offset,
            file,
        } in regions
        {
            let there = file
                .metadata()
                .map_err(|error| refuse(error.to_string()))?
                .len();
            let end = offset.checked_add(length).filter(|end| *end <= there);
            // What is mapped behind the end of a file would be a fault of this process.
            if end.is_none() || address.checked_add(length).is_none() {
                return Err(refuse(format!(
                    "{length:#x} bytes at {offset:#x} of a file of {there:#x}"
                )));
            }
            let length = usize::try_from(length).map_err(|error| refuse(error.to_string()))?;
            ranges.push((
                GuestAddress(address),
                length,
                Some(FileOffset::new(file, offset)),
            ));
        }
        let map = GuestMemoryMmap::from_ranges_with_files(ranges);
        map.map(Self).map_err(|error| refuse(error.to_string()))
    }

    /// Reads memory.
    ///
    /// # Errors
    /// If it is not shared.
    pub fn get<const N: usize>(&self, address: u64) -> Result<[u8; N], Violation> {
        let mut bytes = [0; N];
        self.read_slice(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads memory.
    ///
    /// # Errors
    /// If it is not shared.
    pub fn read_slice(&self, address: u64, bytes: &mut [u8]) -> Result<(), Violation> {
        let read = self.0.read_slice(bytes, GuestAddress(address));
        read.map_err(|_| Violation::Address(address))
    }

    /// Writes memory.
    ///
    /// # Errors
    /// If it is not shared.
    pub fn write_bytes(&self, address: u64, bytes: &[u8]) -> Result<(), Violation> {
        let written = self.0.write_slice(bytes, GuestAddress(address));
        written.map_err(|_| Violation::Address(address))
    }
}

impl Lent for MappedMemory {
    fn read(&self, physical: u64, bytes: &mut [u8]) -> Result<(), NoMemory> {
        let read = self.read_slice(physical, bytes);
        read.map_err(|_| NoMemory(physical))
    }

    fn write(&self, physical: u64, bytes: &[u8]) -> Result<(), NoMemory> {
        self.write_bytes(physical, bytes)
            .map_err(|_| NoMemory(physical))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(address: u64, length: u64, offset: u64) -> MemoryRegion {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x4000).unwrap();
        MemoryRegion {
            address,
            length,
            offset,
            file,
        }
    }

    #[test]
    fn memory_is_that_of_the_file() {
        let region = region(0x1_0000, 0x2000, 0x1000);
        let file = region.file.try_clone().unwrap();
        let memory = MappedMemory::map(vec![region]).unwrap();
        memory.write_bytes(0x1_0ffe, &[1, 2, 3, 4]).unwrap();
        assert_eq!(memory.get(0x1_0fff), Ok([2, 3]));
        let mut found = [0; 4];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut found, 0x1ffe).unwrap();
        assert_eq!(found, [1, 2, 3, 4]);
        assert_eq!(memory.write(0x1_1ffe, &[0; 4]), Err(NoMemory(0x1_1ffe)));
        assert_eq!(memory.get::<1>(0xffff), Err(Violation::Address(0xffff)));
    }

    #[test]
    fn pieces_that_no_file_has_are_refused() {
        for (address, length, offset) in [
            (0, 0x4001, 0),
            (0, 1, 0x4000),
            (u64::MAX, 2, 0),
            (0, u64::MAX, 2),
        ] {
            assert!(
                MappedMemory::map(vec![region(address, length, offset)]).is_err(),
                "{length:#x} at {offset:#x}"
            );
        }
        assert!(
            MappedMemory::map(vec![region(0, 0x2000, 0), region(0x1000, 0x2000, 0)]).is_err(),
            "overlap"
        );
    }
}
