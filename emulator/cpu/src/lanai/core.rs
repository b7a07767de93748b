//! A core's state: registers, program counter, flags, values on their way, clock and counts.

use super::op::{NOWHERE, Op};
use super::pipeline::{ISR, ONES, PC, PS, PcValue, Pipeline, ZERO};
use crate::clock::{CpuClock, TICKS_PER_CYCLE};
use crate::exit::Exit;
use crate::shell::Shell;
use emulator_state::state;

/// Cycles that a core charges for its own work. Its bus charges further cycles for accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreTiming {
    /// Each executed instruction: 1 at least.
    pub instruction_cycles: u32,
    /// An instruction that reads the register loaded by the one before it, on top, if the pipeline is interlocked.
    pub load_use_cycles: u32,
}

impl Default for CoreTiming {
    fn default() -> Self {
        Self {
            instruction_cycles: 1,
            load_use_cycles: 1,
        }
    }
}

/// Registers have 32 places; results for constant registers go to a place behind them. The rest lets any
/// byte of an [`Op`] be an index that needs neither a check nor a mask.
const PLACES: usize = 256;

/// The place of a loaded processor status that is on its way: such a value is no plain register's.
const STATUS_PLACE: u8 = NOWHERE + 1;

/// The place for the address of the last instruction that wrote the program counter.
pub(super) const JUMPED_FROM: usize = 40;

/// The registers with the places behind them.
pub(super) type Registers = [u32; PLACES];

/// Loaded values on their way to registers: place and value. The first one arrives with the instruction that comes now.
pub(super) type Arrivals = [(u8, u32); 2];

/// No values.
const NOTHING: Arrivals = [(NOWHERE, 0); 2];

/// Addresses of the instructions that come after the one at the program counter, where a jump determines them. Elsewhere
/// an instruction follows its predecessor in memory.
pub(super) type Path = [Option<u32>; Pipeline::MAX_SLOTS as usize];

/// A LANai core.
#[derive(Debug, Clone)]
#[repr(C)] // The registers come first: their address is the core's. What each run reads stands side by side.
pub struct Core {
    registers: Registers,
    pipeline: Pipeline,
    /// The exit that [`Pause::Exit`](crate::exit::Pause::Exit) stands for, until it is taken.
    exit: Option<Exit>,
    /// The core's local time.
    pub clock: CpuClock,
    /// Cycles that the core charges for its own work.
    pub timing: CoreTiming,
    instructions: u64,
    /// An instruction that was fetched, and whose probe was delivered, but whose access must wait.
    pub(super) held: Option<Op>,
    pc: u32,
    flags: u32,
    path: Path,
    arrivals: Arrivals,
    /// The register that the last instruction loaded, if the pipeline is interlocked; else `NOWHERE`.
    loaded: u8,
}

// An exit is taken before the core comes to rest.
state!(Core {
    registers, clock, pc, path, flags, arrivals, loaded, instructions, held
} fixed { timing, pipeline, exit });

impl Default for Core {
    fn default() -> Self {
        Self::new(Pipeline::LLVM)
    }
}

impl Shell for Core {
    #[inline(always)]
    fn clock(&self) -> &CpuClock {
        &self.clock
    }

    #[inline(always)]
    fn instructions(&self) -> u64 {
        self.instructions
    }

    #[inline(always)]
    fn exit_mut(&mut self) -> &mut Option<Exit> {
        &mut self.exit
    }
}

impl Core {
    /// A core with this pipeline. Slots beyond [`Pipeline::MAX_SLOTS`], and beyond 2 for loads, count as that many.
    #[must_use]
    pub fn new(mut pipeline: Pipeline) -> Self {
        pipeline.load_slots = pipeline.load_slots.min(2);
        for slots in [
            &mut pipeline.branch_slots,
            &mut pipeline.pc_write_slots,
            &mut pipeline.pc_load_slots,
        ] {
            *slots = (*slots).min(Pipeline::MAX_SLOTS);
        }
        let mut registers = [0; PLACES];
        registers[ONES as usize] = u32::MAX;
        Self {
            clock: CpuClock::default(),
            timing: CoreTiming::default(),
            registers,
            pipeline,
            pc: 0,
            path: Path::default(),
            flags: 0,
            arrivals: NOTHING,
            loaded: NOWHERE,
            instructions: 0,
            held: None,
            exit: None,
        }
    }

    /// The pipeline.
    #[must_use]
    pub const fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Continues at `pc`; registers keep their values. Jumps and loaded values on their way are
    /// forgotten.
    pub fn start_at(&mut self, pc: u32) {
        self.pc = pc & !3;
        self.path = Path::default();
        self.arrivals = NOTHING;
        self.loaded = NOWHERE;
        self.held = None;
    }

    /// Resets registers and flags, and continues at address 0.
    pub fn reset(&mut self) {
        self.registers = [0; PLACES];
        self.registers[ONES as usize] = u32::MAX;
        self.flags = 0;
        self.start_at(0);
    }

    /// Address of the instruction that comes now.
    #[must_use]
    #[inline(always)]
    pub const fn pc(&self) -> u32 {
        self.pc
    }

