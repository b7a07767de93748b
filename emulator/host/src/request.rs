//! Requests of host programs, and the port through which a program and its node speak.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanigon_window::window::{MemoryWatch, PolledWord};

use super::accounts::Phase;
use super::execution::ProgramFuture;
use super::log::Answers;
use super::machine::Machine;
use emulator_base::time::SimTime;
use emulator_board::events::{PollRequest, Response, Words};

/// A request of a program.
#[derive(Debug, Clone)]
pub enum Request {
    /// Read a word of the window.
    Read {
        /// Window offset.
        offset: u32,
    },
    /// Write consecutive words of the window.
    Write {
        /// Window offset of the first.
        offset: u32,
        /// The words.
        values: Words,
    },
    /// Read a word of the window until it has the expected value.
    Poll {
        /// The word.
        poll: PollRequest,
        /// The timeout.
        timeout: Option<SimTime>,
    },
    /// Read words in turn until one of them has its expected value. At least one.
    PollAny {
        /// The words.
        words: Vec<PolledWord>,
        /// The timeout.
        timeout: Option<SimTime>,
        /// The purpose of the poll, for reports.
        why: &'static str,
    },
    /// Poll words of host memory, until one has its expected value or the timeout is over.
    PollMemory {
        /// The words.
        words: Vec<MemoryWatch>,
        /// The timeout.
        timeout: Option<SimTime>,
        /// The purpose of the poll, for reports.
        why: &'static str,
    },
    /// Translate the pages of a range.
    Translate {
        /// Virtual address.
        address: u64,
        /// Bytes.
        length: u64,
    },
    /// Spend CPU time.
    Compute(SimTime),
    /// Sleep for this time.
    Sleep(SimTime),
    /// Have interrupts handled by the handler in the port, or not any more.
    Signals {
        /// Whether there is a handler.
        enabled: bool,
    },
    /// Sleep until the board's interrupt, no longer than this (`None`: for ever).
    Interrupt {
        /// The longest wait.
        timeout: Option<SimTime>,
    },
}

impl Request {
    /// The use of the program's time during the request.
    pub(super) const fn phase(&self) -> Phase {
        match self {
            Self::Poll { .. } | Self::PollAny { .. } | Self::PollMemory { .. } => Phase::Polling,
            Self::Sleep(_) | Self::Interrupt { .. } => Phase::Blocked,
            Self::Read { .. }
            | Self::Write { .. }
            | Self::Translate { .. }
            | Self::Signals { .. }
            | Self::Compute(_) => Phase::Computing,
        }
    }
}

/// The mailbox between a program and its node.
#[derive(Debug, Default)]
pub struct ProgramPort {
    /// The pending request.
    pub request: Option<Request>,
    /// The answer to it.
    pub response: Option<Response>,
    /// The time, while the program runs.
    pub now: SimTime,
    /// Calls that have begun or returned since the program last went on; `None` without an observer of calls.
    pub calls: Option<Vec<CallEvent>>,
    /// Lines of a console that it has said since then.
    pub(super) said: Vec<String>,
    /// The treatment of memory's answers.
    pub(super) answers: Answers,
    /// Whether the program got a response that does not answer its request: the log is that of another program.
    pub(super) mismatch: bool,
    /// Makes the future of the signal handler.
    pub(super) handler: Option<Handler>,
}

/// Makes the future of a signal handler, each time that it begins.
pub(super) struct Handler(pub(super) Box<dyn FnMut(Machine) -> ProgramFuture + Send>);

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

/// A call that a program has begun, or that has returned to it.
#[derive(Debug)]
pub struct CallEvent {
    /// The call, and what it is for.
    pub what: String,
    /// Whether the call has returned.
    pub returned: bool,
}

/// A port that program and node share.
pub type SharedPort = Arc<Mutex<ProgramPort>>;

#[inline]
pub(super) fn lock(port: &SharedPort) -> MutexGuard<'_, ProgramPort> {
    port.lock().unwrap_or_else(PoisonError::into_inner)
}
