//! Events of a host, as far as they meet its board: accesses of the window, polls, and answers to programs.

use emulator_base::time::SimTime;
use emulator_state::{Reader, StateError, Value, Writer};
use emulator_state::{value_enum, value_struct};

/// Words that a program writes. Most writes are of one word: thousands of them may be on their way to a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// A single word.
    One([u32; 1]),
    /// Any number of words.
    Many(Box<[u32]>),
}

impl Words {
    /// Values for these words.
    #[must_use]
    #[inline]
    pub fn new(words: &[u32]) -> Self {
        match words {
            [word] => Self::One([*word]),
            words => Self::Many(words.into()),
        }
    }
}

impl std::ops::Deref for Words {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::One(word) => word,
            Self::Many(words) => words,
        }
    }
}

impl Value for Words {
    fn write(&self, out: &mut Writer) {
        self.len().write(out);
        self.iter().for_each(|word| word.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self::new(&Vec::read(from)?))
    }
}

/// A condition on a word of the window.
#[derive(Debug, Clone, Copy)]
pub struct PollRequest {
    /// Window offset.
    pub offset: u32,
    /// Bits that count.
    pub mask: u32,
    /// Value of the bits that count when the condition holds.
    pub expected: u32,
    /// Index of the word among the words that are polled in turn.
    pub at: u32,
    /// The purpose of the poll, for reports.
    pub why: &'static str,
}

impl Value for PollRequest {
    fn write(&self, out: &mut Writer) {
        (self.offset, self.mask).write(out);
        (self.expected, self.at).write(out);
    }

    /// Without its reason, which the program that polls knows.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let ((offset, mask), (expected, at)) = Value::read(from)?;
        let why = "";
        Ok(Self {
            offset,
            mask,
            expected,
            at,
            why,
        })
    }
}

impl PollRequest {
    /// Whether the condition holds for this value.
    #[must_use]
    pub const fn holds(&self, value: u32) -> bool {
        value & self.mask == self.expected
    }
}

