//! Two guests that take turns in translated code ([`crate::turns`]).

use cranelift_codegen::ir::{AbiParam, Function, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

use crate::budget;
use crate::guest::{Guest, SharedBus};
use crate::machine::{Moment, NEVER, NOT_ACCESSED, TranslationError, code_bytes, code_error};
use crate::program::Program;
use crate::sites::Site;
use crate::stamp;
use crate::turns::{self, Hot, HotRuns, Links, Part, Region, Target};

type WayIn = unsafe extern "C" fn(*mut Moment, u64, *const u8) -> u32;

/// Functions at most: their numbers have 16 bits.
const MOST_FUNCTIONS: usize = 4096;

/// Functions of a module that is not finished yet.
pub(crate) struct Declared {
    way_in: FuncId,
    functions: Vec<[FuncId; 2]>,
    /// Indices of their first instructions.
    starts: Vec<usize>,
    most_cycles: u32,
    pub(crate) bytes: usize,
}

/// Functions of a program for cores that take turns.
pub(crate) struct TurnCode {
    way_in: WayIn,
    /// Both functions of each region, and the index of their first instruction.
    functions: Box<[([*const u8; 2], usize)]>,
    /// For each instruction the number of the function that begins there, counted from 1; 0 if there is none.
    numbers: Box<[u16]>,
    /// Cycles of a run at most before its last instruction begins.
    most_cycles: u64,
    ticks_per_cycle: u64,
}

impl Declared {
    /// Defines the functions; their ways out are added to `sites`.
    pub(crate) fn define(
        program: &Program,
        module: &mut JITModule,
        scratch: &mut FunctionBuilderContext,
        sites: &mut Vec<Site>,
    ) -> Result<Self, TranslationError> {
        let runs = HotRuns::of(program);
        let mut regions = runs.regions(program);
        if regions.len() > MOST_FUNCTIONS {
            regions.clear();
        }
        let signature = turns::signature();
        let mut declare = |name: &str, number| {
            let name = format!("{name}{number}");
            let id = module.declare_function(&name, Linkage::Local, &signature);
            id.map_err(code_error)
        };
        let functions = (0..regions.len())
            .map(|number| Ok([declare("begin", number)?, declare("resume", number)?]))
            .collect::<Result<Vec<_>, TranslationError>>()?;
        let starts: Vec<_> = regions.iter().map(|region| region.first.start).collect();
        let mut declared = Self {
            way_in: define_way_in(module, scratch)?,
            functions,
            starts,
            most_cycles: 0,
            bytes: 0,
        };
        for region in &regions {
            for part in [Part::Begin, Part::Resume] {
                let mut context = module.make_context();
                context.func.signature = signature.clone();
                let links = declared.links(region, module, &mut context.func);
                let ids = declared.ids(region.first.start);
                let Some((links, ids)) = links.zip(ids) else {
                    continue;
                };
                let builder = FunctionBuilder::new(&mut context.func, scratch);
                let target = module.target_config();
                let hot = (program, Hot::new(&runs, region, links));
                let cycles = turns::function(hot, part, builder, target, sites);
                declared.most_cycles = declared.most_cycles.max(cycles);
                let defined = module.define_function(ids[part as usize], &mut context);
                defined.map_err(code_error)?;
                declared.bytes += code_bytes(&context);
            }
        }
        Ok(declared)
    }

    /// Both functions of the region that begins at an index.
    fn ids(&self, start: usize) -> Option<[FuncId; 2]> {
        let number = self.starts.binary_search(&start).ok()?;
        self.functions.get(number).copied()
    }

    /// What a function of a region calls.
    fn links(&self, region: &Region, module: &mut JITModule, own: &mut Function) -> Option<Links> {
        let mut target = |start| {
            let [begin, resume] = self.ids(start)?;
            Some(Target {
                start,
                begin: module.declare_func_in_func(begin, own),
                resume: module.declare_func_in_func(resume, own),
            })
        };
        let exits = region.exits.iter();
        let exits = exits.filter_map(|&exit| target(exit)).collect();
        Some(Links {
            own: target(region.first.start)?,
            exits,
            signature: own.import_signature(turns::signature()),
        })
    }

    /// The functions, once the module is finished.
    pub(crate) fn finished(self, program: &Program, module: &JITModule) -> TurnCode {
        let mut numbers = vec![0; program.instructions.len()];
        for (number, &start) in (1..).zip(&self.starts) {
            numbers[start] = number;
        }
        let addresses = self.functions.iter();
        let addresses = addresses.map(|ids| ids.map(|id| module.get_finalized_function(id)));
        let way_in = module.get_finalized_function(self.way_in);
        // SAFETY: the module has finished a function with this signature in the host's calling convention, and the owner of this keeps
        // the module as long as the function.
        #[allow(unsafe_code, reason = "an address becomes a function")]
        let way_in = unsafe { std::mem::transmute::<*const u8, WayIn>(way_in) };
        TurnCode {
            way_in,
            functions: addresses.zip(self.starts).collect(),
            numbers: numbers.into(),
            most_cycles: u64::from(self.most_cycles),
            ticks_per_cycle: u64::from(program.costs.ticks_per_cycle),
        }
    }
}

fn define_way_in(
    module: &mut JITModule,
    scratch: &mut FunctionBuilderContext,
) -> Result<FuncId, TranslationError> {
    let mut context = module.make_context();
    let signature = &mut context.func.signature;
    signature.params.extend([AbiParam::new(types::I64); 3]);
    signature.returns.push(AbiParam::new(types::I32));
    let id = module
        .declare_function("take_turns", Linkage::Local, signature)
        .map_err(code_error)?;
    let builder = FunctionBuilder::new(&mut context.func, scratch);
    turns::way_in(builder, module.target_config());
    module
        .define_function(id, &mut context)
        .map_err(code_error)?;
    Ok(id)
}

impl TurnCode {
    /// The function that begins at the instruction with this index.
    #[inline(always)]
    fn function(&self, index: usize) -> Option<*const u8> {
        let number = usize::from(*self.numbers.get(index)?);
        Some(self.functions.get(number.checked_sub(1)?)?.0[0])
    }

    /// Index of the instruction with which a function begins.
    fn start(&self, function: *const u8) -> Option<usize> {
        let found = self
            .functions
            .iter()
            .find(|known| known.0.contains(&function));
        found.map(|known| known.1)
    }
}

/// What two guests have done in turns.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// The one that stands where it left the code is not the one that began.
    pub changed: bool,
    /// The other one has executed instructions, and stands before an access that must wait.
    pub waits: bool,
}

