//! Finds the instructions between the events of a log.

use super::log::{InstructionLog, LogEvent, Note, RecordKind, Standing};
use super::{Cause, Record};

/// Instructions one after the other that take equally long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// Address of the first one.
    pub(super) pc: u32,
    /// Number of instructions.
    pub(super) length: u32,
}

/// Instructions between two events: the delay slot of a jump, if it is among them, and the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) slot: Option<u32>,
    pub(super) rest: Run,
    /// Ticks of the own cycles of each instruction.
    pub(super) pace: u64,
}

impl Passed {
    pub(super) fn records(self) -> impl Iterator<Item = Record> {
        let (ticks, more) = fitting(self.pace);
        let long = (more > 0).then_some(Record::Spent {
            cause: Cause::Branch,
            ticks: more,
        });
        let rest = (0..self.rest.length).map(move |index| self.rest.pc.wrapping_add(4 * index));
        let all = self.slot.into_iter().chain(rest);
        all.flat_map(move |pc| long.into_iter().chain([Record::Executed { pc, ticks }]))
    }
}

/// Ticks of an instruction that fit its record, and the others.
pub(super) fn fitting(pace: u64) -> (u32, u64) {
    match u32::try_from(pace) {
        Ok(ticks) => (ticks, 0),
        Err(_) => (u32::MAX, pace - u64::from(u32::MAX)),
    }
}

/// A core's place between two instructions: as the core, it knows the next instruction and the one after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    next: Standing,
    pace: u64,
}

impl Cursor {
    /// Before instructions whose own cycles take `pace` ticks.
    pub(super) const fn new(next: Standing, pace: u64) -> Self {
        Self { next, pace }
    }

    /// Passes over the instructions before an event.
    #[inline(always)]
    pub(super) const fn pass_to(&mut self, event: &LogEvent) -> Passed {
        let in_slot = self.next.in_slot();
        let passes_slot = in_slot && !event.tag.in_slot();
        let (slot, pc) = match passes_slot {
            true => (Some(self.next.pc), self.next.next_pc),
            false => (None, self.next.pc),
        };
        if passes_slot || !in_slot {
            self.next = Standing::at(event.pc);
        }
        Passed {
            slot,
            rest: Run {
                pc,
                length: event.pc.wrapping_sub(pc) / 4,
            },
            pace: self.pace,
        }
    }

    /// Follows an event of a log.
    #[inline(always)]
    pub(super) fn follow(&mut self, event: &LogEvent, log: &InstructionLog) {
        match event.tag.kind() {
            RecordKind::Spent | RecordKind::End => {}
            RecordKind::Jump => self.next.next_pc = event.number,
            RecordKind::Place => {
                self.next = Standing {
                    pc: event.number,
                    next_pc: event.other,
                };
            }
            RecordKind::Note => {
                if let Some(Note::Pace(ticks)) = log.note_of(event) {
                    self.pace = ticks;
                }
            }
        }
    }
}
