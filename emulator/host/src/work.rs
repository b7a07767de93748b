//! The work of a program between a request and its answer.

use super::memory_poll::MemoryPoll;
use super::rotation::Rotation;
use emulator_base::time::SimTime;
use emulator_board::events::{PollRequest, Response};
use emulator_state::{Reader, StateError, Value, Writer};
use emulator_state::{value_enum, value_struct};

/// Wake-up condition of a blocked program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeEvent {
    /// The board's interrupt.
    Interrupt,
    /// Nothing but the deadline.
    Time,
}

value_enum!(WakeEvent {
    Interrupt {},
    Time {}
});

/// A program's sleep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sleep {
    pub(super) event: WakeEvent,
    pub(super) deadline: SimTime,
}

value_struct!(Sleep {
    event: event,
    deadline: deadline
});

/// The request that a program, or the signal handler within it, is at.
#[derive(Debug, Default)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub(super) struct Work {
    /// Time at which the timeout of the program's poll is over; [`SimTime::MAX`] without one.
    pub(super) deadline: SimTime,
    /// The condition on a word of the window that it polls for.
    pub(super) polling: Option<PollRequest>,
    /// The words that it polls in turn.
    pub(super) rotation: Option<Rotation>,
    /// Whether an access to the window is pending: the CPU stalls until its end.
    pub(super) accessing: bool,
    /// Earliest time at which the present computation or access ends.
    pub(super) ends: SimTime,
    /// While the program has no CPU: the CPU time that it needs until its answer.
    pub(super) left: SimTime,
    /// Time stolen from it since, by which its end moves on.
    pub(super) stolen: SimTime,
    /// The answer, if it came while the program had no CPU.
    pub(super) parked: Option<Response>,
    /// The words of host memory that it polls.
    pub(super) memory_poll: Option<MemoryPoll>,
    /// The pending sleep.
    pub(super) sleep: Option<Sleep>,
}

impl Value for Work {
    fn write(&self, out: &mut Writer) {
        (self.accessing, self.ends).write(out);
        (self.left, self.stolen).write(out);
        self.parked.write(out);
        self.polling.write(out);
        self.rotation.write(out);
        self.memory_poll.write(out);
        (self.deadline, self.sleep).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (accessing, ends) = Value::read(from)?;
        let (left, stolen) = Value::read(from)?;
        let parked = Value::read(from)?;
        let polling = Value::read(from)?;
        let rotation = Value::read(from)?;
        let memory_poll = Value::read(from)?;
        let (deadline, sleep) = Value::read(from)?;
        Ok(Self {
            accessing,
            ends,
            left,
            stolen,
            parked,
            polling,
            rotation,
            memory_poll,
            deadline,
            sleep,
        })
    }
}

impl Work {
    /// Whether the program polls the window, alone or in turn with memory.
    pub(super) const fn polls_window(&self) -> bool {
        self.polling.is_some() || self.rotation.is_some()
    }

    /// The purpose of a poll or a sleep, as its request states it.
    pub(super) fn waits_for(&self) -> Option<&'static str> {
        if let Some(sleep) = self.sleep {
            return Some(match sleep.event {
                WakeEvent::Interrupt => "an interrupt",
                WakeEvent::Time => "a time",
            });
        }
        let rotation = self.rotation.as_ref().map(Rotation::why);
        let memory = self.memory_poll.as_ref().map(MemoryPoll::why);
        rotation
            .or(memory)
            .or_else(|| self.polling.map(|poll| poll.why))
    }

    /// States the reason of its polls, which a saved state has not.
    pub(super) fn set_why(&mut self, why: &'static str) {
        if let Some(poll) = &mut self.polling {
            poll.why = why;
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.set_why(why);
        }
        if let Some(poll) = &mut self.memory_poll {
            poll.set_why(why);
        }
    }

    /// Stops the work at `time`, when the program loses its CPU.
    pub(super) fn suspend(&mut self, time: SimTime, memory_poll: SimTime) {
        match &mut self.memory_poll {
            Some(poll) => poll.suspend(time, memory_poll),
            None => {
                let ends = self.ends + std::mem::take(&mut self.stolen);
                self.left = ends.saturating_sub(time);
            }
        }
    }
}