impl<'a> Guest<'a> {
    /// Executes this guest and another one in turns, from where they stand, up to an instruction that is not in the code for this;
    /// `goes_first` if this one does at equal ticks. Instructions begin before `until`. `None` if nothing can be executed: one of them
    /// stands elsewhere, or too little time is left.
    #[inline(always)]
    pub fn take_turns(
        &mut self,
        other: &mut Guest<'a>,
        registers: (&mut [u32; 256], &mut [u32; 256]),
        bus: &mut SharedBus,
        (goes_first, until): (bool, u64),
    ) -> Option<Turns> {
        let functions = (self.turn_function()?, other.turn_function()?);
        let times = (self.now(), other.now());
        let base = times.0.min(times.1);
        let end = until.min(bus.next_burst);
        let end = end.min(self.moment.end).min(other.moment.end);
        let (code, other_code) = (&self.code.turns, &other.code.turns);
        let each = code.ticks_per_cycle;
        let most_cycles = code.most_cycles.max(other_code.most_cycles);
        let last = end.saturating_sub(base).min(stamp::MOST_CYCLES * each);
        let last = last.saturating_sub(most_cycles * each);
        let same = [self.moment.ticks_per_cycle, other.moment.ticks_per_cycle] == [each; 2]
            && other_code.ticks_per_cycle == each;
        if !same || last <= times.0.max(times.1) - base {
            return None;
        }
        let last = stamp::at(last, false);
        let begins = (
            stamp::at(times.0 - base, !goes_first),
            stamp::at(times.1 - base, goes_first),
        );
        let free = stamp::at(bus.free_at.saturating_sub(base), false);
        self.moment
            .begin_turns(begins.0, last, functions.0, registers.0);
        other
            .moment
            .begin_turns(begins.1, last, functions.1, registers.1);
        let (moment, other_moment) = (&raw mut self.moment, &raw mut other.moment);
        // SAFETY: as for `Code::call`, for both moments and all that they hold, which are borrowed mutably. Each function is one of
        // its guest's code, and both codes are borrowed. The functions reach the other moment by the address that stands in
        // the one of the core at hand.
        #[allow(unsafe_code, reason = "machine code")]
        let number = unsafe {
            (*moment).other = other_moment;
            (*other_moment).other = moment;
            (code.way_in)(moment, free, functions.0)
        };
        let changed = std::ptr::eq(self.moment.left, other_moment);
        let waits = changed || other.moment.now != begins.1;
        let (leaver, waiter) = match changed {
            false => (&mut *self, &mut *other),
            true => (&mut *other, &mut *self),
        };
        if [leaver.moment.accessed, waiter.moment.accessed] != [NEVER; 2] {
            bus.free_at = base + stamp::ticks(leaver.moment.free);
        }

        leaver.leave_turns(number);
        waiter.wait_in_turns();
        registers.0[..32].copy_from_slice(&self.moment.values);
        registers.1[..32].copy_from_slice(&other.moment.values);
        self.end_turns(base, begins.0, until);
        other.end_turns(base, begins.1, until);
        Some(Turns { changed, waits })
    }