/// An access of a poll that the board may carry out without an event.
#[derive(Debug, Clone, Copy)]
pub enum PollAccess<'a> {
    /// The read of a word.
    Read(&'a PollRequest),
    /// The write before it, as offset and value, which moves the window's view.
    Move((u32, u32)),
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Response {
    /// Nothing to tell.
    #[default]
    Done,
    /// The word that was read.
    Word(u32),
    /// Index, among the words that were polled, of the one that has its value, and the word.
    Found(usize, u32),
    /// Physical addresses; `None` when a page is not mapped.
    Pages(Option<Vec<u64>>),
    /// Whether the interrupt came before the time was over.
    Interrupt(bool),
    /// No word that is polled was as expected in time.
    TimedOut,
    /// No word can be polled at this virtual address.
    BadAddress(u64),
    /// No answer to a request: the signal handler begins.
    Signal,
}

value_enum!(Response {
    Done {},
    Word { 0: word },
    Found { 0: index, 1: word },
    Pages { 0: pages },
    Interrupt { 0: came },
    TimedOut {},
    BadAddress { 0: address },
    Signal {}
});

/// An event of the host.
#[derive(Debug)]
pub enum HostEvent {
    /// The request of a program is carried out: it goes on with the answer, if it has a CPU.
    Resume {
        /// The program.
        program: usize,
        /// Whether the request is one of its signal handler.
        in_handler: bool,
        /// The answer.
        response: Response,
    },
    /// A program waits for the board's interrupt: one that is asserted already goes to CPU 0.
    InterruptAwaited,
    /// The board's interrupt reaches CPU 0, if it is still asserted.
    Interrupt,
    /// The kernel's handler of the interrupt wakes the programs that wait for it.
    InterruptHandled,
    /// A program that was woken becomes runnable.
    Wake {
        /// The program.
        program: usize,
        /// The answer to its request.
        response: Response,
    },
    /// The time slice of the program on a CPU may be over.
    Slice {
        /// The CPU.
        cpu: usize,
    },
    /// A program polls memory, and may find what it polls for.
    MemoryPoll {
        /// The program.
        program: usize,
    },
    /// A word of memory that is polled was written.
    MemoryWritten,
    /// The timeout of a sleep may be over.
    Timeout {
        /// The program.
        program: usize,
    },
    /// A write reaches the board.
    Store {
        /// Window offset of the first word.
        offset: u32,
        /// The words.
        values: Words,
    },
    /// A read reaches the bus.
    ReadStart {
        /// The program.
        program: usize,
        /// The access.
        read: Read,
        /// Time at which the program asked.
        asked: SimTime,
    },
    /// A read reaches the board.
    ReadSample {
        /// The program.
        program: usize,
        /// The access.
        read: Read,
        /// Time at which the program asked.
        asked: SimTime,
    },
    /// A program that polls the window goes on to its next poll.
    PollAgain {
        /// The program.
        program: usize,
        /// The index of the word whose turn it is, if the [`poller`](crate::poller) has come to it.
        at: Option<usize>,
    },
    /// The write before a program's next poll reaches the board.
    Prepare {
        /// The program.
        program: usize,
        /// Window offset and value.
        write: (u32, u32),
        /// The poll.
        poll: PollRequest,
        /// Time at which the program is ready to poll.
        ready: SimTime,
    },
}

value_enum!(HostEvent {
    Resume { program: program, in_handler: in_handler, response: response },
    Interrupt {},
    Timeout { program: program },
    Store { offset: offset, values: values },
    ReadStart { program: program, read: read, asked: asked },
    ReadSample { program: program, read: read, asked: asked },
    PollAgain { program: program, at: at },
    Prepare { program: program, write: write, poll: poll, ready: ready },
    InterruptHandled {},
    Wake { program: program, response: response },
    Slice { cpu: cpu },
    MemoryPoll { program: program },
    MemoryWritten {},
    InterruptAwaited {}
});

impl HostEvent {
    /// The poll that it is part of, and its program.
    pub const fn poll_mut(&mut self) -> Option<(usize, &mut PollRequest)> {
        match self {
            Self::ReadStart { program, read, .. } | Self::ReadSample { program, read, .. } => {
                match &mut read.until {
                    Some(poll) => Some((*program, poll)),
                    None => None,
                }
            }
            Self::Prepare { program, poll, .. } => Some((*program, poll)),
            _ => None,
        }
    }

    /// Whether the event is part of a poll of the window, which changes nothing as long as the poll is fruitless.
    pub const fn is_poll(&self) -> bool {
        match self {
            Self::ReadStart { read, .. } | Self::ReadSample { read, .. } => read.until.is_some(),
            Self::PollAgain { .. } | Self::Prepare { .. } => true,
            Self::Resume { .. }
            | Self::InterruptAwaited
            | Self::Interrupt
            | Self::InterruptHandled
            | Self::Wake { .. }
            | Self::Slice { .. }
            | Self::MemoryPoll { .. }
            | Self::MemoryWritten
            | Self::Timeout { .. }
            | Self::Store { .. } => false,
        }
    }

    /// Whether programs go on with it, and nothing else happens: they reach the board over the PCI bus alone.
    pub const fn is_of_programs(&self) -> bool {
        match self {
            Self::Resume { .. }
            | Self::Wake { .. }
            | Self::Slice { .. }
            | Self::MemoryPoll { .. }
            | Self::MemoryWritten
            | Self::Timeout { .. } => true,
            Self::InterruptAwaited
            | Self::Interrupt
            | Self::InterruptHandled
            | Self::Store { .. }
            | Self::ReadStart { .. }
            | Self::ReadSample { .. }
            | Self::PollAgain { .. }
            | Self::Prepare { .. } => false,
        }
    }

    /// Whether the event has no effect on the board, but for a read of the window without one, as `ignored` says.
    pub fn ignores_board(&self, ignored: impl Fn(u32) -> bool) -> bool {
        match self {
            Self::Resume { .. }
            | Self::InterruptAwaited
            | Self::Interrupt
            | Self::InterruptHandled
            | Self::Wake { .. }
            | Self::Slice { .. }
            | Self::MemoryPoll { .. }
            | Self::MemoryWritten
            | Self::Timeout { .. }
            | Self::PollAgain { .. }
            | Self::ReadStart { .. } => true,
            Self::ReadSample { read, .. } => ignored(read.offset),
            Self::Store { .. } | Self::Prepare { .. } => false,
        }
    }
}

/// A read of the window, once or again and again.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    /// Window offset.
    pub offset: u32,
    /// The condition that ends it.
    pub until: Option<PollRequest>,
}

value_struct!(Read {
    offset: offset,
    until: until
});
