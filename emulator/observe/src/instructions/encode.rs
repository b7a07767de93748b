//! Encoder of instruction records.
//!
//! Most instructions follow their predecessor and take equally long: one byte stands for up to 128 of them.
//! A time that was spent recently for an equal cause is one byte too. Anything else has a code and numbers,
//! seven bits per byte.

use super::cursor::{Cursor, Passed, Run, fitting};
use super::log::{LogEvent, Note, RecordKind};
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
pub(super) struct LogMemory {
    /// Address of the next instruction, without a jump.
    pub(super) pc: u32,
    /// Duration of the next instruction.
    pub(super) pace: u32,
    /// Recently spent times, by slot.
    lately: [(Cause, u64); PLACES],
    /// Number of changes of these.
    learnt: u64,
}

/// Number of recently spent times that are kept: a code of one byte names one of them.
const PLACES: usize = 64;

impl Default for LogMemory {
    fn default() -> Self {
        Self {
            pc: 0,
            pace: 0,
            lately: [(Cause::Branch, 0); PLACES],
            learnt: 0,
        }
    }
}

impl LogMemory {
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
        if !known {
            self.lately[place] = (cause, ticks);
            self.learnt += 1;
        }
        (known, place as u8)
    }
}

/// Encodes the records of one core.
#[derive(Debug, Default)]
pub struct Encoder {
    memory: LogMemory,
    /// Length of the run that is not written yet.
    run: u8,
    bytes: Vec<u8>,
}

/// Encoder and log at the start, or behind a jump.
#[derive(Debug, Clone, Copy)]
struct Moment {
    /// Number of events, of bytes and of instructions before.
    events: usize,
    bytes: usize,
    instructions: u64,
    cursor: Cursor,
    /// Address and duration of the next instruction without a jump, the pending run, and the number of learnt times: with these,
    /// equal events are encoded as equal bytes.
    state: (u32, u32, u8, u64),
}

/// Number of jumps that are remembered, by target.
const JUMPS: usize = 8;

impl Encoder {
    /// Encodes the records of a log; returns the number of instructions.
    pub fn add(&mut self, log: &InstructionLog) -> u64 {
        let events = log.events();
        let mut now = Moment {
            events: 0,
            bytes: self.bytes.len(),
            instructions: 0,
            cursor: log.start(),
            state: self.state(),
        };
        let mut jumps = [now; JUMPS];
        while let Some(event) = events.get(now.events) {
            now.events += 1;
            now.instructions += self.passed(now.cursor.pass_to(event));
            self.event(event, log);
            now.cursor.follow(event, log);
            if let RecordKind::Jump | RecordKind::Place = event.tag.kind() {
                let place = event.number as usize / 4 % JUMPS;
                (now.bytes, now.state) = (self.bytes.len(), self.state());
                self.repeat(&jumps[place], &mut now, events);
                jumps[place] = now;
            }
        }
        now.instructions + self.passed(now.cursor.pass_to(&log.last()))
    }

    fn state(&self) -> (u32, u32, u8, u64) {
        (
            self.memory.pc,
            self.memory.pace,
            self.run,
            self.memory.learnt,
        )
    }

    /// Passes over further rounds of a loop, of which the events since `before` are one.
    #[inline]
    fn repeat(&mut self, before: &Moment, now: &mut Moment, events: &[LogEvent]) {
        if (before.cursor, before.state) != (now.cursor, now.state) {
            return;
        }
        let round = &events[before.events..now.events];
        let rounds = events[now.events..].chunks_exact(round.len());
        let times = rounds.take_while(|next| *next == round).count();
        // Behind each copy, there is more to copy.
        let end = now.bytes + times * (now.bytes - before.bytes);
        while self.bytes.len() < end {
            let behind = self.bytes.len().min(before.bytes + end - self.bytes.len());
            self.bytes.extend_from_within(before.bytes..behind);
        }
        now.events += times * round.len();
        now.bytes = end;
        now.instructions += times as u64 * (now.instructions - before.instructions);
    }

    /// Adds instructions between two events; returns their number.
    #[inline(always)]
    fn passed(&mut self, passed: Passed) -> u64 {
        if let Some(pc) = passed.slot {
            self.run(Run { pc, length: 1 }, passed.pace);
        }
        self.run(passed.rest, passed.pace);
        u64::from(passed.slot.is_some()) + u64::from(passed.rest.length)
    }

    /// Adds an event.
    #[inline(always)]
    fn event(&mut self, event: &LogEvent, log: &InstructionLog) {
        match event.tag.kind() {
            RecordKind::Spent => {
                self.end_run();
                if event.other > 0 {
                    self.spent(Cause::Contention, event.other.into());
                }
                if event.number > 0 {
                    self.spent(event.tag.cause(), event.number.into());
                }
            }
            RecordKind::Note => {
                if let Some(Note::Record(record)) = log.note_of(event) {
                    self.other(record);
                }
            }
            RecordKind::Jump | RecordKind::Place | RecordKind::End => {}
        }
    }

    /// Adds instructions one after the other that take equally long.
    #[inline(always)]
    fn run(&mut self, run: Run, ticks: u64) {
        if run.length == 0 {
            return;
        }
        match u32::try_from(ticks) {
            Ok(ticks) => self.executed(run.pc, run.length, ticks),
            Err(_) => self.long(run, ticks),
        }
    }

    /// Adds instructions that are too long for their records.
    #[cold]
    fn long(&mut self, run: Run, ticks: u64) {
        let (ticks, more) = fitting(ticks);
        for index in 0..run.length {
            self.end_run();
            self.spent(Cause::Branch, more);
            self.executed(run.pc.wrapping_add(4 * index), 1, ticks);
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
