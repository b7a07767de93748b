//! Code of two cores that take turns. Each access to shared memory at which control comes back in a short loop has functions, which go on
//! up to the next one. If that is not in turn, the function keeps the core's time, and calls the function at which the other core waits
//! in its own place: no frame remains. So the cores go on without a return to the caller until one of them leaves this code.
//!
//! The stamp at which the bus is free is a parameter. What else a core needs, registers and time among it, stands in its moment, whose address is in a
//! register of the host: an exchange changes that one.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::FunctionBuilder;

use crate::accesses::Place;
use crate::blocks::{self, Run};
use crate::emit::Emitter;
use crate::machine::{Leave, Moment};
use crate::program::{Instruction, Program};
use crate::sites::Site;
use crate::stamp;
use crate::values;

/// Runs that a function has besides its first one, at most, and those one after another.
const MOST_RUNS: usize = 12;
const MOST_IN_SEQUENCE: usize = 4;

/// Cycles of a function at most before its last instruction begins.
const MOST_CYCLES: u32 = 160;

/// The time in the code at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The stamp of the next instruction, without cycles that are still to be subtracted.
    now: Value,
    /// The stamp at which the bus of the shared memory is free.
    free: Value,
}

impl Turn {
    /// The values that change.
    pub(crate) const fn changing(self) -> [Value; 2] {
        [self.now, self.free]
    }
}

/// The code of functions. It begins with an access to memory, and goes on in all ways up to the next one.
#[derive(Debug)]
pub(crate) struct Region {
    /// The run that begins with the access.
    pub(crate) first: Run,
    /// Indices of accesses at which control may go on in other functions.
    pub(crate) exits: Vec<usize>,
}

/// Runs in short loops.
#[derive(Debug)]
pub(crate) struct HotRuns(Vec<Run>);

impl HotRuns {
    /// Those of a program.
    pub(crate) fn of(program: &Program) -> Self {
        let loops = blocks::loops(program);
        let mut runs = blocks::runs(program, &loops);
        runs.retain(|run| loops[run.start]);
        Self(runs)
    }

    fn at(&self, start: usize) -> Option<Run> {
        let found = self.0.binary_search_by_key(&start, |run| run.start).ok()?;
        Some(self.0[found])
    }

    /// The regions of the program.
    pub(crate) fn regions(&self, program: &Program) -> Vec<Region> {
        let in_slot = |index: usize| {
            let before = index.checked_sub(1).and_then(|index| program.at(index));
            before.is_some_and(|before| before.operation.has_delay_slot())
        };
        let is_head = |run: &Run| is_access(program, run.start) && !in_slot(run.start);
        let heads = self.0.iter().filter(|&run| is_head(run));
        let region = |&first: &Run| {
            let (mut runs, mut exits, mut at) = (vec![first], Vec::new(), 0);
            while let Some(&run) = runs.get(at) {
                at += 1;
                for next in successors(program, &run) {
                    match self.at(next) {
                        Some(next) if is_head(&next) => exits.push(next.start),
                        Some(next) if at < MOST_RUNS && !runs.contains(&next) => runs.push(next),
                        _ => {}
                    }
                }
            }
            exits.sort_unstable();
            exits.dedup();
            Region { first, exits }
        };
        heads.map(region).collect()
    }
}

/// Whether the instruction accesses memory.
fn is_access(program: &Program, index: usize) -> bool {
    let instruction = program.at(index);
    instruction.is_some_and(|found| found.operation.access_bytes() > 0)
}

/// Indices at which control goes on behind a run, as far as they are known.
fn successors(program: &Program, run: &Run) -> Vec<usize> {
    if !run.branches {
        return vec![run.end];
    }
    let target = program.target(run.end - 1);
    let target = target.and_then(|address| program.index(address));
    target.into_iter().chain([run.end + 1]).collect()
}

/// Parameters and results of a function of a region.
pub(crate) fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::Tail);
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// Which function of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The access may be one to the core's own memory, or not be in turn.
    Begin,
    /// The access is one to shared memory and in turn: the core has waited for that.
    Resume,
}

/// The functions of a region, as another one calls them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Index of its access.
    pub(crate) start: usize,
    pub(crate) begin: FuncRef,
    pub(crate) resume: FuncRef,
}

/// What a function of a region calls.
#[derive(Debug)]
pub(crate) struct Links {
    /// The functions of the region.
    pub(crate) own: Target,
    /// Those of its [exits](Region::exits).
    pub(crate) exits: Vec<Target>,
    /// Their parameters and results.
    pub(crate) signature: SigRef,
}

