//! The machine that the library runs on: a board's window, and the system.
//!
//! On the emulator the calls of [`Window`] and [`System`] take simulated time; on a real host they would be `mmap`ed PIO,
//! an `ioctl` and the program's own instructions. The library does not know which: it makes [`MachineRequest`]s at a [`MachinePort`], and an emulator
//! or a real host answers them. The library holds ports as trait objects, so that its types are the same on all machines.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use thiserror::Error;

/// A program's request that takes time.
pub enum MachineRequest<'a> {
    /// Read a word of the window.
    Read {
        /// Window offset.
        offset: u32,
    },
    /// Write consecutive words of the window in one burst.
    Write {
        /// Window offset of the first.
        offset: u32,
        /// The words.
        values: &'a [u32],
    },
    /// Read words in turn until one of them is as expected. At least one.
    Poll {
        /// The words.
        words: PolledWords<'a>,
        /// The longest time, in ns.
        timeout_ns: Option<u64>,
        /// The purpose of the poll, for reports.
        why: &'static str,
    },
    /// Translate the addresses of the pages that hold a range.
    Translate {
        /// First address.
        address: VirtualAddress,
        /// Bytes.
        length: u64,
    },
    /// Spend processor time.
    Compute {
        /// The time.
        nanoseconds: u64,
    },
    /// Spend the processor time of a copy from memory to memory.
    ChargeCopy {
        /// Bytes that are copied.
        bytes: usize,
    },
    /// Enter the kernel and leave it.
    SystemCall,
    /// Sleep.
    Sleep {
        /// The time.
        nanoseconds: u64,
    },
    /// Sleep until the board asserts its interrupt line.
    WaitInterrupt {
        /// The longest time, in ns.
        timeout_ns: Option<u64>,
    },
    /// Have each interrupt of the board handled by the handler of [`SystemPort::set_handler`].
    EnableSignals,
}

/// Words that a request polls.
#[derive(Debug, Clone, Copy)]
pub enum PolledWords<'a> {
    /// Words of the window.
    Window(&'a [WindowWatch]),
    /// Words of the window or of memory.
    Words(&'a [PolledWord]),
}

impl PolledWords<'_> {
    /// The words, of either kind.
    #[must_use]
    pub fn to_vec(self) -> Vec<PolledWord> {
        match self {
            Self::Window(words) => words.iter().copied().map(PolledWord::Window).collect(),
            Self::Words(words) => words.to_vec(),
        }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineAnswer {
    /// The request is carried out.
    Done,
    /// The word that was read, or the only one that was polled.
    Word(u32),
    /// The word that ended a poll.
    Found(FoundWord),
    /// Whether the interrupt came before the time was over.
    Interrupt(bool),
    /// Physical addresses of pages; `None` if one of them is not mapped.
    Pages(Option<Vec<PhysicalAddress>>),
    /// No polled word was as expected in time.
    TimedOut,
    /// No word can be polled at this address.
    BadAddress(VirtualAddress),
}

/// The place at which a program makes its requests, one at a time. An emulator or a real host implements it; code that knows
/// the machine's type gets it back through [`Any`].
pub trait MachinePort: Any + fmt::Debug + Send + Sync {
    /// Makes a request; its answer, if that is known at once.
    fn start(
        &mut self,
        request: MachineRequest<'_>,
        context: &mut Context<'_>,
    ) -> Poll<MachineAnswer>;

    /// The answer to the request that was started last.
    fn proceed(&mut self, context: &mut Context<'_>) -> Poll<MachineAnswer>;

    /// Notes that the last answer is of another kind than its request: the program stands still from now on.
    fn refuse_answer(&mut self);
}

/// A port to a board's window, of any machine.
pub type AnyWindow = Box<dyn MachinePort>;
/// A port to the system, of any machine.
pub type AnySystem = Box<dyn SystemPort>;

impl<P: MachinePort> From<P> for AnyWindow {
    fn from(port: P) -> Self {
        Box::new(port)
    }
}

impl<P: SystemPort> From<P> for AnySystem {
    fn from(port: P) -> Self {
        Box::new(port)
    }
}

/// The future of a request.
struct Requested<'a, P: ?Sized, T> {
    port: &'a mut P,
    request: Option<MachineRequest<'a>>,
    /// Takes the value out of an answer; `None` if the answer is one to another kind of request.
    accept: fn(MachineAnswer) -> Option<T>,
}

impl<P: MachinePort + ?Sized, T> Future for Requested<'_, P, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let answer = match this.request.take() {
            Some(request) => this.port.start(request, context),
            None => this.port.proceed(context),
        };
        let Poll::Ready(answer) = answer else {
            return Poll::Pending;
        };
        match (this.accept)(answer) {
            Some(value) => Poll::Ready(value),
            None => {
                this.port.refuse_answer();
                Poll::Pending
            }
        }
    }
}

