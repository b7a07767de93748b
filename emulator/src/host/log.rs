//! What host programs are told, so that they can be brought to the same point again.
//!
//! A program is a future: it cannot be copied or saved. But what it does follows from what it is told: the answers to its
//! requests, the time, and what its machine's memory says. Whoever keeps that can begin the program anew, tell it all of it
//! once more, and have it stand where it stood. Nothing that it asks for meanwhile is carried out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::machine::Machine;
use super::memory::HostMemory;
use super::request::Response;
use crate::sim::board::SharedMemory;
use crate::sim::time::SimTime;
use crate::state::{Reader, StateError, Value, Writer};
use crate::{value_enum, value_struct};

/// What memory answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemoryAnswer {
    /// The address of new memory.
    Allocated(Option<u64>),
    /// The same with a physical address.
    Contiguous(Option<(u64, u64)>),
    /// A write was carried out, or met an address that is not mapped.
    Written(Result<(), u64>),
    /// What was read.
    Read(Result<Vec<u8>, u64>),
    /// Whether memory is as expected.
    Compared(Result<bool, u64>),
}

value_enum!(MemoryAnswer {
    Allocated { 0: address },
    Contiguous { 0: addresses },
    Written { 0: done },
    Read { 0: bytes },
    Compared { 0: equal }
});

/// What a program was told when it was last let go on: from one request to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) now: SimTime,
    pub(super) response: Option<Response>,
    pub(super) memory: Vec<MemoryAnswer>,
}

value_struct!(Turn {
    now: now,
    response: response,
    memory: memory
});

/// What a program was told in one of its lives. Clones share what they were told before.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    /// Perhaps more than this one was told: another one has come further.
    turns: Arc<Mutex<Vec<Turn>>>,
    told: usize,
}

impl Life {
    fn turns(&self) -> MutexGuard<'_, Vec<Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it was told something.
    pub(super) const fn len(&self) -> usize {
        self.told
    }

    /// Adds a turn.
    pub(super) fn push(&mut self, turn: Turn) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.get(self.told) != Some(&turn) {
            // What another one was told is not what happens here.
            turns.truncate(self.told);
            turns.push(turn);
        }
        self.told += 1;
    }

    /// Goes back to the time at which it had been told something so often; tells whether it knows so much.
    pub(super) fn rewind(&mut self, told: usize) -> bool {
        let known = told <= self.turns().len();
        if known {
            self.told = told;
        }
        known
    }

    /// Shows every turn to `tell`, as long as that says `true`; tells whether it did to the end.
    pub(super) fn all(&self, tell: impl FnMut(&Turn) -> bool) -> bool {
        self.turns()[..self.told].iter().all(tell)
    }
}

impl Value for Life {
    fn write(&self, out: &mut Writer) {
        self.told.write(out);
        self.all(|turn| {
            turn.write(out);
            true
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let turns: Vec<Turn> = Value::read(from)?;
        Ok(Self {
            told: turns.len(),
            turns: Arc::new(Mutex::new(turns)),
        })
    }
}

/// What the programs of a host were told: for each of them its lives, if they were kept.
#[derive(Debug, Clone, Default)]
pub struct HostLog {
    pub(super) programs: Vec<Option<Vec<Life>>>,
}

value_struct!(HostLog { programs: programs });

/// What becomes of memory's answers.
#[derive(Debug, Default)]
pub(super) enum Answers {
    /// They are given.
    #[default]
    Given,
    /// They are given and kept.
    Kept(Vec<MemoryAnswer>),
    /// They are those of another time, and memory is left alone.
    Repeated(VecDeque<MemoryAnswer>),
}

impl Answers {
    /// Whether they are kept, or those of another time.
    pub(super) const fn matter(&self) -> bool {
        !matches!(self, Self::Given)
    }

    /// Whether none of another time is left.
    pub(super) fn all_given(&self) -> bool {
        match self {
            Self::Repeated(answers) => answers.is_empty(),
            Self::Given | Self::Kept(_) => true,
        }
    }

    /// An answer; `None` if another time knows none.
    pub(super) fn answer(
        &mut self,
        memory: &SharedMemory,
        ask: impl FnOnce(&mut HostMemory) -> MemoryAnswer,
    ) -> Option<MemoryAnswer> {
        if let Self::Repeated(answers) = self {
            return answers.pop_front();
        }
        let answer = ask(&mut Machine::lock(memory));
        if let Self::Kept(answers) = self {
            answers.push(answer.clone());
        }
        Some(answer)
    }
}
