//! Code of two cores that take turns. Each access to shared memory at which control comes back in a short loop has a function, which goes
//! on up to the next one. If it is not in turn, the function keeps the core's time, and calls the function at which the other core waits in
//! its own place: no frame remains. So the cores go on without a return to the caller until one of them leaves this code.
//!
//! The time ([`stamp`]), the limit of accesses and the time at which the bus is free are parameters, which stay in registers of the host.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, SigRef, Signature, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::FunctionBuilder;

use crate::accesses::Place;
use crate::blocks::{self, Run};
use crate::emit::{Emitter, Site};
use crate::machine::{Leave, Moment};
use crate::program::Program;
use crate::shared::Access;
use crate::stamp;
use crate::values;

/// Runs of a function at most.
const MOST_RUNS: usize = 8;

/// The time in the code at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The stamp of the next instruction, without cycles that are still to be subtracted.
    now: Value,
    /// Accesses to shared memory are in turn before this stamp.
    limit: Value,
    /// The stamp at which the bus of the shared memory is free.
    free: Value,
}

impl Turn {
    /// The values that change.
    pub(crate) const fn changing(self) -> [Value; 2] {
        [self.now, self.free]
    }
}

/// The runs of a function: the first one begins with an access to memory, the others do not.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) runs: Vec<Run>,
    /// Indices at which other functions go on.
    pub(crate) exits: Vec<usize>,
}

impl Region {
    /// Index of the first instruction.
    pub(crate) fn start(&self) -> usize {
        self.runs.first().map_or(0, |run| run.start)
    }
}

