//! Host memory: physical pages as DMA sees them, and virtual memory as programs see it.

use std::sync::Arc;

use emulator_state::{self as state, Page, Reader, State, StateError, Value, Writer};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = state::PAGE_BYTES as u64;
/// Programs' allocations start here in their virtual space.
pub const VIRTUAL_BASE: u64 = 0x1000_0000;
/// Physical memory starts here; below it nothing answers.
pub const PHYSICAL_BASE: u64 = 0x0010_0000;

/// A physical address where no memory answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no host memory at physical address {0:#x}")]
pub struct NoMemory(pub u64);

/// Memory of a host outside, by physical address; [`NoMemory`] where it has none.
pub trait Lent: std::fmt::Debug + Send {
    /// Reads it.
    ///
    /// # Errors
    /// The first address where no memory answers.
    fn read(&self, physical: u64, bytes: &mut [u8]) -> Result<(), NoMemory>;

    /// Writes it.
    ///
    /// # Errors
    /// The first address where no memory answers; nothing has been written.
    fn write(&self, physical: u64, bytes: &[u8]) -> Result<(), NoMemory>;
}

/// The memory of one host.
#[derive(Debug)]
pub struct HostMemory {
    /// The memory of a host outside, which is used instead of pages.
    lent: Option<Box<dyn Lent>>,
    /// Physical pages from `PHYSICAL_BASE`; storage comes with the first touch.
    frames: Vec<Option<Page>>,
    /// Virtual page (from `VIRTUAL_BASE`) to physical frame.
    mapping: Vec<Option<usize>>,
    limit_frames: usize,
    /// Physical addresses of the words that programs poll.
    watched: Vec<u64>,
    /// Whether one of them was written.
    watched_write: bool,
}

impl State for HostMemory {
    fn save(&self, out: &mut Writer) {
        // No snapshot has a host outside.
        let Self {
            lent: _,
            frames,
            mapping,
            limit_frames: _,
            watched: _,
            watched_write: _,
        } = self;
        mapping.save(out);
        frames.len().save(out);
        for (frame, page) in frames.iter().enumerate() {
            if let Some(page) = page {
                frame.save(out);
                out.page(page);
            }
        }
        usize::MAX.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        const WHAT: &str = "pages of host memory";
        self.mapping.load(from)?;
        let (saved, here) = (usize::read(from)?, self.limit_frames);
        if saved > here || self.mapping.iter().flatten().any(|&frame| frame >= saved) {
            let what = WHAT;
            return Err(StateError::Shape { what, saved, here });
        }
        self.frames.clear();
        self.frames.resize_with(saved, || None);
        loop {
            let frame = usize::read(from)?;
            if frame == usize::MAX {
                return Ok(());
            }
            let place = self.frames.get_mut(frame).ok_or(StateError::Value(WHAT))?;
            *place = Some(from.page(WHAT)?);
        }
    }
}

impl HostMemory {
    /// Memory of `megabytes`, nothing allocated.
    #[must_use]
    pub fn new(megabytes: u32) -> Self {
        Self {
            lent: None,
            frames: Vec::new(),
            mapping: Vec::new(),
            limit_frames: megabytes as usize * 256,
            watched: Vec::new(),
            watched_write: false,
        }
    }

    /// Replaces the memory from now on.
    pub fn lend(&mut self, memory: Box<dyn Lent>) {
        self.lent = Some(memory);
    }

    /// Forgets everything: nothing is allocated or lent.
    pub fn clear(&mut self) {
        self.lent = None;
        self.frames.clear();
        self.mapping.clear();
        self.watched.clear();
        self.watched_write = false;
    }

    /// Sets the words, by their physical addresses, to which writes are noticed.
    pub fn set_watched(&mut self, words: Vec<u64>) {
        self.watched = words;
    }

    /// Whether a watched word was written since this was last asked.
    pub fn take_watched_write(&mut self) -> bool {
        std::mem::take(&mut self.watched_write)
    }

    /// Allocates page-aligned virtual memory. An unmapped guard page follows it, and neighbouring
    /// virtual pages lie apart in physical memory, as on a machine that has run for a while.
    pub fn allocate(&mut self, length_bytes: u64) -> Option<u64> {
        let pages = usize::try_from(length_bytes.div_ceil(PAGE_BYTES).max(1)).ok()?;
        if self.frames.len() + 2 * pages > self.limit_frames {
            return None;
        }
        let first = self.mapping.len();
        for _ in 0..pages {
            // Every second frame: no two pages of a buffer are physically contiguous.
            self.mapping.push(Some(self.frames.len()));
            self.frames.push(None);
            self.frames.push(None);
        }
        self.mapping.push(None);
        Some(VIRTUAL_BASE + first as u64 * PAGE_BYTES)
    }

