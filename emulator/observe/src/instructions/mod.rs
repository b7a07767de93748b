//! Log of every executed instruction, with its time.
//!
//! A core's [`Record`]s account for its whole clock: the durations of all instructions and waits add up to
//! the clock's reading, so that every instruction's start is known to the tick. [`encode`] writes them with
//! a few bits per instruction, and [`decode`] reads them.

mod cursor;
pub mod decode;
pub mod encode;
mod log;
pub mod steps;

pub use log::{InstructionLog, Standing};

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

/// A record of a core's log.
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
        /// Address of the instruction.
        address: u32,
        /// Word of the instruction.
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
        /// Address of the instruction.
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
