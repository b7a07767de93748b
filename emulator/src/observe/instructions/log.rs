//! Log of a core's instructions during a run.
//!
//! A core logs far more instructions than anything else, and most follow their predecessor and take equally long. So the log
//! holds *stretches*: times spent, then such instructions. An instruction that continues the current stretch changes one number.

use super::{Cause, Record};

/// What the instructions of a [`Stretch`] follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// Nothing.
    Bare,
    /// Time spent for this cause.
    Spent(Cause),
    /// The record of the log with this index.
    Record,
}

/// Times spent, or another record, then instructions one after the other that take equally long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Ticks of the own cycles of each instruction.
    pub(super) pace: u64,
    /// Address of the first instruction.
    pub(super) pc: u32,
    /// Number of instructions.
    pub(super) length: u32,
    /// Ticks of [`Head::Spent`], index of [`Head::Record`].
    pub(super) number: u32,
    /// Ticks of contention before the head.
    pub(super) stalled: u32,
    pub(super) head: Head,
}

/// The stretch that instructions continue.
#[derive(Debug, Clone, Copy)]
struct Current {
    /// Address behind the last instruction.
    end: u32,
    pc: u32,
    pace: u64,
    head: Head,
    number: u32,
    stalled: u32,
}

impl Current {
    /// No instructions yet.
    const fn new(head: Head, number: u32, pc: u32, pace: u64) -> Self {
        Self {
            end: pc,
            pc,
            pace,
            head,
            number,
            stalled: 0,
        }
    }

    #[inline(always)]
    const fn length(&self) -> u32 {
        self.end.wrapping_sub(self.pc) / 4
    }

    /// Ticks of its instructions.
    #[inline(always)]
    const fn ticks(&self) -> u64 {
        (self.length() as u64).wrapping_mul(self.pace)
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.pc == self.end && self.head == Head::Bare
    }

    #[inline(always)]
    const fn stretch(&self) -> Stretch {
        Stretch {
            pace: self.pace,
            pc: self.pc,
            length: self.length(),
            number: self.number,
            stalled: self.stalled,
            head: self.head,
        }
    }
}

impl Stretch {
    /// Ticks of an instruction that fit its record, and the others.
    #[inline]
    pub(super) fn fitting(&self) -> (u32, u64) {
        match u32::try_from(self.pace) {
            Ok(ticks) => (ticks, 0),
            Err(_) => (u32::MAX, self.pace - u64::from(u32::MAX)),
        }
    }

    fn instructions(self) -> impl Iterator<Item = Record> {
        let (ticks, more) = self.fitting();
        (0..self.length).flat_map(move |index| {
            let pc = self.pc.wrapping_add(4 * index);
            let long = (more > 0).then_some(Record::Spent {
                cause: Cause::Branch,
                ticks: more,
            });
            long.into_iter().chain([Record::Executed { pc, ticks }])
        })
    }
}

/// State of a log at its core's last rollback point.
#[derive(Debug)]
struct Mark {
    stretches: usize,
    records: usize,
    current: Current,
    tick: u64,
}

/// Log of a core's instructions, while an observer requests it.
#[derive(Debug)]
pub struct InstructionLog {
    stretches: Vec<Stretch>,
    /// The last stretch.
    current: Current,
    /// Records that are neither instructions nor times that fit a stretch.
    records: Vec<Record>,
    /// Clock before the instructions of the current stretch.
    tick: u64,
    /// Clock rate, in ticks per second.
    ticks_per_second: u64,
    mark: Mark,
}

impl Default for InstructionLog {
    fn default() -> Self {
        let current = Current::new(Head::Bare, 0, 0, 0);
        Self {
            stretches: Vec::new(),
            current,
            records: Vec::new(),
            tick: 0,
            ticks_per_second: 0,
            mark: Mark {
                stretches: 0,
                records: 0,
                current,
                tick: 0,
            },
        }
    }
}

impl InstructionLog {
    /// Adds a record that takes no time.
    pub fn note(&mut self, record: Record) {
        let index = self.records.len() as u32;
        self.records.push(record);
        self.begin(Head::Record, index);
    }

    /// Begins a stretch.
    #[inline(always)]
    fn begin(&mut self, head: Head, number: u32) {
        self.tick += self.current.ticks();
        if !self.current.is_empty() {
            self.stretches.push(self.current.stretch());
        }
        self.current = Current::new(head, number, self.current.end, self.current.pace);
    }