    /// Allocates page-aligned memory that is contiguous in both spaces, for structures that a board
    /// reads by DMA; gives the virtual and the physical address. An unmapped guard page follows it.
    pub fn allocate_contiguous(&mut self, length_bytes: u64) -> Option<(u64, u64)> {
        let pages = usize::try_from(length_bytes.div_ceil(PAGE_BYTES).max(1)).ok()?;
        let first_frame = self.frames.len();
        // One frame more: what is allocated next does not follow at once.
        let end_frame = first_frame.checked_add(pages)?.checked_add(1)?;
        if end_frame > self.limit_frames {
            return None;
        }
        let first = self.mapping.len();
        self.mapping
            .extend((first_frame..first_frame + pages).map(Some));
        self.mapping.push(None);
        self.frames.resize_with(end_frame, || None);
        Some((
            VIRTUAL_BASE + first as u64 * PAGE_BYTES,
            PHYSICAL_BASE + first_frame as u64 * PAGE_BYTES,
        ))
    }

    /// The physical address of a virtual one.
    #[must_use]
    pub fn translate(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(VIRTUAL_BASE)?;
        let page = usize::try_from(offset / PAGE_BYTES).ok()?;
        let frame = (*self.mapping.get(page)?)?;
        Some(PHYSICAL_BASE + frame as u64 * PAGE_BYTES + offset % PAGE_BYTES)
    }

    fn frame(&self, physical: u64) -> Result<(usize, usize), NoMemory> {
        let offset = physical
            .checked_sub(PHYSICAL_BASE)
            .ok_or(NoMemory(physical))?;
        let frame = usize::try_from(offset / PAGE_BYTES).map_err(|_| NoMemory(physical))?;
        if frame >= self.frames.len() {
            return Err(NoMemory(physical));
        }
        Ok((frame, (offset % PAGE_BYTES) as usize))
    }

    /// Reads physical memory.
    ///
    /// # Errors
    /// The first address where no memory answers.
    #[inline]
    pub fn read_physical(&self, mut physical: u64, mut bytes: &mut [u8]) -> Result<(), NoMemory> {
        if let Some(lent) = &self.lent {
            return lent.read(physical, bytes);
        }
        while !bytes.is_empty() {
            let (frame, at) = self.frame(physical)?;
            let part = bytes.len().min(PAGE_BYTES as usize - at);
            let (head, rest) = bytes.split_at_mut(part);
            match &self.frames[frame] {
                Some(page) => head.copy_from_slice(&page[at..at + part]),
                None => head.fill(0),
            }
            bytes = rest;
            physical += part as u64;
        }
        Ok(())
    }

    /// Writes physical memory.
    ///
    /// # Errors
    /// The first address where no memory answers; bytes before it have been written.
    pub fn write_physical(&mut self, mut physical: u64, mut bytes: &[u8]) -> Result<(), NoMemory> {
        if let Some(lent) = &self.lent {
            return lent.write(physical, bytes);
        }
        if !self.watched.is_empty() {
            let end = physical.saturating_add(bytes.len() as u64);
            let mut watched = self.watched.iter();
            self.watched_write |= watched.any(|&word| word < end && physical < word + 4);
        }
        while !bytes.is_empty() {
            let (frame, at) = self.frame(physical)?;
            let part = bytes.len().min(PAGE_BYTES as usize - at);
            let page = self.frames[frame].get_or_insert_with(|| Arc::new([0; PAGE_BYTES as usize]));
            Arc::make_mut(page)[at..at + part].copy_from_slice(&bytes[..part]);
            bytes = &bytes[part..];
            physical += part as u64;
        }
        Ok(())
    }

    /// The part of a virtual range in its first page: physical address and length; else the virtual address, which is not mapped.
    fn first_piece(&self, address: u64, length: usize) -> Result<(u64, usize), u64> {
        let physical = self.translate(address).ok_or(address)?;
        let room = (PAGE_BYTES - address % PAGE_BYTES) as usize;
        Ok((physical, length.min(room)))
    }