    /// The function at which the guest stands.
    #[inline(always)]
    fn turn_function(&self) -> Option<*const u8> {
        if self.in_taken_slot() {
            return None;
        }
        self.code.turns.function(self.code.index(self.pc))
    }

    /// Stands where it left the code.
    fn leave_turns(&mut self, number: u32) {
        let site = *self.code.site(number);
        self.stand_at(&site);
        let ticks = u64::from(site.cycles) * self.moment.ticks_per_cycle;
        let change = stamp::change(ticks.cast_signed(), i64::from(site.extra));
        self.moment.now = self.moment.now.wrapping_add_signed(change);
    }

    /// Stands before the function at which it waits.
    fn wait_in_turns(&mut self) {
        if let Some(index) = self.code.turns.start(self.moment.resume) {
            self.pc = self.code.address(index);
            self.next_pc = self.pc.wrapping_add(4);
        }
    }

    /// Brings the budget up to date. Time has passed in which the guest waited for the bus, so that fewer cycles are left.
    fn end_turns(&mut self, base: u64, begin: u64, until: u64) {
        let Moment {
            now,
            stalled,
            accessed,
            budget,
            ticks_per_cycle: each,
            ..
        } = self.moment;
        let stalled = stamp::ticks(stalled);
        let worked = |stamp: u64| {
            let ticks = stamp::ticks(stamp) - stamp::ticks(begin) - stalled;
            (ticks / each).cast_signed()
        };
        let spent = self.room - budget::left(budget);
        let spent_at = |stamp| spent + worked(stamp);
        let extra_at = |stamp| budget::extra(budget) + stamp::extra(stamp).cast_signed();
        let tick = base + stamp::ticks(now);
        // An end behind the last cycle counts as the other ends do.
        let left = match until.checked_sub(tick) {
            Some(ticks) => ticks.div_ceil(each).cast_signed(),
            None => -((tick - until) / each).cast_signed(),
        };
        let left = left.min(budget::MOST_CYCLES - spent_at(now));
        let room = left + spent_at(now);
        let moment = &mut self.moment;
        moment.budget = budget::of(left, extra_at(now));
        moment.end = tick.wrapping_add_signed(left.wrapping_mul(each.cast_signed()));
        if accessed != NEVER {
            moment.shared_at = budget::of(room - spent_at(accessed), extra_at(accessed));
        } else if moment.shared_at != NOT_ACCESSED {
            moment.shared_at += budget::of(room - self.room, 0);
        }
        self.room = room;
        self.stalled += stalled;
    }
}
