//! The CPUs of a board.

use std::fmt;
use std::sync::Arc;

use defs::probe::END_BREAK;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_cpu::architecture::Architecture;
use emulator_cpu::bus::FaultKind;
use emulator_state::value_enum;

/// A CPU of a board: its index in the [board's list](super::Inspect::cpus).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CpuId(u8);

impl CpuId {
    /// The CPU with this index. No board has more than 256.
    #[must_use]
    #[inline]
    pub const fn new(index: usize) -> Self {
        assert!(index < 256);
        Self(index as u8)
    }

    /// Index.
    #[must_use]
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Constant properties of a CPU.
#[derive(Debug, Clone, Copy)]
pub struct CpuInfo {
    /// Display name: `CPU A`.
    pub name: &'static str,
    /// The name in commands and files: `a`.
    pub letter: &'static str,
    /// The name as an initiator: `cpu_a`.
    pub id: &'static str,
    /// Initiator of its accesses.
    pub initiator: Initiator,
    /// Instruction set.
    pub architecture: &'static dyn Architecture,
}

/// Reason why a CPU stopped by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The CPU executed a `break`.
    Break {
        /// The [number](emulator_cpu::exit::break_number) that the instruction names.
        code: u32,
    },
    /// The CPU could not execute an instruction.
    Fault(Arc<str>, FaultKind),
}

impl StopReason {
    /// Whether firmware ends on purpose in this way.
    #[must_use]
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Break { code: END_BREAK })
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Break { code: END_BREAK } => f.write_str("the end of the program"),
            Self::Break { code } => write!(f, "break {code}"),
            Self::Fault(fault, _) => f.write_str(fault),
        }
    }
}

value_enum!(StopReason { Break { code: code }, Fault { 0: text, 1: kind } });

/// Execution state of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuState {
    /// The CPU executes instructions.
    Running,
    /// The CPU repeats an idle loop until an event comes.
    Idle,
    /// The CPU was halted, or never started.
    Halted,
    /// The CPU stopped by itself.
    Stopped(StopReason),
}

impl CpuState {
    /// Whether the CPU executes instructions, including those of an idle loop.
    #[must_use]
    pub const fn executes(&self) -> bool {
        matches!(self, Self::Running | Self::Idle)
    }

    /// Reason why it stopped by itself, if it did.
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
            Self::Stopped(reason @ StopReason::Break { .. }) => write!(f, "stopped by {reason}"),
            Self::Stopped(reason) => write!(f, "stopped: {reason}"),
        }
    }
}

/// State of a CPU at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuView {
    /// Execution state.
    pub state: CpuState,
    /// Address of the next instruction.
    pub pc: u32,
    /// Address of the instruction after `pc`, unless that is a jump: in a delay slot, the jump's target.
    pub next_pc: u32,
    /// The instruction to blame, if the CPU stopped by itself: the one at `pc`, or the call that led where no code is.
    pub blamed: u32,
    /// Number of executed instructions.
    pub instructions: u64,
    /// Cycles of its own work.
    pub cycles: u64,
    /// Local time: start of the instruction at `pc`, or start of the wait before it.
    pub time: SimTime,
    /// Whether the instruction at `pc` was fetched and is not executed yet: then `time` is the end of its fetch.
    pub is_fetched: bool,
    /// Shortest time between the starts of two instructions.
    pub cycle_time: SimTime,
    /// Total time in which it was neither halted nor idle.
    pub busy_time: SimTime,
    /// Ticks ([`TICKS_PER_CYCLE`](emulator_cpu::clock::TICKS_PER_CYCLE) a cycle) that it spent idle.
    pub idle_ticks: u64,
    /// Current protocol stage, by index, and whether it waits there.
    pub stage: Option<(usize, bool)>,
}

impl CpuView {
    /// Whether the next instruction is in the delay slot of a taken jump.
    #[must_use]
    pub const fn in_delay_slot(&self) -> bool {
        self.next_pc != self.pc.wrapping_add(4)
    }
}
