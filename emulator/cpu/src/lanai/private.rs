//! The fast path: instructions on plain registers and private memory.

use super::alu::{self, Computed};
use super::bus::{Bus, OwnCode, OwnMemory, Private, Width};
use super::core::{Core, JUMPED_FROM, Registers, RunPosition};
use super::exec::extend;
use super::fields::Update;
use super::kind::Kind;
use super::op::{NOWHERE, Op};
use super::pipeline::Pipeline;
use super::runs::{CycleCosts, Run};
use crate::bus::Access;
use crate::decoded::Place;
use crate::exit::FastExit;
use crate::witness::Witness;

/// State of the loop besides registers and memory, in few numbers, so that they
/// stay in registers of the host.
struct Progress {
    position: RunPosition,
    /// The cycles that are left: an instruction begins in time as long as there are any.
    left: i64,
    /// Instructions executed.
    instructions: u64,
}

/// Executes instructions from the program counter on, as long as they are private and begin before
/// `until`.
#[inline(always)]
pub(super) fn run<B: Bus>(core: &mut Core, bus: &mut B, until: u64) -> FastExit<Op> {
    let Some(position) = core.position() else {
        return FastExit::Unknown;
    };
    let mut private = bus.private(core);
    let room = core.clock.cycles_before(until.min(private.until));
    private.memory.begin(room.cast_unsigned());
    let mut progress = Progress {
        position,
        left: room,
        instructions: 0,
    };
    let cycle = core.clock.ticks_per_cycle;
    let (registers, timing, pipeline) = core.parts();
    let costs = CycleCosts {
        each: timing.instruction_cycles.max(1).into(),
        wait: timing.load_use_cycles.into(),
        cycle,
    };
    // One loop for each pipeline that real chips and compilers have.
    let loop_of = match shape(pipeline) {
        Some((0, 1)) => run_loop::<_, _, _, 0, 1>,
        Some((1, 1)) => run_loop::<_, _, _, 1, 1>,
        Some((2, 2)) => run_loop::<_, _, _, 2, 2>,
        _ => return FastExit::Unknown,
    };
    let stop = loop_of(registers, costs, &mut private, &mut progress);
    let stalled = private.memory.stalled();
    let cycles = (room - progress.left).cast_unsigned() - stalled;
    core.end(&progress.position, cycles, stalled, progress.instructions);
    stop
}

/// The slots behind a load and behind a branch. `None` if the loop does not know the slots behind a load of the program
/// counter: those of a branch and one more.
const fn shape(pipeline: &Pipeline) -> Option<(u8, u8)> {
    if pipeline.pc_load_slots == pipeline.branch_slots + 1 {
        Some((pipeline.load_slots, pipeline.branch_slots))
    } else {
        None
    }
}

/// The loop of [`run`]. `LOADS` is the number of slots behind a load, `SLOTS` behind a branch.
fn run_loop<C: OwnCode, M: OwnMemory, W: Witness, const LOADS: u8, const SLOTS: u8>(
    registers: &mut Registers,
    costs: CycleCosts,
    private: &mut Private<C, M, W>,
    progress: &mut Progress,
) -> FastExit<Op> {
    loop {
        let stop = match progress.position.is_straight() {
            true => execute_runs::<C, M, W, LOADS, SLOTS>(registers, costs, private, progress),
            false => execute_slot::<C, M, W, LOADS, SLOTS>(registers, costs, private, progress),
        };
        if let Some(stop) = stop {
            return stop;
        }
    }
}