/// The regions of a program, and the largest number of cycles in a run before its last instruction begins.
pub(crate) fn regions(program: &Program) -> (Vec<Region>, u32) {
    let loops = blocks::loops(program);
    let hot: Vec<_> = blocks::runs(program, &loops)
        .into_iter()
        .filter(|run| loops[run.start])
        .collect();
    let is_access = |index: usize| {
        let access = |found: crate::Instruction| found.operation.access_bytes() > 0;
        program.at(index).is_some_and(access)
    };
    let in_slot = |index: usize| {
        let before = index.checked_sub(1).and_then(|index| program.at(index));
        before.is_some_and(|before| before.operation.has_delay_slot())
    };
    let is_head = |run: &Run| is_access(run.start) && !in_slot(run.start);
    let find = |start: usize| hot.iter().find(|run| run.start == start).copied();
    let heads = hot.iter().filter(|&run| is_head(run));
    let regions = heads.map(|&head| {
        let (mut runs, mut exits, mut at) = (vec![head], Vec::new(), 0);
        while let Some(&run) = runs.get(at) {
            at += 1;
            for next in successors(program, &run).into_iter().filter_map(find) {
                if is_head(&next) {
                    exits.push(next.start);
                } else if !is_access(next.start) && runs.len() < MOST_RUNS && !runs.contains(&next)
                {
                    runs.push(next);
                }
            }
        }
        exits.sort_unstable();
        exits.dedup();
        Region { runs, exits }
    });
    let cycles = hot.iter().map(|run| run.cycles_before_last);
    (regions.collect(), cycles.max().unwrap_or(0))
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

/// Declares parameters and results of a function of a region.
pub(crate) fn declare(signature: &mut Signature) {
    signature.call_conv = CallConv::Tail;
    signature.params.extend([AbiParam::new(types::I64); 3]);
    signature.returns.push(AbiParam::new(types::I32));
}

/// Functions that one of a region calls.
#[derive(Debug)]
pub(crate) struct Links {
    /// Itself.
    pub(crate) own: FuncRef,
    /// Those of the [exits](Region::exits).
    pub(crate) exits: Vec<FuncRef>,
    /// Their parameters and results.
    pub(crate) signature: SigRef,
}

/// Writes the function of a region into `b`. Its ways out are added to `sites`.
pub(crate) fn function(
    (program, region, links): (&Program, &Region, &Links),
    b: FunctionBuilder<'_>,
    target: TargetFrontendConfig,
    sites: Vec<Site>,
) -> Vec<Site> {
    let mut emitter = Emitter::new(program, b, sites);
    emitter.region = Some((region, links));
    let entry = emitter.b.create_block();
    emitter.b.append_block_params_for_function_params(entry);
    let blocks: Vec<_> = region.runs.iter().map(|_| emitter.turn_block()).collect();
    emitter.fast = vec![None; program.instructions.len()];
    for (run, &block) in region.runs.iter().zip(&blocks) {
        emitter.fast[run.start] = Some(block);
    }
    emitter.b.switch_to_block(entry);
    let parameters = emitter.b.block_params(entry).to_vec();
    let (now, limit, free) = (parameters[0], parameters[1], parameters[2]);
    // Both hold in the whole function.
    emitter.lasting = (Some(emitter.context()), Some(emitter.base()));
    let values = [now, free].map(BlockArg::Value);
    emitter.b.ins().jump(blocks[0], &values);
    for (run, &block) in region.runs.iter().zip(&blocks) {
        emitter.turn_run(run, block, limit);
    }
    emitter.ways_out();
    let Emitter { mut b, sites, .. } = emitter;
    b.seal_all_blocks();
    b.finalize(target);
    sites
}

/// Writes the function by which the host enters those of regions. It takes the moment, the values of [`Turn`], and the function to enter.
pub(crate) fn way_in(mut b: FunctionBuilder<'_>, target: TargetFrontendConfig) {
    let mut signature = Signature::new(CallConv::Tail);
    declare(&mut signature);
    let signature = b.import_signature(signature);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let parameters = b.block_params(entry).to_vec();
    let kept = b.ins().get_pinned_reg(types::I64);
    b.ins().set_pinned_reg(parameters[0]);
    let call = b
        .ins()
        .call_indirect(signature, parameters[4], &parameters[1..4]);
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

    fn turn_run(&mut self, run: &Run, block: Block, limit: Value) {
        self.begin(block, run.start);
        let (now, free) = match *self.b.block_params(block) {
            [now, free] => (now, free),
            _ => return,
        };
        self.turn = Some(Turn { now, limit, free });
        // The first one compares the time at its access.
        if self.fast[run.start] != self.head() {
            let leave = self.leaves(Leave::Time);
            self.only_before_last(now, leave);
        }
        self.instructions_of(run);
    }

    /// The block of the function's first run.
    fn head(&self) -> Option<Block> {
        let (region, _) = self.region?;
        self.fast[region.start()]
    }

    /// Goes on at an address of code.
    pub(crate) fn turn_to(&mut self, address: u32) {
        let (Some((region, links)), Some(turn)) = (self.region, self.turn) else {
            return;
        };
        let index = self.program.index(address);
        if let Some(block) = index.and_then(|index| self.fast[index]) {
            let values = turn.changing().map(BlockArg::Value);
            self.b.ins().jump(block, &values);
            return;
        }
        let exit = region.exits.iter().position(|&exit| Some(exit) == index);
        if let Some(exit) = exit {
            let values = [turn.now, turn.limit, turn.free];
            self.b.ins().return_call(links.exits[exit], &values);
            return;
        }
        self.in_sequence();
        let leave = self.leaves_at(Leave::Step, address);
        self.b.ins().jump(leave, &[]);
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
        let own = self.b.create_block();
        self.b.set_cold_block(own);
        let address = self.sum(rs, imm);
        let unit = self.units(address, place.bytes);
        let layout = self.program.layout;
        let inside = self.below(unit, layout.shared_limit / place.bytes);
        self.only_if(inside, own);
        self.shared_in_turn(address, place, turn);
        self.b.switch_to_block(own);
        if self.cycles == 0 {
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
        let distance = imm.wrapping_sub(layout.own_base);
        self.own_or(rs, distance, place, place.leave);
    }

    /// Accesses shared memory if that is in turn.
    fn shared_in_turn(&mut self, address: Value, place: Place, turn: Turn) {
        let now = self.behind(turn.now);
        let exchanged = match self.cycles {
            0 => self.b.create_block(),
            _ => place.leave,
        };
        let in_turn = IntCC::UnsignedLessThan;
        let in_turn = self.b.ins().icmp(in_turn, now, turn.limit);
        self.only_if(in_turn, exchanged);
        let context = self.context();
        let mut access = Access {
            program: self.program,
            context,
            bytes: place.bytes,
            refuse: place.leave,
            b: &mut self.b,
        };
        let offset = access.offset(address);
        if place.value.is_some() {
            access.only_to_data(offset);
        }
        self.take_bus_in_turn(now, place, turn);
        let mut access = Access {
            program: self.program,
            context,
            bytes: place.bytes,
            refuse: place.leave,
            b: &mut self.b,
        };
        let loaded = access.transfer(offset, place.value);
        self.finish(place, loaded);
        if self.cycles == 0 {
            self.b.switch_to_block(exchanged);
            self.exchange(place, turn);
        }
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
        self.turn = Some(Turn {
            now: begun,
            free,
            ..turn
        });
    }

    /// The other core goes on, and this one waits before the access with which the function begins.
    fn exchange(&mut self, place: Place, turn: Turn) {
        let Some((_, links)) = self.region else {
            return;
        };
        // What is not in turn before this limit must wait for the other core.
        self.only_before_last(turn.now, place.leave);
        let flags = MemFlagsData::trusted();
        let other = self.field(types::I64, offset_of!(Moment, other));
        let field = values::offset(offset_of!(Moment, now));
        let time = self.b.ins().load(types::I64, flags, other, field);
        self.set_field(offset_of!(Moment, now), turn.now);
        let own = self.b.ins().func_addr(types::I64, links.own);
        self.set_field(offset_of!(Moment, resume), own);
        let field = values::offset(offset_of!(Moment, resume));
        let function = self.b.ins().load(types::I64, flags, other, field);
        self.b.ins().set_pinned_reg(other);
        let values = [time, turn.now, turn.free];
        self.b
            .ins()
            .return_call_indirect(links.signature, function, &values);
    }
}