    /// Address of the instruction that comes after the one at [`pc`](Self::pc), unless that is a jump without slots.
    #[must_use]
    #[inline(always)]
    pub const fn next_pc(&self) -> u32 {
        match self.path[0] {
            Some(address) => address,
            None => self.pc.wrapping_add(4),
        }
    }

    /// Whether the instruction that comes now stands in a slot of a jump that was taken.
    #[must_use]
    pub fn in_taken_slot(&self) -> bool {
        self.path != Path::default()
    }

    /// Whether loaded values are on their way to registers.
    #[must_use]
    pub fn has_arrivals(&self) -> bool {
        self.arrivals.iter().any(|&(place, _)| place != NOWHERE)
    }

    /// Whether the next instruction was fetched: its execution must wait.
    #[must_use]
    pub const fn is_fetched(&self) -> bool {
        self.held.is_some()
    }

    /// Instructions executed so far.
    #[must_use]
    pub const fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The flags: bits Z, N, V and C ([`ZERO_FLAG`](super::alu::ZERO_FLAG), ...).
    #[must_use]
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// Sets the flags.
    pub const fn set_flags(&mut self, flags: u32) {
        self.flags = flags & 15;
    }

    /// The value of register `index`, of which the low five bits count: what an instruction would read, but for the
    /// interrupt status, which the board knows.
    #[must_use]
    pub const fn register(&self, index: usize) -> u32 {
        match (index & 31) as u8 {
            PC => self.pc_value(),
            PS if self.pipeline.status_register => self.flags,
            _ => self.registers[index & 31],
        }
    }

    /// The values of all registers; 0 for those that are no plain storage, which [`register`](Self::register) knows.
    #[must_use]
    pub fn registers(&self) -> &[u32] {
        &self.registers[..32]
    }

    /// Address of the last instruction that wrote the program counter, which a return does.
    #[must_use]
    pub const fn jumped_from(&self) -> u32 {
        self.registers[JUMPED_FROM]
    }

    /// Sets register `index`, of which the low five bits count. Constant registers stay; a value for the program counter
    /// [starts](Self::start_at) the core there.
    pub fn set_register(&mut self, index: usize, value: u32) {
        match (index & 31) as u8 {
            ZERO | ONES => {}
            PC => self.start_at(value),
            PS if self.pipeline.status_register => self.set_flags(value),
            _ => self.registers[index & 31] = value,
        }
    }

    /// The value that an instruction reads as the program counter.
    pub(super) const fn pc_value(&self) -> u32 {
        match self.pipeline.pc_value {
            PcValue::Own => self.pc,
            PcValue::Next => self.next_pc(),
        }
    }

    /// Passes over `instructions` that the board knows to leave the core as it is: an idle loop.
    pub fn skip(&mut self, instructions: u64, cycles: u64, ticks: u64) {
        if instructions > 0 {
            // It is fetched again, behind what has used the bus meanwhile.
            self.held = None;
        }
        self.instructions += instructions;
        self.clock.cycles += cycles;
        self.clock.now += ticks;
        // The loop has waited for the rest of its time.
        let own = cycles.saturating_mul(self.clock.ticks_per_cycle);
        self.clock.stalled += ticks.saturating_sub(own);
    }

    /// Everything that the next instructions depend on, but for memory: an idle loop returns to it.
    #[must_use]
    pub fn same_position(&self, other: &Self) -> bool {
        self.registers[..32] == other.registers[..32]
            && self.pc == other.pc
            && self.path == other.path
            && self.flags == other.flags
            && self.arrivals == other.arrivals
            && self.loaded == other.loaded
            && self.held == other.held
    }

    /// A checksum of registers and flags: equal for equal ones.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mix = |sum: u64, &register: &u32| {
            (sum.rotate_left(5) ^ u64::from(register)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        self.registers[..32].iter().fold(u64::from(self.flags), mix)
    }
}

/// Execution of one instruction at a time: general, for all pipelines.
impl Core {
    #[inline(always)]
    pub(super) const fn places(&self) -> &Registers {
        &self.registers
    }

    /// Puts the values of registers that are no plain storage into their places. `status` is that of the board.
    pub(super) const fn load_specials(&mut self, status: Option<u32>) {
        self.registers[PC as usize] = self.pc_value();
        if self.pipeline.status_register {
            self.registers[PS as usize] = self.flags;
        }
        if let Some(status) = status {
            self.registers[ISR as usize] = status;
        }
    }

    /// Clears the places of registers that are no plain storage, so that equal cores have equal state.
    pub(super) const fn forget_specials(&mut self) {
        self.registers[PC as usize] = 0;
        if self.pipeline.status_register {
            self.registers[PS as usize] = 0;
        }
        if self.pipeline.interrupt_register {
            self.registers[ISR as usize] = 0;
        }
    }

    /// The register loaded by the last instruction. After that its value has arrived.
    pub(super) const fn take_loaded(&mut self) -> u8 {
        std::mem::replace(&mut self.loaded, NOWHERE)
    }

