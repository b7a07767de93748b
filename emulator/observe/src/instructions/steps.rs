//! Converts records to instructions with start times.

use std::collections::{BTreeMap, VecDeque};

use super::{Cause, Record};

/// Longest round of an idle loop of which skipped instructions can be shown.
const LONGEST_ROUND: usize = 4096;

/// An executed instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    /// Clock at its start, fetch included.
    pub start: u64,
    /// Address of the instruction.
    pub pc: u32,
    /// Total duration in ticks.
    pub ticks: u64,
    /// Time in addition to its own cycles, by [`Cause`].
    pub spent: [u64; Cause::ALL.len()],
}

/// An action of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// An executed instruction.
    Executed(Executed),
    /// Skipped rounds of an idle loop.
    Rounds {
        /// Clock at the start.
        start: u64,
        /// Duration of a round.
        round_ticks: u64,
        /// Instructions per round.
        instructions: u32,
        /// Number of rounds.
        rounds: u64,
    },
    /// Passed probes.
    Probe {
        /// Clock reading.
        start: u64,
        /// Address of the probes.
        pc: u32,
    },
}

/// Interprets the records of one core.
#[derive(Debug, Default)]
pub struct Steps {
    tick: u64,
    /// Time spent for the next instruction so far.
    spent: [u64; Cause::ALL.len()],
    /// Start of the next instruction.
    start: Option<u64>,
    words: BTreeMap<u32, u32>,
    sram_bytes: u32,
    ticks_per_second: u64,
    /// The last instructions.
    last: VecDeque<Executed>,
}

impl Steps {
    /// The action of a record, if any.
    pub fn follow(&mut self, record: Record) -> Option<Action> {
        match record {
            Record::Board {
                ticks_per_second,
                sram_bytes,
            } => (self.ticks_per_second, self.sram_bytes) = (ticks_per_second, sram_bytes),
            Record::Clock { tick } => self.tick = tick,
            Record::Word { address, word } => {
                self.words.insert(address, word);
            }
            Record::Spent { cause, ticks } => {
                self.start.get_or_insert(self.tick);
                self.spent[cause as usize] += ticks;
                self.tick = self.tick.saturating_add(ticks);
            }
            Record::Executed { pc, ticks } => return Some(self.executed(pc, ticks)),
            Record::Probe { pc } => {
                let start = self.tick;
                return Some(Action::Probe { start, pc });
            }
            Record::Idle { .. } => {}
            Record::Rounds {
                instructions,
                rounds,
            } => return Some(self.rounds(instructions, rounds)),
        }
        None
    }

    fn executed(&mut self, pc: u32, ticks: u32) -> Action {
        let start = self.start.take().unwrap_or(self.tick);
        self.tick = self.tick.saturating_add(ticks.into());
        let step = Executed {
            start,
            pc,
            ticks: self.tick - start,
            spent: std::mem::take(&mut self.spent),
        };
        if self.last.len() == LONGEST_ROUND {
            self.last.pop_front();
        }
        self.last.push_back(step);
        Action::Executed(step)
    }

    fn rounds(&mut self, instructions: u32, rounds: u64) -> Action {
        let start = self.tick;
        let round_ticks = self.round(instructions).map(|step| step.ticks).sum();
        let ticks = rounds.saturating_mul(round_ticks);
        self.tick = self.tick.saturating_add(ticks);
        for step in &mut self.last {
            step.start = step.start.saturating_add(ticks);
        }
        Action::Rounds {
            start,
            round_ticks,
            instructions,
            rounds,
        }
    }

    /// The last `instructions` instructions: one round, after skipped rounds.
    pub fn round(&self, instructions: u32) -> impl Iterator<Item = &Executed> {
        let skip = self.last.len().saturating_sub(instructions as usize);
        self.last.iter().skip(skip)
    }

    /// Every instruction of the rounds that were just skipped.
    pub fn skipped(
        &self,
        start: u64,
        instructions: u32,
        rounds: u64,
    ) -> impl Iterator<Item = Executed> + '_ {
        let mut tick = start;
        (0..rounds)
            .flat_map(move |_| self.round(instructions))
            .map(move |step| {
                let start = tick;
                tick = tick.saturating_add(step.ticks);
                Executed { start, ..*step }
            })
    }

    /// Clock after the last record.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// Clock rate, in ticks per second.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// The current instruction word at `pc`.
    #[must_use]
    pub fn word(&self, pc: u32) -> Option<u32> {
        // Installed memory repeats beyond its end.
        let folded = || self.words.get(&(pc & self.sram_bytes.wrapping_sub(1)));
        self.words.get(&pc).or_else(folded).copied()
    }
}
