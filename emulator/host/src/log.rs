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
use super::request::Request;
use emulator_base::time::SimTime;
use emulator_board::SharedMemory;
use emulator_board::events::Response;
use emulator_board::memory::HostMemory;
use emulator_state::{Reader, StateError, Value, Writer};
use emulator_state::{value_enum, value_struct};

/// An answer of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MemoryAnswer {
    /// The address of new memory.
    Allocated(Option<u64>),
    /// The virtual and the physical address of new contiguous memory.
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
    /// The program asked for so many bytes.
    Allocate(u64),
    /// The program asked for so many contiguous bytes.
    AllocateContiguous(u64),
    /// The program wrote to a virtual address.
    Write(u64, Box<[u8]>),
}

impl MemoryAct {
    /// Makes the change again, in a run that replays the log.
    fn replay(&self, memory: &mut HostMemory) {
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
pub(super) struct InputRecord {
    pub(super) now: SimTime,
    pub(super) response: Option<Response>,
    pub(super) memory: Vec<MemoryAnswer>,
}

value_struct!(InputRecord {
    now: now,
    response: response,
    memory: memory
});

/// The actions of a program from one request to the next.
#[derive(Debug, Clone)]
pub(super) struct OutputRecord {
    pub(super) memory: Vec<MemoryAct>,
    /// The request that ends the step; `None` if the program ended, or awaits something outside the simulation.
    pub(super) request: Option<Request>,
    /// Whether that was its end.
    pub(super) ended: bool,
}

impl OutputRecord {
    /// Makes the changes of memory again, in a run that replays the log.
    pub(super) fn replay(&self, memory: &SharedMemory) {
        if !self.memory.is_empty() {
            let mut memory = Machine::lock(memory);
            self.memory.iter().for_each(|act| act.replay(&mut memory));
        }
    }
}

/// A step of a program, from one request to the next.
#[derive(Debug)]
struct ReplayStep {
    input: InputRecord,
    /// Not saved: they are known again once a program has received its log.
    output: Option<OutputRecord>,
}

/// The log of one life of a program. Clones share its steps.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgramLog {
    /// Perhaps more than this program has taken: a clone of the log may belong to a world that has come further.
    steps: Arc<Mutex<Vec<ReplayStep>>>,
    /// Number of steps that this program has taken.
    position: usize,
}

impl ProgramLog {
    fn steps(&self) -> MutexGuard<'_, Vec<ReplayStep>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of inputs so far.
    pub(super) const fn len(&self) -> usize {
        self.position
    }

    /// Adds a step.
    pub(super) fn push(&mut self, input: InputRecord, output: OutputRecord) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps
            .get(self.position)
            .is_none_or(|step| step.input != input)
        {
            // The later steps, of another world, do not happen here.
            steps.truncate(self.position);
            let output = Some(output);
            steps.push(ReplayStep { input, output });
        }
        self.position += 1;
    }

    /// Replays the next step: shows the actions that followed this input at this time. `None` if the log does not have
    /// them.
    pub(super) fn replay_next<T>(
        &mut self,
        now: SimTime,
        response: Option<&Response>,
        show: impl FnOnce(&OutputRecord) -> T,
    ) -> Option<T> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let step = steps.get(self.position)?;
        let same = step.input.now == now && step.input.response.as_ref() == response;
        let shown = step.output.as_ref().filter(|_| same).map(show)?;
        self.position += 1;
        Some(shown)
    }

    /// The last request.
    pub(super) fn last_request(&self) -> Option<Request> {
        let steps = self.steps();
        let last = steps.get(self.position.checked_sub(1)?)?;
        last.output.as_ref()?.request.clone()
    }

    /// The last request of the program itself, apart from those of its signal handler, which runs if `in_handler`.
    pub(super) fn last_own_request(&self, mut in_handler: bool) -> Option<Request> {
        let steps = self.steps();
        for step in steps.get(..self.position)?.iter().rev() {
            let output = step.output.as_ref()?;
            // Before the end of the program itself, a step that ends is the last one of a handler.
            in_handler |= output.ended;
            if !in_handler {
                return output.request.clone();
            }
            in_handler = step.input.response != Some(Response::Signal);
        }
        None
    }

    /// Drops the steps behind the position: they were those of other worlds.
    pub(super) fn forget_later_steps(&self) {
        self.steps().truncate(self.position);
    }

    /// Goes back to the time after this many steps; returns whether the log has as many.
    pub(super) fn rewind(&mut self, position: usize) -> bool {
        let known = position <= self.steps().len();
        if known {
            self.position = position;
        }
        known
    }

    /// Passes the inputs from step `first` on to `replay`, which returns the program's actions, or `None` if the program does not
    /// fit the log. Returns whether it fitted to the end.
    pub(super) fn replay_inputs(
        &self,
        first: usize,
        mut replay: impl FnMut(&InputRecord) -> Option<OutputRecord>,
    ) -> bool {
        let mut steps = self.steps();
        let steps = steps.get_mut(first..self.position).unwrap_or_default();
        steps.iter_mut().all(|step| {
            let output = replay(&step.input);
            let same = output.is_some();
            step.output = step.output.take().or(output);
            same
        })
    }
}

impl Value for ProgramLog {
    fn write(&self, out: &mut Writer) {
        self.position.write(out);
        let steps = self.steps();
        let passed = steps.iter().take(self.position);
        passed.for_each(|step| step.input.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let all: Vec<InputRecord> = Value::read(from)?;
        let unknown = |input| ReplayStep {
            input,
            output: None,
        };
        Ok(Self {
            position: all.len(),
            steps: Arc::new(Mutex::new(all.into_iter().map(unknown).collect())),
        })
    }
}

/// The logs of the programs of a host: the logs of each, if they are kept.
#[derive(Debug, Clone, Default)]
pub struct HostLog {
    pub(super) programs: Vec<Option<Vec<ProgramLog>>>,
}

value_struct!(HostLog { programs: programs });

/// The source of the answers to a program's accesses to memory, and the places where answers and changes are noted.
#[derive(Debug, Default)]
pub(super) enum Answers {
    /// Memory answers.
    #[default]
    Direct,
    /// Memory answers, and a tape keeps its changes.
    Noted(Vec<MemoryAct>),
    /// Memory answers, and the log keeps answers and changes.
    Logged(Vec<MemoryAnswer>, Vec<MemoryAct>),
    /// The log answers, and memory does not change.
    Replayed(VecDeque<MemoryAnswer>, Vec<MemoryAct>),
}

impl Answers {
    /// Whether the log keeps or gives them.
    pub(super) const fn use_log(&self) -> bool {
        !matches!(self, Self::Direct | Self::Noted(_))
    }

    /// Notes a change of memory.
    pub(super) fn note(&mut self, act: impl FnOnce() -> MemoryAct) {
        match self {
            Self::Direct => {}
            Self::Noted(acts) | Self::Logged(_, acts) | Self::Replayed(_, acts) => acts.push(act()),
        }
    }

    /// An answer; `None` if the log has none.
    pub(super) fn answer(
        &mut self,
        memory: &SharedMemory,
        ask: impl FnOnce(&mut HostMemory) -> MemoryAnswer,
    ) -> Option<MemoryAnswer> {
        if let Self::Replayed(answers, _) = self {
            return answers.pop_front();
        }
        let answer = ask(&mut Machine::lock(memory));
        if let Self::Logged(answers, _) = self {
            answers.push(answer.clone());
        }
        Some(answer)
    }
}