/// Makes a request and waits for its answer.
fn ask<'a, P: MachinePort + ?Sized, T>(
    port: &'a mut P,
    request: MachineRequest<'a>,
    accept: fn(MachineAnswer) -> Option<T>,
) -> Requested<'a, P, T> {
    Requested {
        port,
        request: Some(request),
        accept,
    }
}

/// The answer to a request without a result.
fn done(answer: MachineAnswer) -> Option<()> {
    matches!(answer, MachineAnswer::Done).then_some(())
}

/// A board's memory-mapped PCI window: 32-bit accesses at byte offsets.
pub trait Window: MachinePort {
    /// Reads the word at `offset`.
    fn read(&mut self, offset: u32) -> impl Future<Output = u32> + Send {
        ask(
            self,
            MachineRequest::Read { offset },
            |answer| match answer {
                MachineAnswer::Word(word) => Some(word),
                _ => None,
            },
        )
    }

    /// Writes the word at `offset` (posted: the bus may take it later, but in order).
    fn write(&mut self, offset: u32, value: u32) -> impl Future<Output = ()> + Send {
        async move { self.write_burst(offset, &[value]).await }
    }

    /// Writes words to consecutive offsets in one PIO burst.
    fn write_burst(&mut self, offset: u32, values: &[u32]) -> impl Future<Output = ()> + Send {
        async move { ask(self, MachineRequest::Write { offset, values }, done).await }
    }

    /// Reads the word at `offset` again and again until `(value & mask) == expected`; gives the
    /// value. Each read is charged as a poll. `why` says what is waited for, for reports.
    fn poll_until(
        &mut self,
        offset: u32,
        mask: u32,
        expected: u32,
        why: &'static str,
    ) -> impl Future<Output = u32> + Send {
        async move {
            let watches = [WindowWatch {
                before: None,
                offset,
                mask,
                expected,
            }];
            poll_window(self, &watches, why).await.value
        }
    }

    /// Reads the words of `watches` in turn, from the first on, again and again until one of them is
    /// as expected; gives its index and value. Each read is charged as a poll, and the writes before
    /// them as writes. A word without such a write is read through the view that earlier words of the list have set. `None`, at once, when there are no words.
    fn poll_any(
        &mut self,
        watches: &[WindowWatch],
        why: &'static str,
    ) -> impl Future<Output = Option<(usize, u32)>> + Send {
        async move {
            if watches.is_empty() {
                return None;
            }
            let found = poll_window(self, watches, why).await;
            Some((found.index, found.value))
        }
    }
}

impl<P: MachinePort + ?Sized> Window for P {}

/// Polls words of a window for as long as it takes.
fn poll_window<'a, P: MachinePort + ?Sized>(
    port: &'a mut P,
    watches: &'a [WindowWatch],
    why: &'static str,
) -> Requested<'a, P, FoundWord> {
    let request = MachineRequest::Poll {
        words: PolledWords::Window(watches),
        timeout_ns: None,
        why,
    };
    ask(port, request, found)
}