/// Executes runs of instructions. `None` if the next instruction stands before a target and is not for this loop.
#[inline(always)]
fn execute_runs<C: OwnCode, M: OwnMemory, W: Witness, const LOADS: u8, const SLOTS: u8>(
    registers: &mut Registers,
    costs: CycleCosts,
    private: &mut Private<C, M, W>,
    progress: &mut Progress,
) -> Option<FastExit<Op>> {
    let Private {
        code,
        memory,
        witness,
        ..
    } = private;
    // Copies, whose parts are registers of the host.
    let mut at = progress.position;
    let mut run = Run::at(at.pc, &*code, progress.left, costs);
    let mut instructions = progress.instructions;
    if let Some(late) = wait::<W, LOADS>(&mut at, &mut run, costs, witness) {
        progress.leave(&run, &at, instructions, costs);
        return Some(exit_before(late));
    }
    let stop = loop {
        let Some((op, rest)) = run.next() else {
            let over = run.executed();
            if !run.follow(&*code, costs) {
                let in_time = run.left(costs) > 0;
                break Some(if in_time {
                    FastExit::Unknown
                } else {
                    FastExit::Time
                });
            }
            instructions += over;
            match wait::<W, LOADS>(&mut at, &mut run, costs, witness) {
                None => continue,
                Some(late) => break Some(exit_before(late)),
            }
        };
        let op = op.get();
        at.pc = run.address();
        let left = run.left(costs);
        let done =
            step::<M, W, LOADS, SLOTS, true>(&mut at, registers, op, costs, memory, witness, left);
        if matches!(done, StepOutcome::Unfit) {
            break Some(exit_before(op));
        }
        run.advance(rest);
        match done {
            StepOutcome::Unfit | StepOutcome::Straight => {}
            StepOutcome::Waited(cycles) => run.spend(cycles.into(), costs),
            StepOutcome::Loaded(cycles) => {
                run.spend(cycles.into(), costs);
                if let Some(late) = wait::<W, LOADS>(&mut at, &mut run, costs, witness) {
                    break Some(exit_before(late));
                }
            }
            StepOutcome::Jump {
                target,
                slots,
                cycles,
            } => {
                run.spend(cycles.into(), costs);
                if !run.jump(target, slots, costs) {
                    break None;
                }
            }
        }
    };
    progress.leave(&run, &at, instructions, costs);
    stop
}

impl Progress {
    /// Leaves a run before its next instruction; so many were executed before it.
    #[inline(always)]
    fn leave(&mut self, run: &Run<'_>, at: &RunPosition, before: u64, costs: CycleCosts) {
        self.instructions = before + run.executed();
        self.left = run.left(costs);
        self.position = *at;
        run.store_position(&mut self.position);
    }
}

/// Executes an instruction that stands before a target.
///
/// Kept out of the loop, whose numbers would not fit into the registers of the host otherwise.
#[inline(never)]
fn execute_slot<C: OwnCode, M: OwnMemory, W: Witness, const LOADS: u8, const SLOTS: u8>(
    registers: &mut Registers,
    costs: CycleCosts,
    private: &mut Private<C, M, W>,
    progress: &mut Progress,
) -> Option<FastExit<Op>> {
    if progress.left <= 0 {
        return Some(FastExit::Time);
    }
    let Private {
        code,
        memory,
        witness,
        ..
    } = private;
    let at = &mut progress.position;
    let Some(op) = code.from(at.pc).first().map(Place::get) else {
        return Some(FastExit::Unknown);
    };
    if at.loaded != NOWHERE && op.reads(at.loaded) {
        return Some(exit_before(op));
    }
    let left = progress.left;
    let done = step::<M, W, LOADS, SLOTS, false>(at, registers, op, costs, memory, witness, left);
    let cycles = match done {
        StepOutcome::Unfit => return Some(exit_before(op)),
        StepOutcome::Straight => 0,
        StepOutcome::Waited(cycles)
        | StepOutcome::Loaded(cycles)
        | StepOutcome::Jump { cycles, .. } => cycles.into(),
    };
    progress.left -= costs.each + cycles;
    progress.instructions += 1;
    None
}

/// The stop before an instruction that the loop does not execute.
#[cold]
const fn exit_before(op: Op) -> FastExit<Op> {
    if op.has_probe() {
        FastExit::Unknown
    } else {
        FastExit::Op(op)
    }
}

/// Executes an instruction, before which so many cycles are left.
#[inline(always)]
fn step<M: OwnMemory, W: Witness, const LOADS: u8, const SLOTS: u8, const STRAIGHT: bool>(
    at: &mut RunPosition,
    registers: &mut Registers,
    op: Op,
    costs: CycleCosts,
    memory: &mut M,
    witness: &mut W,
    left: i64,
) -> StepOutcome {
    let pc = at.pc;
    let mut memory = MemoryAccess {
        own: memory,
        witness,
        access: Access { pc, left },
        cycle: costs.cycle,
    };
    let done = at.execute::<M, W, LOADS, SLOTS, STRAIGHT>(registers, op, &mut memory);
    if !matches!(done, StepOutcome::Unfit) {
        let own = costs.each.cast_unsigned() * costs.cycle;
        witness.executed(pc, own);
    }
    done
}

