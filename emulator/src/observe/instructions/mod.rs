//! Every instruction that a core executes, with its time.
//!
//! A core's [`Record`]s follow its clock without a gap: what each instruction and each wait takes adds up to
//! the clock's reading, so that every instruction's start is known to the tick. [`encode`] makes a few bits an
//! instruction of them, and [`decode`] reads these back.

pub mod decode;
pub mod encode;
pub mod steps;
pub mod trace;

/// What ticks are spent for, beside an instruction's own cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A branch that was taken, or an annulled delay slot.
    Branch,
    /// A line for the instruction cache.
    Fetch,
    /// Somebody else has the SRAM bus.
    Contention,
    /// SRAM answers.
    Sram,
    /// The scratchpad answers.
    Scratchpad,
    /// A register, or nobody, answers.
    Register,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Branch,
        Self::Fetch,
        Self::Contention,
        Self::Sram,
        Self::Scratchpad,
        Self::Register,
    ];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Fetch => "fetch",
            Self::Contention => "contention",
            Self::Sram => "sram",
            Self::Scratchpad => "scratchpad",
            Self::Register => "register",
        }
    }
}

/// What a core did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// The core belongs to a board with so much SRAM, and its clock ticks so often in a second.
    Board {
        /// Ticks in a second.
        ticks_per_second: u64,
        /// Bytes of SRAM; addresses repeat modulo this number.
        sram_bytes: u32,
    },
    /// The clock stands here: until now the core did not run.
    Clock {
        /// The tick.
        tick: u64,
    },
    /// From now on this instruction stands there.
    Word {
        /// Its address.
        address: u32,
        /// Its word.
        word: u32,
    },
    /// Time that the next instruction takes beside its own cycles.
    Spent {
        /// What for.
        cause: Cause,
        /// Ticks.
        ticks: u64,
    },
    /// An instruction.
    Executed {
        /// Its address.
        pc: u32,
        /// Ticks of its own cycles.
        ticks: u32,
    },
    /// The core passed the probes that mark this address.
    Probe {
        /// The address.
        pc: u32,
    },
    /// The last instructions were a round of an idle loop like the one before it.
    Idle {
        /// How many instructions.
        instructions: u32,
    },
    /// Rounds of the idle loop that were passed over at once. Each repeats, at the same pace, the instructions
    /// before this record.
    Rounds {
        /// How many instructions a round has.
        instructions: u32,
        /// How many rounds.
        rounds: u64,
    },
}

/// What the cores of a board do while somebody looks.
#[derive(Debug, Default)]
pub struct InstructionLog {
    records: Vec<Record>,
    /// The clock after what is recorded.
    tick: u64,
    /// Ticks of the clock in a second.
    ticks_per_second: u64,
    /// Number of records, and tick, when the core was last in turn.
    mark: (usize, u64),
}

impl InstructionLog {
    /// Records something that takes no time.
    #[inline]
    pub fn note(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Somebody begins to look at the core of a board with so much SRAM, whose clock ticks so often.
    pub fn board(&mut self, ticks_per_second: u64, sram_bytes: u32) {
        self.ticks_per_second = ticks_per_second;
        self.records.push(Record::Board {
            ticks_per_second,
            sram_bytes,
        });
    }

    /// The tick of the clock after what was recorded.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// Ticks of the clock in a second; 0 before anything was recorded.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// The core stands at `tick` and is about to run.
    #[inline]
    pub fn begins(&mut self, tick: u64) {
        if tick != self.tick {
            self.tick = tick;
            self.records.push(Record::Clock { tick });
        }
    }

    /// Ticks pass for `cause`.
    #[inline]
    pub fn spent(&mut self, cause: Cause, ticks: u64) {
        if ticks > 0 {
            self.tick += ticks;
            self.records.push(Record::Spent { cause, ticks });
        }
    }

    /// An instruction is executed.
    #[inline]
    pub fn executed(&mut self, pc: u32, ticks: u64) {
        self.tick += ticks;
        let ticks = match u32::try_from(ticks) {
            Ok(ticks) => ticks,
            Err(_) => self.long(ticks),
        };
        self.records.push(Record::Executed { pc, ticks });
    }

    /// An instruction that takes longer than its record can say.
    #[cold]
    fn long(&mut self, ticks: u64) -> u32 {
        let ticks = ticks - u64::from(u32::MAX);
        let cause = Cause::Branch;
        self.records.push(Record::Spent { cause, ticks });
        u32::MAX
    }

    /// Rounds of an idle loop, each of so many ticks, are passed over.
    pub fn rounds(&mut self, instructions: u64, rounds: u64, round_ticks: u64) {
        self.tick += rounds * round_ticks;
        self.records.push(Record::Rounds {
            instructions: u32::try_from(instructions).unwrap_or(u32::MAX),
            rounds,
        });
    }

    /// The core is in turn: it goes back to here at most.
    pub fn mark(&mut self) {
        self.mark = (self.records.len(), self.tick);
    }

    /// The core goes back to the mark. What stands in memory stays there.
    pub fn go_back(&mut self) {
        let (length, tick) = self.mark;
        let undone = self.records.split_off(length.min(self.records.len()));
        let words = undone
            .into_iter()
            .filter(|record| matches!(record, Record::Word { .. }));
        self.records.extend(words);
        self.tick = tick;
    }

    /// What was recorded. Nothing of it can be taken back any more.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        self.records.clear();
        self.mark.0 = 0;
    }
}
