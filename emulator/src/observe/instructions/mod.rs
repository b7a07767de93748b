//! Log of every executed instruction, with its time.
//!
//! A core's [`Record`]s account for its whole clock: the durations of all instructions and waits add up to
//! the clock's reading, so that every instruction's start is known to the tick. [`encode`] writes them with
//! a few bits per instruction, and [`decode`] reads them.

pub mod decode;
pub mod encode;
pub mod steps;
pub mod trace;

/// Cause of time spent in addition to an instruction's own cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A taken branch, or an annulled delay slot.
    Branch,
    /// An instruction cache line fill.
    Fetch,
    /// Contention for the SRAM bus.
    Contention,
    /// SRAM latency.
    Sram,
    /// Scratchpad latency.
    Scratchpad,
    /// Latency of a register, or of an unmapped address.
    Register,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 6] = [
        Self::Branch,
        Self::Fetch,
        Self::Contention,
        Self::Sram,
        Self::Scratchpad,
        Self::Register,
    ];

    /// Name in tables.
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

/// One record of a core's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Board parameters.
    Board {
        /// Clock rate, in ticks per second.
        ticks_per_second: u64,
        /// Size of SRAM; addresses repeat modulo this size.
        sram_bytes: u32,
    },
    /// Sets the clock: the core did not run until now.
    Clock {
        /// Clock reading.
        tick: u64,
    },
    /// Content of an instruction word from now on.
    Word {
        /// Its address.
        address: u32,
        /// Its word.
        word: u32,
    },
    /// Time of the next instruction in addition to its own cycles.
    Spent {
        /// Cause of the time.
        cause: Cause,
        /// Ticks.
        ticks: u64,
    },
    /// An instruction.
    Executed {
        /// Its address.
        pc: u32,
        /// Duration of its own cycles.
        ticks: u32,
    },
    /// The core passed the probes at this address.
    Probe {
        /// The address.
        pc: u32,
    },
    /// The last instructions were one round of an idle loop, equal to the round before.
    Idle {
        /// Number of instructions.
        instructions: u32,
    },
    /// Skipped rounds of the idle loop. Each repeats the instructions before this record with equal
    /// durations.
    Rounds {
        /// Instructions per round.
        instructions: u32,
        /// Number of rounds.
        rounds: u64,
    },
}

/// Log of a core's instructions, while an observer requests it.
#[derive(Debug, Default)]
pub struct InstructionLog {
    records: Vec<Record>,
    /// Clock after the last record.
    tick: u64,
    /// Clock rate, in ticks per second.
    ticks_per_second: u64,
    /// Number of records, and clock, at the core's last rollback point.
    mark: (usize, u64),
}

impl InstructionLog {
    /// Adds a record that takes no time.
    #[inline]
    pub fn note(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Starts the log of a core of a board with this clock rate and SRAM size.
    pub fn board(&mut self, ticks_per_second: u64, sram_bytes: u32) {
        self.ticks_per_second = ticks_per_second;
        self.records.push(Record::Board {
            ticks_per_second,
            sram_bytes,
        });
    }

    /// Clock after the last record.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// Clock rate, in ticks per second; 0 while the log is empty.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// The core starts to run at `tick`.
    #[inline]
    pub fn begins(&mut self, tick: u64) {
        if tick != self.tick {
            self.tick = tick;
            self.records.push(Record::Clock { tick });
        }
    }

    /// Adds time spent for `cause`.
    #[inline]
    pub fn spent(&mut self, cause: Cause, ticks: u64) {
        if ticks > 0 {
            self.tick += ticks;
            self.records.push(Record::Spent { cause, ticks });
        }
    }

    /// Adds an executed instruction.
    #[inline]
    pub fn executed(&mut self, pc: u32, ticks: u64) {
        self.tick += ticks;
        let ticks = match u32::try_from(ticks) {
            Ok(ticks) => ticks,
            Err(_) => self.long(ticks),
        };
        self.records.push(Record::Executed { pc, ticks });
    }

    /// Splits an instruction that is too long for one record.
    #[cold]
    fn long(&mut self, ticks: u64) -> u32 {
        let ticks = ticks - u64::from(u32::MAX);
        let cause = Cause::Branch;
        self.records.push(Record::Spent { cause, ticks });
        u32::MAX
    }

    /// Adds skipped rounds of an idle loop.
    pub fn rounds(&mut self, instructions: u64, rounds: u64, round_ticks: u64) {
        self.tick += rounds * round_ticks;
        self.records.push(Record::Rounds {
            instructions: u32::try_from(instructions).unwrap_or(u32::MAX),
            rounds,
        });
    }

    /// Sets the rollback point.
    pub fn mark(&mut self) {
        self.mark = (self.records.len(), self.tick);
    }

    /// Rolls back to the last rollback point. Recorded instruction words stay.
    pub fn go_back(&mut self) {
        let (length, tick) = self.mark;
        let undone = self.records.split_off(length.min(self.records.len()));
        let words = undone
            .into_iter()
            .filter(|record| matches!(record, Record::Word { .. }));
        self.records.extend(words);
        self.tick = tick;
    }

    /// The records. They cannot be rolled back after this call.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Clears the log.
    pub fn clear(&mut self) {
        self.records.clear();
        self.mark.0 = 0;
    }
}
