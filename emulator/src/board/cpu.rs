//! The CPUs of a board.

use std::fmt;
use std::sync::Arc;

use crate::cpu::architecture::Architecture;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::value_enum;

/// A CPU of a board: its index in the [board's list](super::Inspect::cpus).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CpuId(u8);

impl CpuId {
    /// The CPU with this index. No board has more than 256.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        assert!(index < 256);
        Self(index as u8)
    }

    /// Its index.
    #[must_use]
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What stays true of a CPU.
#[derive(Debug, Clone, Copy)]
pub struct CpuInfo {
    /// The name for people: `CPU A`.
    pub name: &'static str,
    /// The name in commands and files: `a`.
    pub letter: &'static str,
    /// Who acts when it does.
    pub initiator: Initiator,
    /// Its instruction set.
    pub architecture: &'static dyn Architecture,
}

/// Why a CPU stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It executed a `break`.
    Break {
        /// The instruction's code field.
        code: u32,
    },
    /// It could not execute an instruction.
    Fault(Arc<str>),
}

value_enum!(StopReason { Break { code: code }, Fault { 0: text } });

/// What a CPU is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuState {
    /// It executes instructions.
    Running,
    /// It executes the same loop again and again until an event comes.
    Idle,
    /// It was halted, or never started.
    Halted,
    /// It stopped by itself.
    Stopped(StopReason),
}

impl CpuState {
    /// Whether it executes instructions, of an idle loop too.
    #[must_use]
    pub const fn executes(&self) -> bool {
        matches!(self, Self::Running | Self::Idle)
    }

    /// Why it stopped by itself, if it did.
    #[must_use]
    pub const fn stopped(&self) -> Option<&StopReason> {
        match self {
            Self::Stopped(reason) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for CpuState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => f.write_str("running"),
            Self::Idle => f.write_str("idle"),
            Self::Halted => f.write_str("halted"),
            Self::Stopped(StopReason::Break { code }) => write!(f, "stopped by break {code}"),
            Self::Stopped(StopReason::Fault(fault)) => write!(f, "stopped: {fault}"),
        }
    }
}

/// A CPU at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuView {
    /// What it is doing.
    pub state: CpuState,
    /// The instruction that it executes next.
    pub pc: u32,
    /// The instruction that comes behind that one, unless that is a jump: a jump's target in a delay slot.
    pub next_pc: u32,
    /// Instructions that it has executed.
    pub instructions: u64,
    /// Cycles of its own work.
    pub cycles: u64,
    /// Its own time: when it begins the instruction at `pc`, or when it began to wait before it.
    pub time: SimTime,
    /// It begins no two instructions within this time.
    pub cycle_time: SimTime,
    /// For how long it has been neither halted nor idle.
    pub busy_time: SimTime,
    /// The protocol stage that it is in, by index, and whether it waits there.
    pub stage: Option<(usize, bool)>,
}

impl CpuView {
    /// Whether a jump was taken and its delay slot comes now.
    #[must_use]
    pub const fn in_delay_slot(&self) -> bool {
        self.next_pc != self.pc.wrapping_add(4)
    }
}