/// The answer to a poll that has found a word.
fn found(answer: MachineAnswer) -> Option<FoundWord> {
    match answer {
        MachineAnswer::Word(value) => Some(FoundWord { index: 0, value }),
        MachineAnswer::Found(found) => Some(found),
        _ => None,
    }
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

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// The rest of the machine: memory, which takes no time of its own, and the clock.
pub trait SystemPort: MachinePort {
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

    /// Whether these bytes stand in the program's own memory. For comparisons: a machine that logs answers to its programs logs one bit.
    ///
    /// # Errors
    /// The first address that is not mapped.
    fn memory_is(&self, address: VirtualAddress, bytes: &[u8]) -> Result<bool, VirtualAddress> {
        let mut found = vec![0; bytes.len()];
        self.read_memory(address, &mut found)?;
        Ok(found == bytes)
    }

    /// Sets the handler of signals. Gives a way to compute that leaves everything else of the program to the handler. `None`, by
    /// default: the machine has no signals.
    fn set_handler(&mut self, _handler: SignalHandler) -> Option<Computation> {
        None
    }

    /// Records the start of a library call, described by `what`, for observers. Takes no time.
    fn call_begins(&mut self, _what: &(dyn fmt::Display + Sync)) {}

    /// Records the return of a library call, described by the `what` of its start.
    fn call_returns(&mut self, _what: &(dyn fmt::Display + Sync)) {}

    /// The time since the start, in picoseconds (as a time-stamp counter would tell it).
    fn now_ps(&self) -> u64;
}

/// The system's calls that take time.
pub trait System: SystemPort {
    /// Translates the addresses of the pages that hold `length` bytes from `address`, in one
    /// system call (at its cost). The first entry belongs to `address` itself, the others to page
    /// starts. `None` when any page is not mapped.
    fn translate(
        &mut self,
        address: VirtualAddress,
        length: u64,
    ) -> impl Future<Output = Option<Vec<PhysicalAddress>>> + Send {
        ask(
            self,
            MachineRequest::Translate { address, length },
            |answer| match answer {
                MachineAnswer::Pages(pages) => Some(pages),
                _ => None,
            },
        )
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
    ) -> impl Future<Output = Result<FoundWord, PollError>> + Send {
        async move {
            if words.is_empty() {
                return Err(PollError::NoWords);
            }
            let request = MachineRequest::Poll {
                words: PolledWords::Words(words),
                timeout_ns,
                why,
            };
            let found = ask(self, request, |answer| match answer {
                MachineAnswer::TimedOut => Some(Err(TimedOut.into())),
                MachineAnswer::BadAddress(address) => Some(Err(PollError::BadAddress(address))),
                answer => found(answer).map(Ok),
            });
            found.await
        }
    }

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
    fn compute(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send {
        ask(self, MachineRequest::Compute { nanoseconds }, done)
    }

    /// Spends the processor time of a copy of `bytes` bytes from memory to memory, which
    /// [`read_memory`](SystemPort::read_memory) and [`write_memory`](SystemPort::write_memory) do not charge.
    fn charge_copy(&mut self, bytes: usize) -> impl Future<Output = ()> + Send {
        ask(self, MachineRequest::ChargeCopy { bytes }, done)
    }

    /// Charges the host's entry into the kernel and its exit: a call of the driver.
    fn system_call(&mut self) -> impl Future<Output = ()> + Send {
        ask(self, MachineRequest::SystemCall, done)
    }

    /// Sleeps for `nanoseconds`: other programs can have the processor.
    fn sleep(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send {
        ask(self, MachineRequest::Sleep { nanoseconds }, done)
    }

    /// Sleeps until the board asserts its interrupt line, but no longer than `timeout_ns` (`None`: for ever). While the
    /// line stays asserted every wait ends after the interrupt's latency alone.
    ///
    /// # Errors
    /// [`TimedOut`]: the line was not asserted in time.
    fn wait_interrupt(
        &mut self,
        timeout_ns: Option<u64>,
    ) -> impl Future<Output = Result<(), TimedOut>> + Send {
        ask(
            self,
            MachineRequest::WaitInterrupt { timeout_ns },
            |answer| match answer {
                MachineAnswer::Interrupt(true) => Some(Ok(())),
                MachineAnswer::Interrupt(false) => Some(Err(TimedOut)),
                _ => None,
            },
        )
    }

    /// From now on each interrupt of the board is a signal to the program: its work stands still while the handler runs. Gives a way to
    /// compute that leaves everything else of the program to the handler; `None` if the machine has no signals.
    fn on_signal(
        &mut self,
        handler: SignalHandler,
    ) -> impl Future<Output = Option<Computation>> + Send {
        async move {
            let computation = self.set_handler(handler)?;
            ask(self, MachineRequest::EnableSignals, done).await;
            Some(computation)
        }
    }
}

impl<P: SystemPort + ?Sized> System for P {}
