//! Queues of virtio in a guest's memory (split virtqueues), the device's side. Every address and index in them is checked.

use crate::Violation;
use crate::memory::MappedMemory;

/// Most entries of a queue.
const MOST_ENTRIES: u32 = 1024;
/// Most bytes of a request that is for the device.
const MOST_BYTES: usize = 4096;
/// Bytes of a descriptor: address, length, flags, next.
const DESCRIPTOR_BYTES: u64 = 16;
/// Flag of a descriptor: another one follows.
const NEXT: u16 = 1;
/// Flag of a descriptor: for the device to write.
const WRITE: u16 = 2;

/// A queue.
#[derive(Debug, Default)]
pub struct Virtqueue {
    /// Number of entries, a power of two; 0 before it is known.
    entries: u16,
    /// Addresses of descriptors, available and used entries.
    descriptors: u64,
    available: u64,
    used: u64,
    /// Requests taken, and answered.
    taken: u16,
    answered: u16,
}

/// A request that the device has taken from a queue.
#[derive(Debug, PartialEq, Eq)]
pub struct RingRequest {
    head: u16,
    /// Bytes from the guest to the device.
    pub bytes: Vec<u8>,
    /// Buffer for the answer: address and length. Only the first buffer is used.
    pub answer: Option<(u64, u32)>,
}

impl Virtqueue {
    /// Sets the number of entries.
    ///
    /// # Errors
    /// If a queue cannot have so many.
    pub fn set_entries(&mut self, entries: u32) -> Result<(), Violation> {
        if !entries.is_power_of_two() || entries > MOST_ENTRIES {
            return Err(Violation::Entries(entries));
        }
        self.entries = entries as u16;
        Ok(())
    }

    /// Sets the number of requests taken before.
    pub const fn set_taken(&mut self, taken: u16) {
        self.taken = taken;
    }

    /// Sets where it is.
    pub const fn set_addresses(&mut self, descriptors: u64, available: u64, used: u64) {
        self.descriptors = descriptors;
        self.available = available;
        self.used = used;
    }

    /// Takes the next request.
    ///
    /// # Errors
    /// If it is not in the memory that is shared, or does not end.
    pub fn take_request(
        &mut self,
        memory: &MappedMemory,
    ) -> Result<Option<RingRequest>, Violation> {
        if self.entries == 0
            || u16::from_le_bytes(memory.get(address_at(self.available, 2))?) == self.taken
        {
            return Ok(None);
        }
        let place = u64::from(self.taken % self.entries);
        let head = u16::from_le_bytes(memory.get(address_at(self.available, 4 + 2 * place))?);
        self.taken = self.taken.wrapping_add(1);
        let (mut bytes, mut answer, mut next) = (Vec::new(), None, head);
        for _ in 0..self.entries {
            if next >= self.entries {
                return Err(Violation::Descriptor(next));
            }
            let from = address_at(self.descriptors, DESCRIPTOR_BYTES * u64::from(next));
            let address = u64::from_le_bytes(memory.get(from)?);
            let length = u32::from_le_bytes(memory.get(address_at(from, 8))?);
            let flags = u16::from_le_bytes(memory.get(address_at(from, 12))?);
            next = u16::from_le_bytes(memory.get(address_at(from, 14))?);
            if flags & WRITE != 0 {
                answer = answer.or(Some((address, length)));
            } else {
                let begin = bytes.len();
                if begin + length as usize > MOST_BYTES {
                    break;
                }
                bytes.resize(begin + length as usize, 0);
                memory.read_slice(address, &mut bytes[begin..])?;
            }
            if flags & NEXT == 0 {
                return Ok(Some(RingRequest {
                    head,
                    bytes,
                    answer,
                }));
            }
        }
        Err(Violation::Endless(MOST_BYTES))
    }