/// A function at work.
#[derive(Debug)]
pub(crate) struct Hot<'p> {
    pub(crate) runs: &'p HotRuns,
    pub(crate) region: &'p Region,
    pub(crate) links: Links,
    /// Carries out the first access, which is in turn.
    granted: Option<Block>,
    /// Runs so far, without the first one.
    count: usize,
}

impl<'p> Hot<'p> {
    pub(crate) const fn new(runs: &'p HotRuns, region: &'p Region, links: Links) -> Self {
        Self {
            runs,
            region,
            links,
            granted: None,
            count: 0,
        }
    }
}

/// Writes a function of a region into `b`. Its ways out are added to `sites`; gives the cycles before its last instruction begins, at
/// most.
pub(crate) fn function(
    (program, hot): (&Program, Hot<'_>),
    part: Part,
    b: FunctionBuilder<'_>,
    target: TargetFrontendConfig,
    sites: &mut Vec<Site>,
) -> u32 {
    let run = hot.region.first;
    let mut emitter = Emitter::new(program, b, std::mem::take(sites));
    emitter.hot = Some(hot);
    let entry = emitter.b.create_block();
    emitter.b.append_block_params_for_function_params(entry);
    let first = emitter.turn_block();
    emitter.b.switch_to_block(entry);
    let free = emitter.b.block_params(entry)[0];
    // It holds in the whole function, and the registers stand there too.
    let context = Some(emitter.context());
    emitter.lasting = (context, context);
    let now = emitter.field(types::I64, offset_of!(Moment, now));
    let values = [now, free].map(BlockArg::Value);
    emitter.b.ins().jump(first, &values);
    if let Some(hot) = emitter.hot.as_mut().filter(|_| part == Part::Resume) {
        hot.granted = Some(first);
    }
    emitter.most_cycles = run.cycles_before_last;
    emitter.begin_turn(first, run.start);
    emitter.instructions_of(&run);
    emitter.ways_out();
    let Emitter {
        mut b,
        sites: all,
        most_cycles,
        ..
    } = emitter;
    *sites = all;
    b.seal_all_blocks();
    b.finalize(target);
    most_cycles
}

/// Writes the function by which the host enters those of regions. It takes the moment, their parameters, and the function to enter.
pub(crate) fn way_in(mut b: FunctionBuilder<'_>, target: TargetFrontendConfig) {
    let signature = b.import_signature(signature());
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let parameters = b.block_params(entry).to_vec();
    let kept = b.ins().get_pinned_reg(types::I64);
    b.ins().set_pinned_reg(parameters[0]);
    let call = b
        .ins()
        .call_indirect(signature, parameters[2], &parameters[1..2]);
    let site = b.inst_results(call)[0];
    let left = b.ins().get_pinned_reg(types::I64);
    b.ins().set_pinned_reg(kept);
    let field = values::offset(offset_of!(Moment, left));
    let flags = MemFlagsData::trusted();
    b.ins().store(flags, left, parameters[0], field);
    b.ins().return_(&[site]);
    b.seal_all_blocks();
    b.finalize(target);
}

impl Emitter<'_, '_> {
    /// A block that takes the time.
    fn turn_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.take_time(block);
        block
    }

    /// Adds the time to what a block takes.
    fn take_time(&mut self, block: Block) {
        for _ in 0..2 {
            self.b.append_block_param(block, types::I64);
        }
    }

    /// The time is what the block at hand has taken, behind all else.
    pub(crate) fn set_time(&mut self, block: Block) {
        if let (Some(turn), [.., now, free]) = (&mut self.turn, self.b.block_params(block)) {
            (turn.now, turn.free) = (*now, *free);
        }
    }

    /// A change of the stamp.
    fn change(&self, cycles: i64, extra: i64) -> i64 {
        stamp::change(
            cycles * i64::from(self.program.costs.ticks_per_cycle),
            extra,
        )
    }

    /// `stamp` behind what has gathered.
    fn behind(&mut self, stamp: Value) -> Value {
        let change = self.change(i64::from(self.cycles), i64::from(self.extra));
        match change {
            0 => stamp,
            _ => self.b.ins().iadd_imm_s(stamp, change),
        }
    }

    /// Adds what has gathered.
    pub(crate) fn pass_time(&mut self, turn: Turn) {
        let now = self.behind(turn.now);
        self.turn = Some(Turn { now, ..turn });
    }

    /// Writes the time to memory, at a way out.
    pub(crate) fn keep_turn(&mut self, turn: Turn) {
        self.set_field(offset_of!(Moment, now), turn.now);
        self.set_field(offset_of!(Moment, free), turn.free);
    }

    /// Goes on only if whole runs can be executed from `stamp` on.
    fn only_before_last(&mut self, stamp: Value, other: Block) {
        let last = self.field(types::I64, offset_of!(Moment, last));
        let before = self.b.ins().icmp(IntCC::UnsignedLessThan, stamp, last);
        self.only_if(before, other);
    }

    fn begin_turn(&mut self, block: Block, index: usize) {
        self.begin(block, index);
        self.is_fast = true;
        if let [now, free] = *self.b.block_params(block) {
            self.turn = Some(Turn { now, free });
        }
    }

    /// Goes on in another function, in the place of this one.
    fn call(&mut self, function: FuncRef, turn: Turn) {
        self.set_field(offset_of!(Moment, now), turn.now);
        self.b.ins().return_call(function, &[turn.free]);
    }

    /// The run at an address, if it is to be a part of the function. Short loops have few runs between accesses.
    pub(crate) fn run_in_sequence(&mut self, address: u32) -> Option<Run> {
        let index = self.program.index(address)?;
        let costs = self.program.costs;
        let hot = self.hot.as_mut()?;
        let run = hot.runs.at(index)?;
        if is_access(self.program, index)
            || hot.count >= MOST_RUNS
            || self.sequence >= MOST_IN_SEQUENCE
        {
            return None;
        }
        // The cycles so far are those of accesses to shared memory: one begins the function, others stand in slots.
        let load = costs.own_load.saturating_sub(costs.shared_load);
        let store = costs.own_store.saturating_sub(costs.shared_store);
        let more = load.max(store) * (self.sequence as u32 + 2);
        let cycles = self.cycles + more + run.cycles_before_last;
        if cycles > MOST_CYCLES {
            return None;
        }
        hot.count += 1;
        self.sequence += 1;
        self.most_cycles = self.most_cycles.max(cycles);
        Some(run)
    }

    /// Goes on at an address of code at which a region begins, or leaves.
    pub(crate) fn turn_to(&mut self, address: u32) {
        let Some(turn) = self.turn else {
            return;
        };
        self.in_sequence();
        let Some((target, instruction)) = self.target(address) else {
            let leave = self.leaves_at(Leave::Step, address);
            self.b.ins().jump(leave, &[]);
            return;
        };
        let hot = self.hot.as_ref();
        let own = hot.filter(|hot| hot.region.first.start == target.start);
        let granted = own.and_then(|hot| hot.granted);
        let elsewhere = self.b.create_block();
        self.b.set_cold_block(elsewhere);
        let rs = self.register(instruction.rs);
        let place = self.sum(rs, instruction.imm);
        self.only_shared(place, instruction.operation.access_bytes(), elsewhere);
        let wait = self.b.create_block();
        let other = self.only_in_turn(turn.now, wait);
        match granted {
            Some(granted) => {
                let values = turn.changing().map(BlockArg::Value);
                self.b.ins().jump(granted, &values);
            }
            None => {
                self.wait_at(target.resume);
                self.call(target.resume, turn);
            }
        }
        self.b.switch_to_block(wait);
        self.index = target.start;
        if granted.is_none() {
            self.wait_at(target.resume);
        }
        self.exchange(other, turn);
        self.b.switch_to_block(elsewhere);
        self.call(target.begin, turn);
    }

    /// The region that begins at an address, as far as the function knows it, and its access.
    fn target(&self, address: u32) -> Option<(Target, Instruction)> {
        let index = self.program.index(address)?;
        let Links { own, exits, .. } = &self.hot.as_ref()?.links;
        let mut targets = exits.iter().chain([own]);
        let target = targets.find(|target| target.start == index)?;
        Some((*target, self.program.at(index)?))
    }

    /// Notes the function at which the core is going to wait. It does not do so again and again.
    fn wait_at(&mut self, resume: FuncRef) {
        let resume = self.b.ins().func_addr(types::I64, resume);
        self.set_field(offset_of!(Moment, resume), resume);
    }

    /// Leaves to the address that a register holds.
    pub(crate) fn leave_to(&mut self, pc: Value) {
        if let Some(turn) = self.turn {
            self.keep_turn(turn);
        }
        self.leave_elsewhere(pc);
    }

    /// Accesses `rs + imm`: shared memory if that is in turn, or the core's own one.
    pub(crate) fn by_address_in_turn(&mut self, rs: Value, imm: u32, place: Place, turn: Turn) {
        self.take_time(place.end);
        let address = self.sum(rs, imm);
        let is_first = self.cycles == 0;
        let links = self.hot.as_ref().filter(|_| is_first);
        let links = links.map(|hot| (hot.granted, hot.links.own.resume));
        if let Some((Some(_), _)) = links {
            self.shared_in_turn(address, place, turn);
            return;
        }
        let own = self.b.create_block();
        self.only_shared(address, place.bytes, own);
        let wait = match is_first {
            true => self.b.create_block(),
            false => place.leave,
        };
        let now = self.behind(turn.now);
        let other = self.only_in_turn(now, wait);
        match links {
            Some((_, resume)) => {
                self.wait_at(resume);
                self.call(resume, turn);
                self.b.switch_to_block(wait);
                self.wait_at(resume);
                self.exchange(other, turn);
            }
            None => self.shared_in_turn(address, place, turn),
        }
        self.b.switch_to_block(own);
        if is_first {
            self.only_before_last(turn.now, place.leave);
        }
        let costs = &self.program.costs;
        let more = match place.value {
            Some(_) => i64::from(costs.shared_store) - i64::from(costs.own_store),
            None => i64::from(costs.shared_load) - i64::from(costs.own_load),
        };
        let change = self.change(-more, -more);
        let now = self.b.ins().iadd_imm_s(turn.now, change);
        self.turn = Some(Turn { now, ..turn });
        let distance = imm.wrapping_sub(self.program.layout.own_base);
        self.own_or(rs, distance, place, place.leave);
    }

    /// Goes on only if the address is one of shared memory.
    fn only_shared(&mut self, address: Value, bytes: u32, other: Block) {
        let unit = self.units(address, bytes);
        let inside = self.below(unit, self.program.layout.shared_limit / bytes);
        self.only_if(inside, other);
    }

    /// Goes on only if this core's stamp `now` is before the other one's; gives the other one's moment.
    fn only_in_turn(&mut self, now: Value, wait: Block) -> Value {
        let other = self.field(types::I64, offset_of!(Moment, other));
        let field = values::offset(offset_of!(Moment, now));
        let flags = MemFlagsData::trusted();
        let time = self.b.ins().load(types::I64, flags, other, field);
        let before = self.b.ins().icmp(IntCC::UnsignedLessThan, now, time);
        self.only_if(before, wait);
        other
    }

    /// Accesses shared memory, which is in turn.
    fn shared_in_turn(&mut self, address: Value, place: Place, turn: Turn) {
        let now = self.behind(turn.now);
        let mut access = self.shared_access(place);
        let offset = access.offset(address);
        if place.value.is_some() {
            access.only_to_data(offset);
        }
        self.take_bus_in_turn(now, place, turn);
        let mut access = self.shared_access(place);
        let loaded = access.transfer(offset, place.value);
        self.finish(place, loaded);
    }

    /// Takes the bus, once it is free.
    fn take_bus_in_turn(&mut self, now: Value, place: Place, turn: Turn) {
        let (busy, here) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(busy);
        let begun = self.b.append_block_param(here, types::I64);
        let is_free = IntCC::UnsignedLessThanOrEqual;
        let is_free = self.b.ins().icmp(is_free, turn.free, now);
        let at_once = [BlockArg::Value(turn.now)];
        self.b.ins().brif(is_free, here, &at_once, busy, &[]);
        self.b.switch_to_block(busy);
        self.only_before_last(turn.free, place.leave);
        let tick = self.b.ins().band_imm_s(now, !stamp::BELOW);
        let waited = self.b.ins().isub(turn.free, tick);
        let stalled = self.field(types::I64, offset_of!(Moment, stalled));
        let stalled = self.b.ins().iadd(stalled, waited);
        self.set_field(offset_of!(Moment, stalled), stalled);
        let later = self.b.ins().iadd(turn.now, waited);
        self.b.ins().jump(here, &[BlockArg::Value(later)]);
        self.b.switch_to_block(here);
        let now = self.behind(begun);
        self.set_field(offset_of!(Moment, accessed), now);
        let tick = self.b.ins().band_imm_s(now, !stamp::BELOW);
        let ticks = stamp::change(i64::from(self.program.costs.bus_ticks), 0);
        let free = self.b.ins().iadd_imm_s(tick, ticks);
        self.turn = Some(Turn { now: begun, free });
    }

    /// The core with this moment goes on, and this one waits before the access at hand.
    fn exchange(&mut self, other: Value, turn: Turn) {
        let Some(signature) = self.hot.as_ref().map(|hot| hot.links.signature) else {
            return;
        };
        // So the run of a core that waits ends in time, and so does one that is in turn before it.
        let leave = self.leaves(Leave::Access);
        self.only_before_last(turn.now, leave);
        self.set_field(offset_of!(Moment, now), turn.now);
        let flags = MemFlagsData::trusted();
        let field = values::offset(offset_of!(Moment, resume));
        let function = self.b.ins().load(types::I64, flags, other, field);
        self.b.ins().set_pinned_reg(other);
        self.b
            .ins()
            .return_call_indirect(signature, function, &[turn.free]);
    }
}