    /// Reads a program's memory.
    ///
    /// # Errors
    /// The first virtual address that is not mapped.
    pub fn read_virtual(&self, mut address: u64, mut bytes: &mut [u8]) -> Result<(), u64> {
        while !bytes.is_empty() {
            let (physical, length) = self.first_piece(address, bytes.len())?;
            let (piece, rest) = bytes.split_at_mut(length);
            let read = self.read_physical(physical, piece);
            read.map_err(|NoMemory(at)| at)?;
            bytes = rest;
            address = address.wrapping_add(length as u64);
        }
        Ok(())
    }

    /// Whether a program's memory holds these bytes.
    ///
    /// # Errors
    /// As for [`read_virtual`](Self::read_virtual).
    #[inline]
    pub fn virtual_is(&self, mut address: u64, mut bytes: &[u8]) -> Result<bool, u64> {
        let mut equal = true;
        while !bytes.is_empty() {
            let (physical, length) = self.first_piece(address, bytes.len())?;
            let (piece, rest) = bytes.split_at(length);
            let (frame, at) = self.frame(physical).map_err(|NoMemory(at)| at)?;
            equal &= match &self.frames[frame] {
                Some(page) => page[at..at + length] == *piece,
                None => piece.iter().all(|&byte| byte == 0),
            };
            bytes = rest;
            address = address.wrapping_add(length as u64);
        }
        Ok(equal)
    }

    /// Writes a program's memory.
    ///
    /// # Errors
    /// The first virtual address that is not mapped; bytes before it have been written.
    #[inline]
    pub fn write_virtual(&mut self, mut address: u64, mut bytes: &[u8]) -> Result<(), u64> {
        while !bytes.is_empty() {
            let (physical, length) = self.first_piece(address, bytes.len())?;
            let (piece, rest) = bytes.split_at(length);
            let written = self.write_physical(physical, piece);
            written.map_err(|NoMemory(at)| at)?;
            bytes = rest;
            address = address.wrapping_add(length as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_pages_lie_apart_and_hold_their_bytes() {
        let mut memory = HostMemory::new(16);
        let a = memory.allocate(3 * PAGE_BYTES).unwrap();
        let first = memory.translate(a).unwrap();
        let second = memory.translate(a + PAGE_BYTES).unwrap();
        assert_ne!(second, first + PAGE_BYTES);
        let data: Vec<u8> = (0..9000).map(|i| (i % 251) as u8).collect();
        memory.write_virtual(a + 100, &data).unwrap();
        let mut back = vec![0; data.len()];
        memory.read_virtual(a + 100, &mut back).unwrap();
        assert_eq!(back, data);
        assert_eq!(memory.virtual_is(a + 100, &data), Ok(true));
        assert_eq!(memory.virtual_is(a + 101, &data), Ok(false));
        assert!(memory.virtual_is(a + 4 * PAGE_BYTES, &data).is_err());
        let mut tail = [0; 4];
        memory.read_physical(second, &mut tail).unwrap();
        assert_eq!(tail[..], data[3996..4000]);
    }

    #[test]
    fn contiguous_memory_is_contiguous_in_both_spaces() {
        let mut memory = HostMemory::new(16);
        memory.allocate(1);
        let (address, physical) = memory.allocate_contiguous(3 * PAGE_BYTES - 1).unwrap();
        let next = memory.allocate(1).unwrap();
        for offset in [0, PAGE_BYTES, 3 * PAGE_BYTES - 1] {
            assert_eq!(memory.translate(address + offset), Some(physical + offset));
        }
        assert_eq!(memory.translate(address + 3 * PAGE_BYTES), None, "guarded");
        assert!(memory.translate(next).unwrap() > physical + 3 * PAGE_BYTES);
        assert_eq!(memory.allocate_contiguous(16 << 20), None);
        assert_eq!(memory.allocate_contiguous(u64::MAX), None);
    }

    #[test]
    fn what_is_not_mapped_is_named() {
        let mut memory = HostMemory::new(1);
        let a = memory.allocate(PAGE_BYTES).unwrap();
        assert_eq!(
            memory.write_virtual(a + PAGE_BYTES - 1, &[1, 2]),
            Err(a + PAGE_BYTES)
        );
        assert_eq!(memory.translate(0), None);
        assert_eq!(memory.read_physical(0x40, &mut [0]), Err(NoMemory(0x40)));
        assert!(memory.allocate(1 << 20).is_none());
    }
}