/// Lets the core wait if the next instruction reads the register that the one before it has loaded. Returns that instruction if it comes
/// too late then for what is due meanwhile.
///
/// An instruction with a mark or a packed register waits later, when it is executed: it is returned, since it is not for this loop. One
/// that is not decoded carries a mark. It must not be looked at again here: another thread may have decoded it by then, and it would be
/// executed without its wait.
#[inline(always)]
fn wait<W: Witness, const LOADS: u8>(
    at: &mut RunPosition,
    run: &mut Run<'_>,
    costs: CycleCosts,
    witness: &mut W,
) -> Option<Op> {
    if LOADS != 0 || at.loaded == NOWHERE {
        return None;
    }
    let op = run.peek()?;
    if op.is_marked() || op.kind().has_packed_register() {
        return Some(op);
    }
    let loaded = std::mem::replace(&mut at.loaded, NOWHERE);
    if !op.reads_plain(loaded) {
        return None;
    }
    witness.branched(costs.wait.cast_unsigned() * costs.cycle);
    run.spend(costs.wait, costs);
    run.peek().is_none().then_some(op)
}

/// Private memory, and the position of the instruction that accesses it.
struct MemoryAccess<'a, M, W> {
    own: &'a mut M,
    witness: &'a mut W,
    access: Access,
    /// Ticks per cycle.
    cycle: u64,
}

impl<M: OwnMemory, W: Witness> MemoryAccess<'_, M, W> {
    /// Notes an access that was carried out.
    #[inline(always)]
    fn note(&mut self, address: u32, cycles: u32) {
        let spent = u64::from(cycles) * self.cycle;
        let (waited, worked) = match M::WAITS {
            true => (spent, 0),
            false => (0, spent),
        };
        self.witness.accessed(address, waited, worked);
    }
}

/// Outcome of an attempt to execute an instruction on the fast path.
enum StepOutcome {
    /// The instruction is not for this path: nothing has changed.
    Unfit,
    /// The instruction was executed; the next one follows it in memory, unless a jump before it decides otherwise.
    Straight,
    /// As `Straight`; the access to memory took so many cycles more.
    Waited(u32),
    /// As `Waited`; the instruction was a load, and the next one may have to wait for its value.
    Loaded(u32),
    /// The instruction was executed and is a taken jump: after `slots` more instructions the one at `target` follows. The access to memory
    /// took so many cycles more.
    Jump { target: u32, slots: u8, cycles: u32 },
}

impl StepOutcome {
    /// The outcome of an access to memory that took so many cycles.
    #[inline(always)]
    const fn after(cycles: u32) -> Self {
        if cycles == 0 {
            Self::Straight
        } else {
            Self::Waited(cycles)
        }
    }
}

impl RunPosition {
    /// Whether the next two instructions follow this one in memory.
    #[inline(always)]
    const fn is_straight(&self) -> bool {
        self.next == self.pc.wrapping_add(4) && self.third == self.pc.wrapping_add(8)
    }

    /// Goes on to the next instruction, and lets loaded values arrive. On a straight way the loop counts instructions, and the
    /// position is that of the instruction until a jump.
    #[inline(always)]
    const fn step<const LOADS: u8, const STRAIGHT: bool>(&mut self, registers: &mut Registers) {
        if !STRAIGHT {
            self.pc = self.next;
            self.next = self.third;
            self.third = self.next.wrapping_add(4);
        }
        if LOADS == 0 {
            // In a run nothing is left that was loaded.
            if !STRAIGHT {
                self.loaded = NOWHERE;
            }
        } else {
            let (place, value) = self.arrivals[0];
            registers[place as usize] = value;
            self.arrivals[0] = if LOADS > 1 {
                self.arrivals[1]
            } else {
                (NOWHERE, 0)
            };
            if LOADS > 1 {
                self.arrivals[1] = (NOWHERE, 0);
            }
        }
    }

