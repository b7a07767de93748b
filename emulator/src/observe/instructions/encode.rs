//! Encoder of instruction records.
//!
//! Most instructions follow their predecessor and take equally long: one byte stands for up to 128 of them.
//! A time that was spent recently for an equal cause is one byte too. Anything else has a code and numbers,
//! seven bits per byte.

use super::log::{Head, Stretch};
use super::{Cause, InstructionLog, Record};

/// A run of instructions; the lower bits are its length minus one.
pub(super) const RUN: u8 = 0x80;
/// Longest run of one byte.
pub(super) const LONGEST_RUN: u8 = 0x80;
/// A recently spent time; the lower bits are its slot.
pub(super) const AGAIN: u8 = 0x40;
/// [`Record::Board`].
pub(super) const BOARD: u8 = 0;
/// [`Record::Clock`].
pub(super) const CLOCK: u8 = 1;
/// [`Record::Word`].
pub(super) const WORD: u8 = 2;
/// [`Record::Spent`] with a new time.
pub(super) const SPENT: u8 = 3;
/// Sets the duration of the following instructions.
pub(super) const PACE: u8 = 4;
/// Sets the address of the next instruction.
pub(super) const JUMP: u8 = 5;
/// [`Record::Probe`].
pub(super) const PROBE: u8 = 6;
/// [`Record::Idle`].
pub(super) const IDLE: u8 = 7;
/// [`Record::Rounds`].
pub(super) const ROUNDS: u8 = 8;

/// State of encoder and decoder.
#[derive(Debug)]
pub(super) struct Memory {
    /// Address of the next instruction, without a jump.
    pub(super) pc: u32,
    /// Duration of the next instruction.
    pub(super) pace: u32,
    /// Recently spent times, by slot.
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
    /// The recently spent time in a slot.
    pub(super) const fn at(&self, place: u8) -> (Cause, u64) {
        self.lately[place as usize % PLACES]
    }

    /// Whether this time is in its slot, and the slot; if not, stores it there.
    #[inline(always)]
    pub(super) fn spent(&mut self, cause: Cause, ticks: u64) -> (bool, u8) {
        // Most times are whole cycles.
        let cycles = (ticks >> 10) ^ ticks;
        let place = (cycles as usize * 7 + cause as usize) % PLACES;
        let known = self.lately[place] == (cause, ticks);
        self.lately[place] = (cause, ticks);
        (known, place as u8)
    }
}

/// Encodes the records of one core.
#[derive(Debug, Default)]
pub struct Encoder {
    memory: Memory,
    /// Length of the run that is not written yet.
    run: u8,
    bytes: Vec<u8>,
}

impl Encoder {
    /// Encodes the records of a log; returns the number of instructions.
    pub fn add(&mut self, log: &InstructionLog) -> u64 {
        let mut instructions = 0;
        let (stretches, last) = log.stretches();
        for stretch in stretches {
            instructions += u64::from(stretch.length);
            self.stretch(stretch, log);
        }
        instructions += u64::from(last.length);
        self.stretch(&last, log);
        instructions
    }

    #[inline(always)]
    fn stretch(&mut self, stretch: &Stretch, log: &InstructionLog) {
        if stretch.stalled > 0 {
            self.end_run();
            self.spent(Cause::Contention, stretch.stalled.into());
        }
        match stretch.head {
            Head::Bare => {}
            Head::Spent(cause) => {
                self.end_run();
                self.spent(cause, stretch.number.into());
            }
            Head::Record => {
                if let Some(record) = log.head(*stretch) {
                    self.other(record);
                }
            }
        }
        let length = stretch.length;
        match stretch.fitting() {
            _ if length == 0 => {}
            (ticks, 0) => self.executed(stretch.pc, length, ticks),
            (ticks, more) => self.long(stretch.pc, length, ticks, more),
        }
    }

    /// Adds instructions that are too long for their records.
    #[cold]
    fn long(&mut self, pc: u32, length: u32, ticks: u32, more: u64) {
        for index in 0..length {
            self.end_run();
            self.spent(Cause::Branch, more);
            self.executed(pc.wrapping_add(4 * index), 1, ticks);
        }
    }

    /// The bytes so far; they end between two records.
    pub fn bytes(&mut self) -> &[u8] {
        self.end_run();
        &self.bytes
    }

    /// Clears the bytes. The encoding continues after them.
    pub fn clear(&mut self) {
        self.end_run();
        self.bytes.clear();
    }

    /// Adds instructions one after the other that take equally long.
    #[inline(always)]
    fn executed(&mut self, pc: u32, length: u32, ticks: u32) {
        if pc != self.memory.pc || ticks != self.memory.pace {
            self.turn(pc, ticks);
        }
        self.memory.pc = pc.wrapping_add(length.wrapping_mul(4));
        let mut run = u32::from(self.run) + length;
        while run >= u32::from(LONGEST_RUN) {
            self.bytes.push(RUN | (LONGEST_RUN - 1));
            run -= u32::from(LONGEST_RUN);
        }
        self.run = run as u8;
    }

    /// Ends the run: address or duration changes.
    #[inline]
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

    #[inline(always)]
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
            Record::Executed { pc, ticks } => self.executed(pc, 1, ticks),
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

    #[inline(always)]
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

    /// Encodes the distance in words of `pc` from the next instruction's address, with the sign in the
    /// lowest bit. Instruction addresses are aligned.
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
