//! What host programs are told, so that they can be brought to the same point again, and what they did thereupon.
//!
//! A program is a future: it cannot be copied or saved. But what it does follows from what it is told: the answers to its
//! requests, the time, and what its machine's memory says. Whoever keeps that can begin the program anew, tell it all of it
//! once more, and have it stand where it stood. Nothing that it asks for meanwhile is carried out.
//!
//! Whoever also keeps what it did can do without the program, up to the time at which the log ends: what it would do again
//! stands there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::machine::Machine;
use super::memory::HostMemory;
use super::request::{Request, Response};
use crate::board::SharedMemory;
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

/// What a program did to its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemoryAct {
    /// It asked for so many bytes.
    Allocate(u64),
    /// The same, contiguous.
    AllocateContiguous(u64),
    /// It wrote to a virtual address.
    Write(u64, Box<[u8]>),
}

impl MemoryAct {
    /// Does it once more.
    fn repeat(&self, memory: &mut HostMemory) {
        // What came of it is what came of it before.
        match self {
            Self::Allocate(length) => drop(memory.allocate(*length)),
            Self::AllocateContiguous(length) => drop(memory.allocate_contiguous(*length)),
            Self::Write(address, bytes) => drop(memory.write_virtual(*address, bytes)),
        }
    }
}

/// What a program was told when it was last let go on: from one request to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) now: SimTime,
    pub(super) response: Option<Response>,
    pub(super) memory: Vec<MemoryAnswer>,
}

value_struct!(Told {
    now: now,
    response: response,
    memory: memory
});

/// What a program did thereupon.
#[derive(Debug, Clone)]
pub(super) struct Deeds {
    pub(super) memory: Vec<MemoryAct>,
    /// What it asked for.
    pub(super) request: Option<Request>,
    /// Whether that was its end.
    pub(super) ended: bool,
}

impl Deeds {
    /// Does to memory once more what was done.
    pub(super) fn repeat(&self, memory: &SharedMemory) {
        if !self.memory.is_empty() {
            let mut memory = Machine::lock(memory);
            self.memory.iter().for_each(|act| act.repeat(&mut memory));
        }
    }
}

/// From one request of a program to the next.
#[derive(Debug)]
struct Turn {
    told: Told,
    /// Not saved: whoever tells a program all of it again knows it again.
    deeds: Option<Deeds>,
}

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
    pub(super) fn push(&mut self, told: Told, deeds: Deeds) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.get(self.told).is_none_or(|turn| turn.told != told) {
            // What another one was told is not what happens here.
            turns.truncate(self.told);
            let deeds = Some(deeds);
            turns.push(Turn { told, deeds });
        }
        self.told += 1;
    }

    /// The next turn of one who only repeats: shows what the program did when it was told this at this time. `None` if that
    /// is not known.
    pub(super) fn repeat_next<T>(
        &mut self,
        now: SimTime,
        response: Option<&Response>,
        show: impl FnOnce(&Deeds) -> T,
    ) -> Option<T> {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = turns.get(self.told)?;
        let same = turn.told.now == now && turn.told.response.as_ref() == response;
        let shown = turn.deeds.as_ref().filter(|_| same).map(show)?;
        self.told += 1;
        Some(shown)
    }

    /// What the program asked for last.
    pub(super) fn last_request(&self) -> Option<Request> {
        let turns = self.turns();
        let last = turns.get(self.told.checked_sub(1)?)?;
        last.deeds.as_ref()?.request.clone()
    }

    /// The last request of the program itself, apart from those of its signal handler, which runs if `in_handler`.
    pub(super) fn last_own_request(&self, mut in_handler: bool) -> Option<Request> {
        let turns = self.turns();
        for turn in turns.get(..self.told)?.iter().rev() {
            let deeds = turn.deeds.as_ref()?;
            // Before the end of the program itself, a turn that ends is the last one of a handler.
            in_handler |= deeds.ended;
            if !in_handler {
                return deeds.request.clone();
            }
            in_handler = turn.told.response != Some(Response::Signal);
        }
        None
    }

    /// Forgets what others were told later.
    pub(super) fn forget_later(&self) {
        self.turns().truncate(self.told);
    }

    /// Goes back to the time at which it had been told something so often; tells whether it knows so much.
    pub(super) fn rewind(&mut self, told: usize) -> bool {
        let known = told <= self.turns().len();
        if known {
            self.told = told;
        }
        known
    }

    /// Shows what was told from turn `first` on to `tell`, as long as that knows what the program does thereupon; tells
    /// whether it did to the end.
    pub(super) fn tell_again(
        &self,
        first: usize,
        mut tell: impl FnMut(&Told) -> Option<Deeds>,
    ) -> bool {
        let mut turns = self.turns();
        let turns = turns.get_mut(first..self.told).unwrap_or_default();
        turns.iter_mut().all(|turn| {
            let deeds = tell(&turn.told);
            let same = deeds.is_some();
            turn.deeds = turn.deeds.take().or(deeds);
            same
        })
    }
}

impl Value for Life {
    fn write(&self, out: &mut Writer) {
        self.told.write(out);
        let turns = self.turns();
        let told = turns.iter().take(self.told);
        told.for_each(|turn| turn.told.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let all: Vec<Told> = Value::read(from)?;
        let unknown = |told| Turn { told, deeds: None };
        Ok(Self {
            told: all.len(),
            turns: Arc::new(Mutex::new(all.into_iter().map(unknown).collect())),
        })
    }
}

/// What the programs of a host were told: for each of them its lives, if they were kept.
#[derive(Debug, Clone, Default)]
pub struct HostLog {
    pub(super) programs: Vec<Option<Vec<Life>>>,
}

value_struct!(HostLog { programs: programs });

/// What becomes of memory's answers, and of what is done to it.
#[derive(Debug, Default)]
pub(super) enum Answers {
    /// They are given.
    #[default]
    Given,
    /// They are given and kept.
    Kept(Vec<MemoryAnswer>, Vec<MemoryAct>),
    /// They are those of another time, and memory is left alone.
    Repeated(VecDeque<MemoryAnswer>, Vec<MemoryAct>),
}

impl Answers {
    /// Whether they are kept, or those of another time.
    pub(super) const fn matter(&self) -> bool {
        !matches!(self, Self::Given)
    }

    /// Memory is changed.
    pub(super) fn note(&mut self, act: impl FnOnce() -> MemoryAct) {
        match self {
            Self::Given => {}
            Self::Kept(_, acts) | Self::Repeated(_, acts) => acts.push(act()),
        }
    }

    /// An answer; `None` if another time knows none.
    pub(super) fn answer(
        &mut self,
        memory: &SharedMemory,
        ask: impl FnOnce(&mut HostMemory) -> MemoryAnswer,
    ) -> Option<MemoryAnswer> {
        if let Self::Repeated(answers, _) = self {
            return answers.pop_front();
        }
        let answer = ask(&mut Machine::lock(memory));
        if let Self::Kept(answers, _) = self {
            answers.push(answer.clone());
        }
        Some(answer)
    }
}
