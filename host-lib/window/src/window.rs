//! Traits for the machine that the library runs on.
//!
//! On the emulator these calls take simulated time; on a real host they would be `mmap`ed PIO,
//! an `ioctl` and the program's own instructions. The library does not know which.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use thiserror::Error;

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
        watches: &[WindowWatch],
        why: &'static str,
    ) -> impl Future<Output = Option<(usize, u32)>> + Send;
}

/// A word that is polled together with others, and what makes its poll succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowWatch {
    /// A write, as offset and value, that must come before the read: one that moves a view to the word.
    pub before: Option<(u32, u32)>,
    /// Offset of the word.
    pub offset: u32,
    /// Bits that count.
    pub mask: u32,
    /// Value of these bits that ends the poll.
    pub expected: u32,
}

/// A word of the program's memory that is polled, and what makes its poll succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryWatch {
    /// Address of the word, a multiple of four.
    pub address: VirtualAddress,
    /// Bits that count, of the word in the host's byte order (little-endian).
    pub mask: u32,
    /// Value of these bits that ends the poll.
    pub expected: u32,
}

/// A word that [`System::poll_words`] polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolledWord {
    /// A word of the board's window: each poll is a programmed read.
    Window(WindowWatch),
    /// A word of host memory, which the board writes by DMA: a poll finds it in the cache until the board writes it.
    Memory(MemoryWatch),
}

/// The word that ended a poll of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundWord {
    /// Index of the word in the list.
    pub index: usize,
    /// Value of the word.
    pub value: u32,
}

/// A wait reached its timeout before its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the wait timed out")]
pub struct TimedOut;

/// Reasons for which a poll of words ended without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PollError {
    /// No word was as expected in time.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// The address of a word is not mapped, or no multiple of four.
    #[error("no word of memory can be polled at {:#x}", .0.0)]
    BadAddress(VirtualAddress),
    /// The list has no words.
    #[error("there are no words to poll")]
    NoWords,
}

/// Action of a handler for one signal, or a computation during which signals come.
pub type ActionFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
/// A handler of signals: begins for each of them.
pub type SignalHandler = Box<dyn FnMut() -> ActionFuture + Send>;
/// Begins a computation of so many nanoseconds, for a program whose other means its handler has meanwhile.
pub type Computation = Box<dyn Fn(u64) -> ActionFuture + Send>;

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
    /// the log of answers to its programs keeps one bit of it.
    ///
    /// # Errors
    /// The first address that is not mapped.
    fn memory_is(&self, address: VirtualAddress, bytes: &[u8]) -> Result<bool, VirtualAddress> {
        let mut found = vec![0; bytes.len()];
        self.read_memory(address, &mut found)?;
        Ok(found == bytes)
    }

    /// Reads `words` in turn, from the first on, again and again until one of them is as expected; gives that word.
    /// Each read is charged as a poll of its kind. The program keeps its processor meanwhile. After each poll without
    /// success it looks at the clock: the first such poll that ends `timeout_ns` after the begin or later ends the wait.
    /// `why` says what is waited for, for reports.
    ///
    /// # Errors
    /// [`PollError`].
    fn poll_words(
        &mut self,
        words: &[PolledWord],
        timeout_ns: Option<u64>,
        why: &'static str,
    ) -> impl Future<Output = Result<FoundWord, PollError>> + Send;

    /// [`poll_words`](Self::poll_words) of one word of memory; gives its value.
    ///
    /// # Errors
    /// [`PollError`].
    fn poll_memory(
        &mut self,
        watch: MemoryWatch,
        timeout_ns: Option<u64>,
        why: &'static str,
    ) -> impl Future<Output = Result<u32, PollError>> + Send {
        async move {
            let words = [PolledWord::Memory(watch)];
            let found = self.poll_words(&words, timeout_ns, why).await?;
            Ok(found.value)
        }
    }

    /// Spends `nanoseconds` of processor time.
    fn compute(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send;

    /// Spends the processor time of a copy of `bytes` bytes from memory to memory, which
    /// [`read_memory`](Self::read_memory) and [`write_memory`](Self::write_memory) do not charge. No time by default.
    fn charge_copy(&mut self, _bytes: usize) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Charges the host's entry into the kernel and its exit: a call of the driver.
    fn system_call(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Sleeps for `nanoseconds`: other programs can have the processor.
    fn sleep(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send;

    /// Sleeps until the board asserts its interrupt line, but no longer than `timeout_ns` (`None`: for ever). While the
    /// line stays asserted every wait ends at once, after the processor's latency.
    ///
    /// # Errors
    /// [`TimedOut`]: the line was not asserted in time.
    fn wait_interrupt(
        &mut self,
        timeout_ns: Option<u64>,
    ) -> impl Future<Output = Result<(), TimedOut>> + Send;

    /// From now on each interrupt of the board is a signal to the program: its work stands still while the handler runs. Gives a way to
    /// compute that leaves everything else of the program to the handler. `None`, by default: the machine has no signals.
    fn on_signal(
        &mut self,
        _handler: SignalHandler,
    ) -> impl Future<Output = Option<Computation>> + Send {
        std::future::ready(None)
    }

    /// Records the start of a library call, described by `what`, for observers. Takes no time.
    fn call_begins(&mut self, _what: &(dyn fmt::Display + Sync)) {}

    /// Records the return of a library call, described by the `what` of its start.
    fn call_returns(&mut self, _what: &(dyn fmt::Display + Sync)) {}

    /// The time since the start, in picoseconds (as a time-stamp counter would tell it).
    fn now_ps(&self) -> u64;
}
