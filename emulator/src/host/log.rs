//! Logs of host programs: their inputs, from which a program is restored, and their actions, which can be replayed without it.
//!
//! A program is a future: it cannot be copied or saved. But its actions follow from its inputs: the answers to its requests, the
//! time, and the contents of memory. With a log of these a program that begins anew is brought to the same point; its
//! requests are not carried out meanwhile.
//!
//! With a log of its actions too, the program itself is not needed up to the time at which the log ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::machine::Machine;
use super::memory::HostMemory;
use super::request::{Request, Response};
use crate::board::SharedMemory;
use crate::sim::time::SimTime;
use crate::state::{Reader, StateError, Value, Writer};
use crate::{value_enum, value_struct};

/// An answer of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemoryAnswer {
    /// The address of new memory.
    Allocated(Option<u64>),
    /// The same with a physical address.
    Contiguous(Option<(u64, u64)>),
    /// A write was carried out, or met an address that is not mapped.
    Written(Result<(), u64>),
    /// Values read.
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

/// A change of memory by a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemoryAct {
    /// It asked for so many bytes.
    Allocate(u64),
    /// It asked for so many contiguous bytes.
    AllocateContiguous(u64),
    /// It wrote to a virtual address.
    Write(u64, Box<[u8]>),
}

impl MemoryAct {
    /// Repeats the change.
    fn repeat(&self, memory: &mut HostMemory) {
        // The answer is the one in the log.
        match self {
            Self::Allocate(length) => drop(memory.allocate(*length)),
            Self::AllocateContiguous(length) => drop(memory.allocate_contiguous(*length)),
            Self::Write(address, bytes) => drop(memory.write_virtual(*address, bytes)),
        }
    }
}

/// The inputs of a program from one request to the next.
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

/// The actions of a program from one request to the next.
#[derive(Debug, Clone)]
pub(super) struct Deeds {
    pub(super) memory: Vec<MemoryAct>,
    /// Its request.
    pub(super) request: Option<Request>,
    /// Whether that was its end.
    pub(super) ended: bool,
}

impl Deeds {
    /// Repeats the changes of memory.
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
    /// Not saved: they are known again once a program has received its log.
    deeds: Option<Deeds>,
}

/// The log of one life of a program. Clones share its turns.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    /// Perhaps more than this one has had: another one has come further.
    turns: Arc<Mutex<Vec<Turn>>>,
    told: usize,
}

impl Life {
    fn turns(&self) -> MutexGuard<'_, Vec<Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of inputs so far.
    pub(super) const fn len(&self) -> usize {
        self.told
    }

    /// Adds a turn.
    pub(super) fn push(&mut self, told: Told, deeds: Deeds) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.get(self.told).is_none_or(|turn| turn.told != told) {
            // The later turns of another one do not happen here.
            turns.truncate(self.told);
            let deeds = Some(deeds);
            turns.push(Turn { told, deeds });
        }
        self.told += 1;
    }

    /// Replays the next turn: shows the actions that followed this input at this time. `None` if the log does not have
    /// them.
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

    /// The last request.
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

    /// Drops the turns of others that come later.
    pub(super) fn forget_later(&self) {
        self.turns().truncate(self.told);
    }

    /// Goes back to the time after this many turns; returns whether the log has as many.
    pub(super) fn rewind(&mut self, told: usize) -> bool {
        let known = told <= self.turns().len();
        if known {
            self.told = told;
        }
        known
    }

    /// Passes the inputs from turn `first` on to `tell`, which gives the program's actions, or `None` if the program does not
    /// fit the log; tells whether it fitted to the end.
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

/// The logs of the programs of a host: the lives of each, if they are kept.
#[derive(Debug, Clone, Default)]
pub struct HostLog {
    pub(super) programs: Vec<Option<Vec<Life>>>,
}

value_struct!(HostLog { programs: programs });

/// The treatment of memory's answers, and of changes of memory.
#[derive(Debug, Default)]
pub(super) enum Answers {
    /// Memory answers.
    #[default]
    Given,
    /// Memory answers, and a tape keeps its changes.
    Noted(Vec<MemoryAct>),
    /// Memory answers, and the log keeps answers and changes.
    Kept(Vec<MemoryAnswer>, Vec<MemoryAct>),
    /// The log answers, and memory does not change.
    Repeated(VecDeque<MemoryAnswer>, Vec<MemoryAct>),
}

impl Answers {
    /// Whether the log keeps or gives them.
    pub(super) const fn matter(&self) -> bool {
        !matches!(self, Self::Given | Self::Noted(_))
    }

    /// Notes a change of memory.
    pub(super) fn note(&mut self, act: impl FnOnce() -> MemoryAct) {
        match self {
            Self::Given => {}
            Self::Noted(acts) | Self::Kept(_, acts) | Self::Repeated(_, acts) => acts.push(act()),
        }
    }

    /// An answer; `None` if the log has none.
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
