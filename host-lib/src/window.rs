//! What the library needs from the machine that it runs on.
//!
//! On the emulator these calls take simulated time; on a real host they would be `mmap`ed PIO,
//! an `ioctl` and the program's own instructions. The library does not know which.

use std::fmt;
use std::future::Future;

/// A board's memory-mapped PCI window: 32-bit accesses at byte offsets.
pub trait Window: Send {
    /// Reads the word at `offset`.
    fn read(&mut self, offset: u32) -> impl Future<Output = u32> + Send;

    /// Writes the word at `offset` (posted: the bus may take it later, but in order).
    fn write(&mut self, offset: u32, value: u32) -> impl Future<Output = ()> + Send;

    /// Writes words to consecutive offsets in one PIO burst.
    fn write_burst(&mut self, offset: u32, values: &[u32]) -> impl Future<Output = ()> + Send;

    /// Reads the word at `offset` again and again until `(value & mask) == expected`; gives the
    /// value. Each read is charged as a poll. `why` says what is waited for, for reports.
    fn poll_until(
        &mut self,
        offset: u32,
        mask: u32,
        expected: u32,
        why: &'static str,
    ) -> impl Future<Output = u32> + Send;

    /// Reads the words of `watches` in turn, from the first on, again and again until one of them is
    /// as expected; gives its index and value. Each read is charged as a poll, and the writes before
    /// them as writes. A word without such a write is read as the words before it in the list have left
    /// the window. `None`, at once, when there are no words.
    fn poll_any(
        &mut self,
        watches: &[Watch],
        why: &'static str,
    ) -> impl Future<Output = Option<(usize, u32)>> + Send;
}

/// A word that is polled together with others, and what makes its poll succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// A write, as offset and value, that must come before the read: one that moves a view to the word.
    pub before: Option<(u32, u32)>,
    /// Offset of the word.
    pub offset: u32,
    /// Bits that count.
    pub mask: u32,
    /// Their value.
    pub expected: u32,
}

/// A place in the program's virtual memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VirtualAddress(pub u64);

/// A place in the host's physical memory, as the board's DMA sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhysicalAddress(pub u64);

/// The rest of the machine: memory and time.
pub trait System: Send {
    /// Bytes of a page.
    const PAGE_BYTES: u64 = 4096;

    /// Translates the addresses of the pages that hold `length` bytes from `address`, in one
    /// system call (at its cost). The first entry belongs to `address` itself, the others to page
    /// starts. `None` when any page is not mapped.
    fn translate(
        &mut self,
        address: VirtualAddress,
        length: u64,
    ) -> impl Future<Output = Option<Vec<PhysicalAddress>>> + Send;

    /// Allocates `length` bytes of page-aligned, resident memory for the library itself
    /// (indirect page lists). `None` when there is no more.
    fn allocate(&mut self, length: u64) -> Option<VirtualAddress>;

    /// Allocates `length` bytes of page-aligned, resident memory, all zeros, that is contiguous for the board's
    /// DMA too (rings, frame buffers), and gives its address in both spaces. `None` when there is no
    /// more.
    fn allocate_contiguous(&mut self, length: u64) -> Option<(VirtualAddress, PhysicalAddress)>;

    /// Writes the program's own memory.
    ///
    /// # Errors
    /// The first address that is not mapped.
    fn write_memory(&mut self, address: VirtualAddress, bytes: &[u8])
    -> Result<(), VirtualAddress>;

    /// Reads the program's own memory.
    ///
    /// # Errors
    /// The first address that is not mapped.
    fn read_memory(&self, address: VirtualAddress, bytes: &mut [u8]) -> Result<(), VirtualAddress>;

    /// Whether these bytes stand in the program's own memory. Who only compares should ask this: a machine that keeps
    /// what its programs were told keeps one bit of it.
    ///
    /// # Errors
    /// The first address that is not mapped.
    fn memory_is(&self, address: VirtualAddress, bytes: &[u8]) -> Result<bool, VirtualAddress> {
        let mut found = vec![0; bytes.len()];
        self.read_memory(address, &mut found)?;
        Ok(found == bytes)
    }

    /// Spends `nanoseconds` of processor time.
    fn compute(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send;

    /// Waits until the board asserts its interrupt line, but no longer than `timeout_ns` (`None`:
    /// for ever). Tells whether it did. While the line stays asserted every wait ends at once, after
    /// the processor's latency.
    fn wait_interrupt(&mut self, timeout_ns: Option<u64>) -> impl Future<Output = bool> + Send;

    /// A call of the library begins: `what` says which, and what for. Takes no time; for whoever looks at
    /// what happens.
    fn call_begins(&mut self, _what: &(dyn fmt::Display + Sync)) {}

    /// The call returns. `what` is the same.
    fn call_returns(&mut self, _what: &(dyn fmt::Display + Sync)) {}

    /// The time since the start, in picoseconds (as a time-stamp counter would tell it).
    fn now_ps(&self) -> u64;
}
