//! The last accesses to each word.

use emulator_base::time::SimTime;

use super::clock::VectorClock;
use super::{Agent, WordAccess};

/// Words of a page, which is allocated at the first access to one of them.
const PAGE_WORDS: usize = 256;
/// Bits of a stamp's time; times beyond are kept as the last one (20 hours).
const TIME_BITS: u32 = 56;
/// The lock that each atomic change of a word holds, beside the eight of a board.
const AT_ONCE: u16 = 1 << 8;
/// Stands for "no instruction".
const NO_PC: u32 = u32::MAX;

/// An access that was made, or none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamp {
    /// The time in ps, below the bytes and, in the highest bits, the agent.
    time: u64,
    pc: u32,
    /// The agent's count at the access; 0 without an access.
    count: u32,
    /// The locks that the agent held, a bit for each; [`AT_ONCE`] for an atomic change.
    locks: u16,
}

impl Stamp {
    pub(super) fn new(access: &WordAccess, bytes: u8, count: u32, locks: u16) -> Self {
        let time = access.time.ps().min((1 << TIME_BITS) - 1);
        let upper = u64::from(access.agent.0) << 4 | u64::from(bytes & 0xF);
        Self {
            time: upper << TIME_BITS | time,
            pc: access.pc.unwrap_or(NO_PC),
            count,
            locks,
        }
    }

    /// The stamp of an atomic change.
    pub(super) const fn at_once(self) -> Self {
        Self {
            locks: self.locks | AT_ONCE,
            ..self
        }
    }

    pub(super) const fn agent(&self) -> Option<Agent> {
        match self.count {
            0 => None,
            _ => Some(Agent((self.time >> (TIME_BITS + 4)) as u8)),
        }
    }

    const fn bytes(&self) -> u64 {
        self.time >> TIME_BITS & 0xF
    }

    pub(super) const fn time(&self) -> SimTime {
        SimTime::from_ps(self.time & ((1 << TIME_BITS) - 1))
    }

    pub(super) const fn pc(&self) -> Option<u32> {
        match self.pc {
            NO_PC => None,
            pc => Some(pc),
        }
    }

    /// Whether both accesses were made under the same lock.
    pub(super) const fn both_locked(&self, other: &Self) -> bool {
        self.locks & other.locks != 0
    }

    /// Whether an agent with this clock comes behind the access.
    fn is_before(&self, clock: &VectorClock) -> bool {
        self.agent()
            .is_none_or(|agent| self.count <= clock.at(agent.index()))
    }

    /// Whether this access, whose agent has this clock, and an earlier one touch the same bytes, neither both under a lock nor in an order.
    pub(super) fn races_with(&self, earlier: &Self, clock: &VectorClock) -> bool {
        earlier.bytes() & self.bytes() != 0
            && !self.both_locked(earlier)
            && earlier.agent() != self.agent()
            && !earlier.is_before(clock)
    }
}

/// The last accesses to a word: the last write, and reads since then by up to two agents.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShadowWord {
    pub(super) write: Stamp,
    pub(super) reads: [Stamp; 2],
}

impl ShadowWord {
    /// Adds a read of an agent with this clock. It replaces an earlier one of the same agent, or else one that comes before it, or else the older
    /// one.
    pub(super) fn remember_read(&mut self, read: Stamp, clock: &VectorClock) {
        let [first, second] = &self.reads;
        let place = match () {
            () if first.agent() == read.agent() => 0,
            () if second.agent() == read.agent() => 1,
            () if first.is_before(clock) => 0,
            () if second.is_before(clock) => 1,
            () => usize::from(second.time() < first.time()),
        };
        self.reads[place] = read;
    }

    /// Adds a write: what comes later need only be compared with it.
    pub(super) fn replace(&mut self, write: Stamp) {
        *self = Self {
            write,
            reads: Default::default(),
        };
    }
}

type ShadowPage = Box<[ShadowWord; PAGE_WORDS]>;

/// The last accesses to all words.
#[derive(Debug)]
pub(super) struct Shadow {
    pages: Vec<Option<ShadowPage>>,
}

impl Shadow {
    pub(super) fn new(words: u32) -> Self {
        let mut pages = Vec::new();
        pages.resize_with((words as usize).div_ceil(PAGE_WORDS).max(1), || None);
        Self { pages }
    }

    /// A word; indices beyond the last one wrap.
    pub(super) fn word_mut(&mut self, word: u32) -> &mut ShadowWord {
        let word = word as usize;
        let page = word / PAGE_WORDS % self.pages.len();
        let new = || Box::new([ShadowWord::default(); PAGE_WORDS]);
        &mut self.pages[page].get_or_insert_with(new)[word % PAGE_WORDS]
    }
}
