//! Records as bytes.
//!
//! Most instructions follow the one before, and take as long: a byte stands for up to 128 of these. A time
//! that was spent for the same cause lately is a byte too; anything else has a code and numbers behind it, seven
//! bits a byte.

use super::{Cause, Record};

/// A run of instructions; the lower bits say how many more than one.
pub(super) const RUN: u8 = 0x80;
/// Instructions that one byte can stand for.
pub(super) const LONGEST_RUN: u8 = 0x80;
/// Time spent as lately; the lower bits say which.
pub(super) const AGAIN: u8 = 0x40;
/// [`Record::Board`].
pub(super) const BOARD: u8 = 0;
/// [`Record::Clock`].
pub(super) const CLOCK: u8 = 1;
/// [`Record::Word`].
pub(super) const WORD: u8 = 2;
/// [`Record::Spent`], for the first time.
pub(super) const SPENT: u8 = 3;
/// How long the instructions take that follow.
pub(super) const PACE: u8 = 4;
/// The next instruction stands elsewhere.
pub(super) const JUMP: u8 = 5;
/// [`Record::Probe`].
pub(super) const PROBE: u8 = 6;
/// [`Record::Idle`].
pub(super) const IDLE: u8 = 7;
/// [`Record::Rounds`].
pub(super) const ROUNDS: u8 = 8;

/// What both sides remember.
#[derive(Debug)]
pub(super) struct Memory {
    /// Where the next instruction stands if nobody says otherwise.
    pub(super) pc: u32,
    /// How long it takes.
    pub(super) pace: u32,
    /// What was spent lately.
    lately: [(Cause, u64); PLACES],
}

const PLACES: usize = 64;

impl Default for Memory {
    fn default() -> Self {
        Self {
            pc: 0,
            pace: 0,
            lately: [(Cause::Branch, 0); PLACES],
        }
    }
}

impl Memory {
    /// The time in a place of what was spent lately.
    pub(super) const fn at(&self, place: u8) -> (Cause, u64) {
        self.lately[place as usize % PLACES]
    }

    /// Whether so much was spent lately, and in which place that stands; if not, it does from now on.
    #[inline]
    pub(super) fn spent(&mut self, cause: Cause, ticks: u64) -> (bool, u8) {
        // Most times are whole cycles.
        let cycles = (ticks >> 10) ^ ticks;
        let place = (cycles as usize * 7 + cause as usize) % PLACES;
        let known = self.lately[place] == (cause, ticks);
        self.lately[place] = (cause, ticks);
        (known, place as u8)
    }
}

/// Makes bytes of the records of one core.
#[derive(Debug, Default)]
pub struct Encoder {
    memory: Memory,
    /// Instructions that are not written yet.
    run: u8,
    bytes: Vec<u8>,
}

impl Encoder {
    /// Adds records.
    pub fn add(&mut self, records: &[Record]) {
        for &record in records {
            match record {
                Record::Executed { pc, ticks } => self.executed(pc, ticks),
                other => self.other(other),
            }
        }
    }

    /// The bytes so far; they end between two records.
    pub fn bytes(&mut self) -> &[u8] {
        self.end_run();
        &self.bytes
    }

    /// Forgets the bytes so far. What comes goes on behind them.
    pub fn clear(&mut self) {
        self.end_run();
        self.bytes.clear();
    }

    #[inline]
    fn executed(&mut self, pc: u32, ticks: u32) {
        if pc != self.memory.pc || ticks != self.memory.pace {
            self.turn(pc, ticks);
        }
        self.memory.pc = pc.wrapping_add(4);
        self.run += 1;
        if self.run == LONGEST_RUN {
            self.end_run();
        }
    }

    /// The next instruction stands elsewhere, or takes longer or shorter.
    fn turn(&mut self, pc: u32, ticks: u32) {
        self.end_run();
        if ticks != self.memory.pace {
            self.memory.pace = ticks;
            self.bytes.push(PACE);
            self.number(ticks.into());
        }
        if pc != self.memory.pc {
            self.bytes.push(JUMP);
            self.distance(pc);
        }
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            self.bytes.push(RUN | (self.run - 1));
            self.run = 0;
        }
    }

    fn other(&mut self, record: Record) {
        self.end_run();
        match record {
            Record::Spent { cause, ticks } => self.spent(cause, ticks),
            Record::Board {
                ticks_per_second,
                sram_bytes,
            } => self.coded(BOARD, &[ticks_per_second, sram_bytes.into()]),
            Record::Clock { tick } => self.coded(CLOCK, &[tick]),
            Record::Word { address, word } => {
                self.coded(WORD, &[address.into()]);
                self.bytes.extend(word.to_le_bytes());
            }
            Record::Executed { pc, ticks } => self.executed(pc, ticks),
            Record::Probe { pc } => {
                self.bytes.push(PROBE);
                self.distance(pc);
            }
            Record::Idle { instructions } => self.coded(IDLE, &[instructions.into()]),
            Record::Rounds {
                instructions,
                rounds,
            } => self.coded(ROUNDS, &[instructions.into(), rounds]),
        }
    }

    #[inline]
    fn spent(&mut self, cause: Cause, ticks: u64) {
        let (known, place) = self.memory.spent(cause, ticks);
        if known {
            self.bytes.push(AGAIN | place);
        } else {
            self.bytes.extend([SPENT, cause as u8]);
            self.number(ticks);
        }
    }

    fn coded(&mut self, code: u8, numbers: &[u64]) {
        self.bytes.push(code);
        for &number in numbers {
            self.number(number);
        }
    }

    /// How many words `pc` lies from where the next instruction would stand: the sign comes last. Addresses of
    /// instructions are aligned.
    fn distance(&mut self, pc: u32) {
        let words = pc.wrapping_sub(self.memory.pc).cast_signed() >> 2;
        self.number(u64::from(((words << 1) ^ (words >> 31)).cast_unsigned()));
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}