    /// Answers a request, as far as it has room; the guest learns of that when it looks, or is told.
    ///
    /// # Errors
    /// If the queue or the buffer is not in the memory that is shared.
    pub fn answer(
        &mut self,
        memory: &MappedMemory,
        request: &RingRequest,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        let mut length = 0;
        if let Some((address, room)) = request.answer {
            length = bytes.len().min(room as usize);
            memory.write_bytes(address, &bytes[..length])?;
        }
        let place = u64::from(self.answered % self.entries.max(1));
        let mut entry = [0; 8];
        entry[..4].copy_from_slice(&u32::from(request.head).to_le_bytes());
        entry[4..].copy_from_slice(&(length as u32).to_le_bytes());
        memory.write_bytes(address_at(self.used, 4 + 8 * place), &entry)?;
        self.answered = self.answered.wrapping_add(1);
        memory.write_bytes(address_at(self.used, 2), &self.answered.to_le_bytes())
    }
}

/// An address behind another; one that no memory has if there is none.
const fn address_at(address: u64, offset: u64) -> u64 {
    address.saturating_add(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryRegion;

    const DESCRIPTORS: u64 = 0x1000;
    const AVAILABLE: u64 = 0x2000;
    const USED: u64 = 0x3000;
    const DATA: u64 = 0x4000;

    fn memory() -> MappedMemory {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x8000).unwrap();
        MappedMemory::map(vec![MemoryRegion {
            address: 0,
            length: 0x8000,
            offset: 0,
            file,
        }])
        .unwrap()
    }

    fn ring(entries: u32) -> Virtqueue {
        let mut ring = Virtqueue::default();
        ring.set_entries(entries).unwrap();
        ring.set_addresses(DESCRIPTORS, AVAILABLE, USED);
        ring
    }

    fn descriptor(
        memory: &MappedMemory,
        index: u16,
        address: u64,
        length: u32,
        flags: u16,
        next: u16,
    ) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        memory
            .write_bytes(DESCRIPTORS + 16 * u64::from(index), &bytes)
            .unwrap();
    }

    fn offer(memory: &MappedMemory, count: u16, head: u16) {
        memory
            .write_bytes(AVAILABLE + 2, &count.to_le_bytes())
            .unwrap();
        memory
            .write_bytes(
                AVAILABLE + 4 + 2 * u64::from(count - 1),
                &head.to_le_bytes(),
            )
            .unwrap();
    }

    #[test]
    fn requests_are_taken_and_answered_in_order() {
        let (memory, mut ring) = (memory(), ring(4));
        assert_eq!(ring.take_request(&memory), Ok(None));
        memory.write_bytes(DATA, b"question").unwrap();
        descriptor(&memory, 2, DATA, 5, NEXT, 0);
        descriptor(&memory, 0, DATA + 5, 3, NEXT, 1);
        descriptor(&memory, 1, DATA + 0x100, 4, WRITE, 0);
        offer(&memory, 1, 2);
        let request = ring.take_request(&memory).unwrap().unwrap();
        assert_eq!(request.bytes, b"question");
        ring.answer(&memory, &request, b"answer").unwrap();
        assert_eq!(memory.get(DATA + 0x100), Ok(*b"answ\0"));
        assert_eq!(memory.get(USED + 2), Ok([1, 0, 2, 0, 0, 0, 4, 0, 0, 0]));
        assert_eq!(ring.take_request(&memory), Ok(None));
    }

    #[test]
    fn a_queue_that_leads_nowhere_is_refused() {
        let (memory, mut ring) = (memory(), ring(4));
        descriptor(&memory, 0, DATA, 1, NEXT, 0);
        offer(&memory, 1, 0);
        assert_eq!(
            ring.take_request(&memory),
            Err(Violation::Endless(4096)),
            "a circle"
        );
        descriptor(&memory, 1, DATA, 4097, 0, 0);
        offer(&memory, 2, 1);
        assert_eq!(
            ring.take_request(&memory),
            Err(Violation::Endless(4096)),
            "too long"
        );
        descriptor(&memory, 2, 0x7fff, 2, 0, 0);
        offer(&memory, 3, 2);
        assert_eq!(ring.take_request(&memory), Err(Violation::Address(0x7fff)));
        offer(&memory, 4, 4);
        assert_eq!(ring.take_request(&memory), Err(Violation::Descriptor(4)));
        ring.set_addresses(DESCRIPTORS, u64::MAX, USED);
        assert_eq!(
            ring.take_request(&memory),
            Err(Violation::Address(u64::MAX))
        );
        for entries in [0, 3, 2048, u32::MAX] {
            assert_eq!(ring.set_entries(entries), Err(Violation::Entries(entries)));
        }
    }
}