    /// Starts the log of a core of a board with this clock rate and SRAM size.
    pub fn board(&mut self, ticks_per_second: u64, sram_bytes: u32) {
        self.ticks_per_second = ticks_per_second;
        self.note(Record::Board {
            ticks_per_second,
            sram_bytes,
        });
    }

    /// Clock after the last record.
    #[inline(always)]
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick + self.current.ticks()
    }

    /// Clock rate, in ticks per second; 0 while the log is empty.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// The core starts to run at `tick`.
    #[inline(always)]
    pub fn begins(&mut self, tick: u64) {
        if tick != self.tick() {
            self.note(Record::Clock { tick });
            self.tick = tick;
        }
    }

    /// Adds time spent for `cause`.
    #[inline(always)]
    pub fn spent(&mut self, cause: Cause, ticks: u64) {
        if ticks > 0 {
            match u32::try_from(ticks) {
                Ok(number) => self.begin(Head::Spent(cause), number),
                Err(_) => self.note(Record::Spent { cause, ticks }),
            }
            self.tick += ticks;
        }
    }

    /// Adds time of contention, and then time spent for `cause`.
    #[inline(always)]
    pub fn accessed(&mut self, stalled: u64, cause: Cause, spent: u64) {
        if let Ok(stalled) = u32::try_from(stalled)
            && spent > 0
        {
            self.spent(cause, spent);
            self.current.stalled = stalled;
            self.tick += u64::from(stalled);
        } else {
            self.spent(Cause::Contention, stalled);
            self.spent(cause, spent);
        }
    }

    /// Adds an executed instruction.
    #[inline(always)]
    pub fn executed(&mut self, pc: u32, ticks: u64) {
        if pc != self.current.end || ticks != self.current.pace {
            self.turn(pc, ticks);
        }
        self.current.end = pc.wrapping_add(4);
    }

    /// The next instruction is elsewhere, or takes another time.
    #[inline(never)]
    fn turn(&mut self, pc: u32, ticks: u64) {
        if self.current.length() > 0 {
            self.begin(Head::Bare, 0);
        }
        self.current.pc = pc;
        self.current.pace = ticks;
    }

    /// Adds skipped rounds of an idle loop.
    pub fn rounds(&mut self, instructions: u64, rounds: u64, round_ticks: u64) {
        self.note(Record::Rounds {
            instructions: u32::try_from(instructions).unwrap_or(u32::MAX),
            rounds,
        });
        self.tick += rounds * round_ticks;
    }

    /// Sets the rollback point.
    pub fn mark(&mut self) {
        self.mark = Mark {
            stretches: self.stretches.len(),
            records: self.records.len(),
            current: self.current,
            tick: self.tick,
        };
    }

    /// Rolls back to the last rollback point. Recorded instruction words stay.
    pub fn go_back(&mut self) {
        self.stretches.truncate(self.mark.stretches);
        (self.current, self.tick) = (self.mark.current, self.mark.tick);
        let kept = self.mark.records.min(self.records.len());
        for record in self.records.split_off(kept) {
            if matches!(record, Record::Word { .. }) {
                self.note(record);
            }
        }
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.current.is_empty()
    }

    /// The records. They cannot be rolled back after this call.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let (stretches, last) = self.stretches();
        let all = stretches.iter().copied().chain([last]);
        all.flat_map(|stretch| {
            let stalled = (stretch.stalled > 0).then_some(Record::Spent {
                cause: Cause::Contention,
                ticks: stretch.stalled.into(),
            });
            let before = stalled.into_iter().chain(self.head(stretch));
            before.chain(stretch.instructions())
        })
    }

    /// All stretches; the last one may be empty.
    pub(super) fn stretches(&self) -> (&[Stretch], Stretch) {
        (&self.stretches, self.current.stretch())
    }

    /// The record of a stretch's head.
    pub(super) fn head(&self, stretch: Stretch) -> Option<Record> {
        match stretch.head {
            Head::Bare => None,
            Head::Spent(cause) => Some(Record::Spent {
                cause,
                ticks: stretch.number.into(),
            }),
            Head::Record => self.records.get(stretch.number as usize).copied(),
        }
    }

    /// Clears the log.
    pub fn clear(&mut self) {
        self.begin(Head::Bare, 0);
        self.stretches.clear();
        self.records.clear();
        self.mark.stretches = 0;
        self.mark.records = 0;
        self.mark.current = self.current;
    }
}
