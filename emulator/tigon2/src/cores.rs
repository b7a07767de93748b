//! The cores of the board and their control registers (docs/tigon2.md, section 1).

use defs::tigon2::banks::{self, event_register, timer_reference};
use defs::tigon2::map::{SRAM_LIMIT, STACK_MAP_MASK};
use defs::tigon2::regs as r;
use defs::tigon2::regs::CpuState;

use super::cpus::{CpuPlan, Viewer, scratchpad_bytes};
use super::icache::InstructionCache;
use super::inspect::handlers::Dispatch;
use super::run::ahead::RunAhead;
use super::run::idle::IdleDetector;
use super::scratchpad::Scratchpad;
use super::sram::Sram;
use emulator_base::initiator::Initiator;
use emulator_board::StopReason;
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::exec::Core;
use emulator_observe::instructions::InstructionLog;
use emulator_state::state;

/// A core's private memory and state.
#[derive(Debug)]
pub struct CorePrivate {
    /// The core as initiator.
    pub who: Initiator,
    index: usize,
    cpus: CpuPlan,
    /// Offset of the core's event register.
    pub(super) event_register: u32,
    /// Offset of the core's alarm.
    pub(super) alarm: u32,
    /// The core's scratchpad.
    pub scratchpad: Scratchpad,
    /// The core's instruction cache.
    pub(super) cache: InstructionCache,
    /// The code in SRAM that the core has executed ahead of the others.
    pub(super) ahead: RunAhead,
    /// Recognises an idle loop.
    pub(super) idle: IdleDetector,
    /// The core's position in the dispatch loop, while an observer records handlers.
    pub(super) dispatch: Dispatch,
    /// State register.
    state: u32,
    /// Single step: the core halts once it has executed this many instructions.
    pub(super) step_until: Option<u64>,
    /// Stack-overflow map register.
    pub(super) stack_map: u32,
    scratch_address: u32,
    /// Another CPU has used this one's debug registers since it was started, or `SCRATCH_ADDRESS` points into the
    /// scratchpad: it executes in turn.
    observed: bool,
    /// Tick up to which its being ahead has been recorded.
    pub(super) seen_ahead_until: u64,
    /// Number of its first instructions that are known to have been executed in turn.
    pub(super) in_turn_until: u64,
    /// Reason why it stopped, until it is started again.
    pub(super) stopped: Option<StopReason>,
    /// The instruction to blame for it, if it is not the one before which the core stands.
    pub(super) blamed: Option<u32>,
}

state!(CorePrivate {
    scratchpad,
    cache,
    ahead,
    idle,
    state,
    step_until,
    stack_map,
    scratch_address,
    observed,
    seen_ahead_until,
    in_turn_until,
    stopped,
    blamed
} fixed { who, index, cpus, event_register, alarm, dispatch });

impl CorePrivate {
    /// SRAM address of an access to the stack-overflow map (docs/tigon2.md, section 1). Its base counts words, so that
    /// an aligned access stays aligned.
    pub(super) const fn stack_address(&self, address: u32) -> u32 {
        address.wrapping_sub(self.stack_map & !3) & STACK_MAP_MASK
    }

    /// Halted, with an empty cache.
    #[must_use]
    pub fn new(index: usize, cpus: CpuPlan, cache_bytes: u32) -> Self {
        Self {
            who: Initiator::Cpu(index as u8),
            index,
            cpus,
            event_register: event_register(index),
            alarm: timer_reference(index),
            scratchpad: Scratchpad::new(scratchpad_bytes(index)),
            cache: InstructionCache::new(cache_bytes),
            ahead: RunAhead::default(),
            idle: IdleDetector::default(),
            dispatch: Dispatch::default(),
            state: CpuState::HALT.bits(),
            step_until: None,
            stack_map: 0,
            scratch_address: 0,
            observed: false,
            seen_ahead_until: 0,
            in_turn_until: 0,
            stopped: None,
            blamed: None,
        }
    }

    /// Index in per-core tables: 0 = A.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The core as it accesses addresses.
    #[must_use]
    #[inline(always)]
    pub const fn viewer(&self) -> Viewer {
        Viewer {
            who: self.who,
            cpus: self.cpus,
        }
    }

    /// Ticks spent idle so far.
    #[must_use]
    pub const fn idle_ticks(&self) -> u64 {
        self.idle.idle_ticks()
    }

    /// Whether the core repeats a round or a period of its idle loop.
    #[must_use]
    #[inline(always)]
    pub const fn does_nothing(&self) -> bool {
        self.idle.idle().is_some() || self.idle.rest().is_some()
    }

    /// Whether the core executes instructions.
    #[must_use]
    #[inline(always)]
    pub const fn running(&self) -> bool {
        self.state & CpuState::HALT.union(CpuState::RESET).bits() == 0
    }

    /// Address accessed by `SCRATCH_DATA`.
    pub(super) const fn scratch_address(&self) -> u32 {
        self.scratch_address & !3
    }

    /// Whether its accesses to its scratchpad may be seen: it executes in turn.
    #[inline(always)]
    pub(super) const fn observed(&self) -> bool {
        self.observed
    }