    /// Ends an instruction that has determined the one behind `slots` more; its access took so many cycles.
    #[inline(always)]
    const fn jump<const LOADS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        target: u32,
        slots: u8,
        cycles: u32,
    ) -> StepOutcome {
        self.step::<LOADS, STRAIGHT>(registers);
        if !STRAIGHT && slots == 1 {
            self.next = target;
            self.third = target.wrapping_add(4);
        } else if !STRAIGHT {
            self.third = target;
        }
        StepOutcome::Jump {
            target,
            slots,
            cycles,
        }
    }

    /// Sends a loaded value to its register.
    #[inline(always)]
    const fn receive<const LOADS: u8>(&mut self, registers: &mut Registers, place: u8, value: u32) {
        match LOADS {
            0 => {
                registers[place as usize] = value;
                self.loaded = place;
            }
            1 => self.arrivals[0] = (place, value),
            _ => self.arrivals[1] = (place, value),
        }
    }

    /// Executes an instruction. All kinds stand in one choice, so that the executor jumps once for each instruction.
    #[inline(always)]
    fn execute<M: OwnMemory, W: Witness, const LOADS: u8, const SLOTS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
        memory: &mut MemoryAccess<'_, M, W>,
    ) -> StepOutcome {
        use Update::{After, Before, None as Plain};
        use Width::{Byte, Half, Word};

        macro_rules! choose {
            (
                compute { $($computed:ident)* }
                load { $($load:ident $load_width:ident $signed:literal $load_update:ident;)* }
                store { $($store:ident $width:ident $update:ident;)* }
                $($rest:tt)*
            ) => {
                match op.plain_kind() {
                    // With a constant kind the choice within `compute` vanishes.
                    $(Kind::$computed => {
                        self.compute::<LOADS, STRAIGHT>(registers, op, Kind::$computed)
                    })*
                    $(Kind::$load => self.load::<M, W, LOADS, STRAIGHT>(
                        registers, op, memory, $load_width, $signed, $load_update,
                    ),)*
                    $(Kind::$store => {
                        self.store::<M, W, LOADS, STRAIGHT>(registers, op, memory, $width, $update)
                    })*
                    $($rest)*
                }
            };
        }
        choose! {
            compute {
                Add Addc Sub Subb And Or Xor Shift ShiftArithmetic
                AddFlags AddcFlags SubFlags SubbFlags AndFlags OrFlags XorFlags ShiftFlags ShiftArithmeticFlags
                ShiftLeft ShiftRight ShiftRightSigned OwnAddress NextAddress SetCondition Select
                PopulationCount LeadingZeros TrailingZeros
            }
            load {
                LoadWord Word false Plain; LoadWordAfter Word false After; LoadWordBefore Word false Before;
                LoadHalf Half true Plain; LoadHalfAfter Half true After; LoadHalfBefore Half true Before;
                LoadByte Byte true Plain; LoadByteAfter Byte true After; LoadByteBefore Byte true Before;
                LoadHalfUnsigned Half false Plain; LoadHalfUnsignedAfter Half false After;
                LoadHalfUnsignedBefore Half false Before; LoadByteUnsigned Byte false Plain;
                LoadByteUnsignedAfter Byte false After; LoadByteUnsignedBefore Byte false Before;
            }
            store {
                StoreWord Word Plain; StoreWordAfter Word After; StoreWordBefore Word Before;
                StoreHalf Half Plain; StoreHalfAfter Half After; StoreHalfBefore Half Before;
                StoreByte Byte Plain; StoreByteAfter Byte After; StoreByteBefore Byte Before;
            }
            Kind::Jump => self.jump::<LOADS, STRAIGHT>(registers, op.imm(), SLOTS, 0),
            Kind::Branch => self.branch::<LOADS, SLOTS, STRAIGHT>(registers, op),
            Kind::Conditional => {
                let computed = alu::conditional(op, registers, self.flags);
                self.finish::<LOADS, STRAIGHT>(registers, op, computed)
            }
            Kind::LoadPc if SLOTS == 1 => {
                self.load_pc::<M, W, LOADS, STRAIGHT>(registers, op, memory)
            }
            Kind::LoadPc
            | Kind::BranchRelative
            | Kind::Nested
            | Kind::Combined
            | Kind::Missing
            | Kind::Illegal => StepOutcome::Unfit,
        }
    }

    /// Executes a branch.
    #[inline(always)]
    const fn branch<const LOADS: u8, const SLOTS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
    ) -> StepOutcome {
        if alu::holds(op.dst() as u32, self.flags) {
            return self.jump::<LOADS, STRAIGHT>(registers, op.imm(), SLOTS, 0);
        }
        self.step::<LOADS, STRAIGHT>(registers);
        StepOutcome::Straight
    }

    /// Executes an instruction that computes.
    #[inline(always)]
    fn compute<const LOADS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
        kind: Kind,
    ) -> StepOutcome {
        let pc = self.pc;
        let next = if STRAIGHT {
            pc.wrapping_add(4)
        } else {
            self.next
        };
        let computed = alu::result(kind, op, registers, self.flags, pc, next);
        self.finish::<LOADS, STRAIGHT>(registers, op, computed)
    }

    /// Ends an instruction that computes.
    #[inline(always)]
    fn finish<const LOADS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
        computed: Option<Computed>,
    ) -> StepOutcome {
        self.step::<LOADS, STRAIGHT>(registers);
        if let Some(Computed { value, flags }) = computed {
            registers[op.dst() as usize] = value;
            self.flags = flags;
        }
        StepOutcome::Straight
    }

    /// Reads the core's own memory.
    #[inline(always)]
    fn load<M: OwnMemory, W: Witness, const LOADS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
        memory: &mut MemoryAccess<'_, M, W>,
        width: Width,
        signed: bool,
        update: Update,
    ) -> StepOutcome {
        let (address, sum) = address_of(registers, op, width, update);
        let Some((value, cycles)) = memory.own.load(address, width, memory.access) else {
            return StepOutcome::Unfit;
        };
        let value = if signed { extend(value, width) } else { value };
        self.step::<LOADS, STRAIGHT>(registers);
        if update != Update::None {
            registers[op.rs() as usize] = sum;
        }
        self.receive::<LOADS>(registers, op.dst(), value);
        memory.note(address, cycles);
        match LOADS {
            0 => StepOutcome::Loaded(cycles),
            _ => StepOutcome::after(cycles),
        }
    }

    /// Writes the core's own memory.
    #[inline(always)]
    fn store<M: OwnMemory, W: Witness, const LOADS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
        memory: &mut MemoryAccess<'_, M, W>,
        width: Width,
        update: Update,
    ) -> StepOutcome {
        let (address, sum) = address_of(registers, op, width, update);
        let value = registers[op.dst() as usize] & width.mask();
        let Some(cycles) = memory.own.store(address, width, value, memory.access) else {
            return StepOutcome::Unfit;
        };
        self.step::<LOADS, STRAIGHT>(registers);
        if update != Update::None {
            registers[op.rs() as usize] = sum;
        }
        memory.note(address, cycles);
        StepOutcome::after(cycles)
    }

    /// Reads the program counter from the core's own memory.
    #[inline(always)]
    fn load_pc<M: OwnMemory, W: Witness, const LOADS: u8, const STRAIGHT: bool>(
        &mut self,
        registers: &mut Registers,
        op: Op,
        memory: &mut MemoryAccess<'_, M, W>,
    ) -> StepOutcome {
        let (address, _) = address_of(registers, op, Width::Word, Update::None);
        let Some((target, cycles)) = memory.own.load(address, Width::Word, memory.access) else {
            return StepOutcome::Unfit;
        };
        memory.note(address, cycles);
        registers[JUMPED_FROM] = memory.access.pc;
        self.jump::<LOADS, STRAIGHT>(registers, target & !3, 2, cycles)
    }
}

/// The address of an access, and the sum of base and displacement.
#[inline(always)]
fn address_of(registers: &Registers, op: Op, width: Width, update: Update) -> (u32, u32) {
    let base = registers[op.rs() as usize];
    let sum = base.wrapping_add(registers[op.rt() as usize].wrapping_add(op.imm()));
    let address = if update == Update::After { base } else { sum };
    (address & !(width as u32 - 1), sum)
}