    /// Lets loaded values arrive that are due now.
    pub(super) const fn let_arrive(&mut self) {
        let (place, value) = self.arrivals[0];
        self.arrivals = [self.arrivals[1], (NOWHERE, 0)];
        match place {
            STATUS_PLACE => self.flags = value & 15,
            _ => self.registers[place as usize] = value,
        }
        self.registers[NOWHERE as usize] = 0;
    }

    /// Writes a result of the instruction at `from`. The interrupt status is written by the board.
    pub(super) fn write(&mut self, register: u8, value: u32, from: u32) {
        match register {
            ZERO | ONES => {}
            PC => {
                self.registers[JUMPED_FROM] = from;
                self.jump(value, self.pipeline.pc_write_slots);
            }
            PS if self.pipeline.status_register => self.flags = value & 15,
            ISR if self.pipeline.interrupt_register => {}
            _ => self.registers[register as usize] = value,
        }
    }

    /// Writes the flags of a result.
    pub(super) const fn write_flags(&mut self, flags: u32) {
        self.flags = flags;
    }

    /// Sends a value, which the instruction at `from` has loaded, to its register.
    pub(super) fn receive(&mut self, register: u8, value: u32, from: u32) {
        let place = match register {
            PC => {
                self.registers[JUMPED_FROM] = from;
                return self.jump(value, self.pipeline.pc_load_slots);
            }
            PS if self.pipeline.status_register => STATUS_PLACE,
            _ => register,
        };
        match self.pipeline.load_slots {
            0 if place == STATUS_PLACE => self.flags = value & 15,
            0 => {
                self.registers[place as usize] = value;
                self.loaded = place;
            }
            slots => self.arrivals[usize::from(slots - 1) & 1] = (place, value),
        }
    }

    /// Determines the instruction after `slots` more. The instruction that comes now is over already, so `path[0]`
    /// belongs to the one after the next.
    pub(super) fn jump(&mut self, target: u32, slots: u8) {
        let target = target & !3;
        match slots {
            0 => self.pc = target,
            slots => self.path[usize::from(slots) - 1] = Some(target),
        }
        self.simplify();
    }

    /// Moves the program counter to the next instruction. Jumps are carried out after that.
    pub(super) fn advance(&mut self) {
        self.pc = self.next_pc();
        self.path.rotate_left(1);
        self.path[Pipeline::MAX_SLOTS as usize - 1] = None;
        self.simplify();
    }

    /// Forgets targets that are the next instruction in memory anyway, so that equal cores have equal state.
    fn simplify(&mut self) {
        let mut before = self.pc;
        for step in &mut self.path {
            let following = before.wrapping_add(4);
            before = step.unwrap_or(following);
            if before == following {
                *step = None;
            }
        }
    }

    /// Counts and charges an executed instruction.
    pub(super) fn count(&mut self) {
        self.registers[NOWHERE as usize] = 0;
        self.instructions += 1;
        self.clock.charge(u64::from(self.timing.instruction_cycles));
    }

    /// Charges the wait for a loaded value.
    pub(super) fn charge_load_use(&mut self) {
        self.clock.charge(u64::from(self.timing.load_use_cycles));
    }
}

/// Position and counts within a stretch of instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunPosition {
    pub pc: u32,
    pub next: u32,
    pub third: u32,
    pub flags: u32,
    pub arrivals: Arrivals,
    pub loaded: u8,
}

/// Stretches of instructions.
impl Core {
    /// The position, if a stretch can begin here: at most two instructions are determined by jumps, and no status is on
    /// its way.
    #[inline(always)]
    pub(super) fn position(&self) -> Option<RunPosition> {
        let status = self.arrivals[0].0 == STATUS_PLACE || self.arrivals[1].0 == STATUS_PLACE;
        if status || self.path[2].is_some() {
            return None;
        }
        let next = self.next_pc();
        Some(RunPosition {
            pc: self.pc,
            next,
            third: self.path[1].unwrap_or(next.wrapping_add(4)),
            flags: self.flags,
            arrivals: self.arrivals,
            loaded: self.loaded,
        })
    }

    /// Takes over the end of a stretch of instructions. `cycles` of work, and `stalled` ones.
    #[inline(always)]
    pub(super) fn end(
        &mut self,
        position: &RunPosition,
        cycles: u64,
        stalled: u64,
        instructions: u64,
    ) {
        let RunPosition {
            pc, next, third, ..
        } = *position;
        self.registers[NOWHERE as usize] = 0;
        self.pc = pc;
        self.path = [
            (next != pc.wrapping_add(4)).then_some(next),
            (third != next.wrapping_add(4)).then_some(third),
            None,
        ];
        self.flags = position.flags;
        self.arrivals = position.arrivals;
        self.loaded = position.loaded;
        self.instructions += instructions;
        self.clock.charge(cycles);
        let tick = self.clock.now + stalled * TICKS_PER_CYCLE;
        self.clock.stall_until(tick);
    }

    /// The registers with the places behind them, and what instructions cost.
    #[inline(always)]
    pub(super) const fn parts(&mut self) -> (&mut Registers, &CoreTiming, &Pipeline) {
        (&mut self.registers, &self.timing, &self.pipeline)
    }
}