    /// Notes that another CPU uses this one's debug registers.
    pub(super) const fn observe(&mut self) {
        self.observed = self.running();
    }

    /// Whether `SCRATCH_DATA` shows a word of the scratchpad.
    const fn shows_scratchpad(&self) -> bool {
        self.scratch_address() >= SRAM_LIMIT
    }

    /// Halts the core.
    pub(super) fn halt(&mut self) {
        self.state |= CpuState::HALT.bits();
        self.step_until = None;
        self.idle.wake();
    }
}

/// A core with its private memory and state.
#[derive(Debug)]
#[repr(C)] // The core comes first: its registers are at the address of the whole.
pub struct CoreUnit {
    /// The core.
    pub core: Core,
    /// Private memory and state of the core.
    pub private: CorePrivate,
}

state!(CoreUnit { core, private });

impl CoreUnit {
    /// Confirms all executed instructions: no other actor is due before the core's time.
    pub(super) fn settle(&mut self) {
        self.private.ahead.settle();
        self.private.in_turn_until = self.core.instructions();
    }

    /// Rolls the core back to its checkpoint, if it is ahead; up to `tick` it continues in turn.
    pub(super) fn go_back(&mut self, log: Option<&mut InstructionLog>, tick: u64) {
        self.private.ahead.go_back(&mut self.core, log, tick);
    }
}

/// Effect of a write to a control register on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlEffect {
    /// No further effect.
    Stored,
    /// The core was released.
    Started,
    /// The core was halted.
    Halted,
    /// The core halts after its next instruction.
    Stepped,
    /// No effect: the core runs.
    Running,
    /// No effect: the register is read only.
    ReadOnly,
}

/// The registers that belong to CPU B alone.
const B_PRIVATE: u32 = r::CPU_B + r::CPU_PRIVATE;
const B_PRIVATE_END: u32 = r::CPU_B + r::CPU_PRIVATE_END;

/// Whether a register belongs to the cores, and to which (0 = A).
#[must_use]
pub const fn owner_of(offset: u32) -> Option<usize> {
    match offset {
        r::CPU_PRIVATE..r::CPU_PRIVATE_END => Some(0),
        B_PRIVATE..B_PRIVATE_END => Some(1),
        _ => match banks::in_bank(offset) {
            Some((cpu, banks::PRIVATE..)) => Some(cpu),
            _ => None,
        },
    }
}

/// Reads a control register of the core; `offset` as for CPU A.
#[must_use]
pub fn read_control(core: &Core, private: &CorePrivate, sram: &Sram, offset: u32) -> Option<u32> {
    Some(match offset {
        r::CPU_STATE => private.state,
        r::CPU_PC => core.pc(),
        r::STACK_MAP => private.stack_map,
        r::SCRATCH_ADDRESS => private.scratch_address,
        r::SCRATCH_DATA => match private.scratch_address() {
            address @ ..SRAM_LIMIT => sram.word(address),
            address => private.scratchpad.read(address, Width::Word),
        },
        r::CPU_REGISTERS..r::CPU_PRIVATE_END => {
            core.register(((offset - r::CPU_REGISTERS) / 4) as usize)
        }
        _ => return None,
    })
}

/// Writes a control register of the core; `None` when it is plain storage.
pub fn write_control(
    core: &mut Core,
    private: &mut CorePrivate,
    sram: &mut Sram,
    offset: u32,
    value: u32,
) -> Option<ControlEffect> {
    match offset {
        r::CPU_STATE => {
            let was_running = private.running();
            private.state = value & !CpuState::ROM_FAIL.bits();
            if private.index >= private.cpus.count() {
                // A unit without a CPU.
                private.state |= CpuState::HALT.bits();
            }
            let running = private.running();
            let step = running && value & CpuState::STEP.bits() != 0;
            private.step_until = step.then(|| core.instructions() + 1);
            Some(match (was_running, running) {
                (false, true) => {
                    private.observed = private.shows_scratchpad();
                    private.in_turn_until = core.instructions();
                    ControlEffect::Started
                }
                (true, false) => {
                    private.idle.wake();
                    ControlEffect::Halted
                }
                (true, true) if step => {
                    private.idle.wake();
                    ControlEffect::Stepped
                }
                _ => ControlEffect::Stored,
            })
        }
        r::CPU_PC if private.running() => Some(ControlEffect::Running),
        r::CPU_PC => {
            core.start_at(value);
            private.dispatch = Dispatch::default();
            Some(ControlEffect::Stored)
        }
        r::STACK_MAP => {
            private.stack_map = value;
            Some(ControlEffect::Stored)
        }
        r::SCRATCH_ADDRESS => {
            private.scratch_address = value;
            private.observed |= private.running() && private.shows_scratchpad();
            Some(ControlEffect::Stored)
        }
        r::SCRATCH_DATA => {
            match private.scratch_address() {
                address @ ..SRAM_LIMIT => sram.set_word(address, value),
                address => private.scratchpad.write(address, Width::Word, value),
            }
            Some(ControlEffect::Stored)
        }
        r::CPU_REGISTERS..r::CPU_PRIVATE_END => Some(ControlEffect::ReadOnly),
        _ => None,
    }
}
