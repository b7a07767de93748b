//! The function: careful and fast code of all instructions, the way in, and the ways out.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, FuncRef, InstBuilder, JumpTableData, MemFlagsData, Value, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;

use crate::blocks::{self, Run};
use crate::budget;
use crate::machine::{Leave, Moment};
use crate::program::{Instruction, Operation, Program};
use crate::sites::{ELSEWHERE, ELSEWHERE_SITE, Held, Site, Stub};
use crate::turns::{Hot, Turn};
use crate::values::{self, Moved, Registers};

/// The instruction after the one at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    /// The one behind it.
    Sequence,
    /// The one at this address.
    At(u32),
    /// The one at the address that this value holds.
    Held(Value),
}

/// Stubs that share an end. The time of translation grows with the square of this number.
const STUBS_OF_EXIT: usize = 64;

/// Writes the function.
pub(crate) struct Emitter<'p, 'f> {
    pub(crate) program: &'p Program,
    pub(crate) b: FunctionBuilder<'f>,
    /// Addresses of the [`Moment`] and of the registers, as far as the code at hand has them. The former stays in one register of
    /// the host throughout.
    context: Option<Value>,
    base: Option<Value>,
    /// The functions for accesses to shared memory.
    pub(crate) shared: Vec<FuncRef>,
    /// Code of each instruction by itself.
    careful: Vec<Option<Block>>,
    /// Code of the run that begins at each instruction.
    fast: Vec<Option<Block>>,
    /// For each instruction whether it is in a short loop.
    loops: Vec<bool>,
    /// The code at hand is that of a run.
    pub(crate) is_fast: bool,
    /// Goes on at a program counter.
    dispatch: Block,
    pub(crate) sites: Vec<Site>,
    stubs: Vec<Stub>,
    /// Index of the instruction at hand, and the one after it.
    pub(crate) index: usize,
    next: Next,
    /// Cycles that are not yet subtracted from those that are left, and those among them beyond what each instruction takes.
    pub(crate) cycles: u32,
    pub(crate) extra: u32,
    pub(crate) registers: Registers,
    /// The time, if the code takes turns with another core.
    pub(crate) turn: Option<Turn>,
    /// Such a function, the runs so far in sequence, and the cycles before the last instruction begins, at most.
    pub(crate) hot: Option<Hot<'p>>,
    pub(crate) sequence: usize,
    pub(crate) most_cycles: u32,
    /// Addresses of the moment and of the registers that hold in the whole function.
    pub(crate) lasting: (Option<Value>, Option<Value>),
}

/// Writes the function into `b`; gives its ways out.
pub(crate) fn function(
    program: &Program,
    b: FunctionBuilder<'_>,
    shared: Vec<FuncRef>,
    target: TargetFrontendConfig,
) -> Vec<Site> {
    let loops = blocks::loops(program);
    let runs = blocks::runs(program, &loops);
    let mut emitter = Emitter::new(program, b, vec![ELSEWHERE_SITE]);
    emitter.shared = shared;
    emitter.loops = loops;
    let entry = emitter.b.create_block();
    emitter.b.append_block_params_for_function_params(entry);
    emitter.careful = (0..program.instructions.len())
        .map(|index| program.at(index).map(|_| emitter.b.create_block()))
        .collect();
    emitter.fast = vec![None; program.instructions.len()];
    for run in &runs {
        emitter.fast[run.start] = Some(emitter.b.create_block());
    }
    emitter.way_in(entry);
    for run in &runs {
        emitter.fast_run(run);
    }
    for index in 0..program.instructions.len() {
        emitter.careful_one(index);
    }
    emitter.ways_out();
    let Emitter { mut b, sites, .. } = emitter;
    b.seal_all_blocks();
    b.finalize(target);
    sites
}

impl<'p, 'f> Emitter<'p, 'f> {
    /// Nothing has been written so far; `sites` are those of other functions.
    pub(crate) fn new(program: &'p Program, mut b: FunctionBuilder<'f>, sites: Vec<Site>) -> Self {
        Self {
            program,
            context: None,
            base: None,
            shared: Vec::new(),
            careful: Vec::new(),
            fast: Vec::new(),
            loops: Vec::new(),
            is_fast: false,
            dispatch: b.create_block(),
            b,
            sites,
            stubs: Vec::new(),
            index: 0,
            next: Next::Sequence,
            cycles: 0,
            extra: 0,
            registers: Registers::default(),
            turn: None,
            hot: None,
            sequence: 0,
            most_cycles: 0,
            lasting: (None, None),
        }
    }
}

impl Emitter<'_, '_> {
    /// Address of the context.
    pub(crate) fn context(&mut self) -> Value {
        if let Some(context) = self.context {
            return context;
        }
        let context = self.b.ins().get_pinned_reg(types::I64);
        self.context = Some(context);
        context
    }

    /// Reads a field of the context.
    pub(crate) fn field(&mut self, kind: types::Type, offset: usize) -> Value {
        let context = self.context();
        let flags = MemFlagsData::trusted();
        self.b
            .ins()
            .load(kind, flags, context, values::offset(offset))
    }

    /// Writes a field of the context.
    pub(crate) fn set_field(&mut self, offset: usize, value: Value) {
        let context = self.context();
        let flags = MemFlagsData::trusted();
        self.b
            .ins()
            .store(flags, value, context, values::offset(offset));
    }

    /// Address of the registers.
    pub(crate) fn base(&mut self) -> Value {
        if let Some(base) = self.base {
            return base;
        }
        let base = self.field(types::I64, offset_of!(Moment, registers));
        self.base = Some(base);
        base
    }

    /// The value of a register.
    pub(crate) fn register(&mut self, register: u8) -> Value {
        let base = self.base();
        self.registers.read(&mut self.b, base, register)
    }

    /// Writes changed registers to memory.
    pub(crate) fn flush(&mut self) {
        let base = self.base();
        self.registers.flush(&mut self.b, base);
    }

    /// Subtracts cycles from those that are left, some of which are extra cycles.
    fn spend(&mut self, cycles: i64, extra: i64) {
        let change = budget::of(-cycles, extra);
        if change != 0 {
            let field = offset_of!(Moment, budget);
            let sum = self.field(types::I64, field);
            let sum = self.b.ins().iadd_imm_s(sum, change);
            self.set_field(field, sum);
        }
    }

    /// Subtracts what has gathered.
    fn settle(&mut self) {
        let (cycles, extra) = (self.cycles, self.extra);
        match self.turn {
            None => self.spend(i64::from(cycles), i64::from(extra)),
            Some(turn) => self.pass_time(turn),
        }
        (self.cycles, self.extra) = (0, 0);
    }

    /// Adds to what is to be subtracted.
    pub(crate) const fn charge(&mut self, cycles: u32, extra: u32) {
        self.cycles = self.cycles.saturating_add(cycles).saturating_add(extra);
        self.extra = self.extra.saturating_add(extra);
    }

    /// The block that leaves before the instruction at hand.
    pub(crate) fn leaves(&mut self, leave: Leave) -> Block {
        let pc = self.program.address(self.index);
        self.leaves_at(leave, pc)
    }

    /// No branch is on its way.
    pub(crate) const fn in_sequence(&mut self) {
        self.next = Next::Sequence;
    }

    pub(crate) fn leaves_at(&mut self, leave: Leave, pc: u32) -> Block {
        let (next_pc, held) = match self.next {
            Next::Sequence => (pc.wrapping_add(4), None),
            Next::At(target) => (target, None),
            Next::Held(value) => (0, Some(value)),
        };
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        self.stubs.push(Stub {
            block,
            site: self.sites.len(),
            next_pc: held,
            turn: self.turn,
        });
        self.sites.push(Site {
            pc,
            next_pc,
            cycles: self.cycles,
            extra: u16::try_from(self.extra).unwrap_or(u16::MAX),
            leave,
            held: match held {
                Some(_) => Held::Next,
                None => Held::None,
            },
        });
        block
    }

    /// Whether the instruction at hand is executed often enough for larger code.
    pub(crate) fn is_hot(&self) -> bool {
        self.is_fast && self.loops.get(self.index).is_some_and(|&is| is)
    }

    /// Whether registers may be written to memory after the slot of the branch at hand, in both ways that control can go: code of short
    /// loops is small.
    fn is_lean(&self) -> bool {
        let slot = self.program.slot(self.index);
        self.hot.is_some() && slot.is_some_and(|slot| slot.operation.access_bytes() == 0)
    }

    /// Goes on only if more cycles are left than `least`, and otherwise in `other`.
    fn only_above(&mut self, least: u32, other: Block) {
        let left = self.field(types::I64, offset_of!(Moment, budget));
        let enough = IntCC::SignedGreaterThan;
        let least = budget::highest_of(i64::from(least));
        let go_on = self.b.ins().icmp_imm_s(enough, left, least);
        self.only_if(go_on, other);
    }

    /// Goes on in a new block if `condition` holds, and otherwise in `other`.
    pub(crate) fn only_if(&mut self, condition: Value, other: Block) {
        let here = self.b.create_block();
        self.b.ins().brif(condition, here, &[], other, &[]);
        self.b.switch_to_block(here);
    }

    /// The first block: keeps the host's value of the register that holds the cycles, and goes on at the program counter.
    fn way_in(&mut self, entry: Block) {
        self.b.switch_to_block(entry);
        let context = self.b.block_params(entry)[0];
        let kept = self.b.ins().get_pinned_reg(types::I64);
        self.context = Some(context);
        self.set_field(offset_of!(Moment, kept), kept);
        self.b.ins().set_pinned_reg(context);
        let pc = self.field(types::I32, offset_of!(Moment, pc));
        self.b.ins().jump(self.dispatch, &[BlockArg::Value(pc)]);
        self.dispatch_block();
    }

    /// The block that goes on at any program counter.
    fn dispatch_block(&mut self) {
        let pc = self.b.append_block_param(self.dispatch, types::I32);
        let elsewhere = self.b.create_block();
        self.b.set_cold_block(elsewhere);
        let known = |&index: &usize| self.careful[index].is_some();
        let first = (0..self.careful.len()).find(known).unwrap_or(0);
        let end = (0..self.careful.len()).rfind(known).map_or(0, |at| at + 1);
        self.b.switch_to_block(self.dispatch);
        let from = i64::from(self.program.address(first).cast_signed());
        let offset = self.b.ins().iadd_imm_s(pc, -from);
        // An address that is not aligned becomes a high index.
        let index = self.b.ins().rotr_imm_u(offset, 2);
        let pool = &mut self.b.func.dfg.value_lists;
        let none = BlockCall::new(elsewhere, [], pool);
        let targets: Vec<_> = (first..end)
            .map(|index| match self.fast[index].or(self.careful[index]) {
                Some(block) => BlockCall::new(block, [], pool),
                None => none,
            })
            .collect();
        let table = self.b.create_jump_table(JumpTableData::new(none, &targets));
        self.b.ins().br_table(index, table);
        self.at_block(elsewhere);
        self.leave_elsewhere(pc);
    }

    /// Leaves at a program counter that stands in the context.
    pub(crate) fn leave_elsewhere(&mut self, pc: Value) {
        self.set_field(offset_of!(Moment, pc), pc);
        let next_pc = self.b.ins().iadd_imm_s(pc, 4);
        self.set_field(offset_of!(Moment, next_pc), next_pc);
        let site = values::constant(&mut self.b, ELSEWHERE as u32);
        self.give_back(site);
    }

    /// The blocks that leave.
    pub(crate) fn ways_out(&mut self) {
        for stubs in std::mem::take(&mut self.stubs).chunks(STUBS_OF_EXIT) {
            let exit = self.b.create_block();
            self.b.set_cold_block(exit);
            let site = self.b.append_block_param(exit, types::I32);
            for stub in stubs {
                self.at_block(stub.block);
                if let Some(next_pc) = stub.next_pc {
                    self.set_field(offset_of!(Moment, next_pc), next_pc);
                }
                if let Some(turn) = stub.turn {
                    self.keep_turn(turn);
                }
                let number = values::constant(&mut self.b, stub.site as u32);
                self.b.ins().jump(exit, &[BlockArg::Value(number)]);
            }
            self.at_block(exit);
            self.give_back(site);
        }
    }

    /// Returns this number of a site.
    pub(crate) fn give_back(&mut self, site: Value) {
        // Code that takes turns leaves the register to the function that entered it.
        if self.hot.is_none() {
            let kept = self.field(types::I64, offset_of!(Moment, kept));
            self.b.ins().set_pinned_reg(kept);
        }
        self.b.ins().return_(&[site]);
    }

    /// Goes on in a block with nothing known.
    pub(crate) fn at_block(&mut self, block: Block) {
        self.b.switch_to_block(block);
        (self.context, self.base) = self.lasting;
    }

    /// Begins code at an instruction.
    pub(crate) fn begin(&mut self, block: Block, index: usize) {
        self.at_block(block);
        self.index = index;
        self.next = Next::Sequence;
        (self.cycles, self.extra) = (0, 0);
        // Cores that take turns have theirs in the moment.
        self.registers = match self.hot {
            None => Registers::default(),
            Some(_) => Registers::at(offset_of!(Moment, values)),
        };
    }

    fn fast_run(&mut self, run: &Run) {
        let (Some(block), Some(slow)) = (self.fast[run.start], self.careful[run.start]) else {
            return;
        };
        self.begin(block, run.start);
        self.is_fast = true;
        self.only_above(run.cycles_before_last, slow);
        self.instructions_of(run);
    }

    /// The instructions of a run, and what comes after it.
    pub(crate) fn instructions_of(&mut self, run: &Run) {
        for index in run.start..run.end {
            self.index = index;
            match self.program.at(index) {
                Some(instruction) if instruction.operation.has_delay_slot() => {
                    self.branch(instruction, false);
                }
                Some(instruction) => self.plain(instruction),
                None => {}
            }
        }
        if !run.branches {
            self.go_to(self.program.address(run.end));
        }
    }

    fn careful_one(&mut self, index: usize) {
        let (Some(block), Some(instruction)) = (self.careful[index], self.program.at(index)) else {
            return;
        };
        self.begin(block, index);
        self.is_fast = false;
        let time = self.leaves(Leave::Time);
        self.only_above(0, time);
        if instruction.operation.has_delay_slot() {
            self.branch(instruction, true);
        } else {
            self.plain(instruction);
            self.go_to(self.program.address(index + 1));
        }
    }

    /// An instruction that control leaves to the next one.
    fn plain(&mut self, instruction: Instruction) {
        if instruction.operation.access_bytes() > 0 {
            self.access(instruction);
            return;
        }
        let value = match values::moved(instruction) {
            Some(Moved::Constant(value)) => Some(values::constant(&mut self.b, value)),
            Some(Moved::Register(register)) => Some(self.register(register)),
            None => {
                let rs = self.register(instruction.rs);
                let rt = self.register(instruction.rt);
                values::result(&mut self.b, instruction, rs, rt)
            }
        };
        if let Some(value) = value {
            self.registers.write(instruction.dst, value);
        }
        self.charge(self.program.costs.instruction, 0);
    }

    /// Goes on at an address of code.
    fn go_to(&mut self, address: u32) {
        if let Some(run) = self.run_in_sequence(address) {
            self.in_sequence();
            self.instructions_of(&run);
            return;
        }
        self.flush();
        self.settle();
        if self.hot.is_some() {
            self.turn_to(address);
            return;
        }
        let index = self.program.index(address);
        let known = index.and_then(|index| self.fast[index].or(self.careful[index]));
        let block = match known {
            Some(block) => block,
            None => {
                self.in_sequence();
                self.leaves_at(Leave::Step, address)
            }
        };
        self.b.ins().jump(block, &[]);
    }

    /// A branch or jump with its slot.
    fn branch(&mut self, instruction: Instruction, careful: bool) {
        let operation = instruction.operation;
        let rs = self.register(instruction.rs);
        let rt = self.register(instruction.rt);
        let condition = match always(instruction) {
            true => None,
            false => values::condition(&mut self.b, operation, rs, rt),
        };
        let held = match operation {
            Operation::Jr | Operation::Jalr => Some(rs),
            Operation::Joff => {
                let distance = self.b.ins().ishl_imm_u(rt, 3);
                Some(self.b.ins().iadd(rs, distance))
            }
            _ => None,
        };
        let pc = self.program.address(self.index);
        if operation.links() {
            let link = values::constant(&mut self.b, pc.wrapping_add(8));
            self.registers.write(instruction.dst, link);
        }
        if !self.is_lean() {
            self.flush();
        }
        self.charge(self.program.costs.instruction, 0);
        let Some(condition) = condition else {
            self.taken(held, careful);
            return;
        };
        let (taken, other) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(condition, taken, &[], other, &[]);
        let before = (self.index, self.cycles, self.extra, self.turn);
        let (registers, sequence) = (self.registers.clone(), self.sequence);
        self.b.switch_to_block(taken);
        self.taken(held, careful);
        (self.index, self.cycles, self.extra, self.turn) = before;
        (self.registers, self.sequence) = (registers, sequence);
        self.b.switch_to_block(other);
        self.next = Next::Sequence;
        if operation.is_likely() {
            self.charge(0, self.program.costs.annulled_slot);
        } else {
            self.slot(careful);
        }
        self.go_to(pc.wrapping_add(8));
    }

    /// The slot of a taken branch, and its target: a held one or the one of its instruction.
    fn taken(&mut self, held: Option<Value>, careful: bool) {
        self.charge(0, self.program.costs.taken_branch);
        let target = self.program.target(self.index);
        self.next = match (held, target) {
            (Some(value), _) => Next::Held(value),
            (None, Some(address)) => Next::At(address),
            (None, None) => Next::Sequence,
        };
        let next = self.next;
        self.slot(careful);
        match next {
            Next::Held(value) => {
                self.flush();
                self.settle();
                match self.hot {
                    None => {
                        self.b.ins().jump(self.dispatch, &[BlockArg::Value(value)]);
                    }
                    Some(_) => self.leave_to(value),
                }
            }
            Next::At(address) => self.go_to(address),
            Next::Sequence => self.go_to(self.program.address(self.index + 1)),
        }
    }

    /// The slot of the branch at hand.
    fn slot(&mut self, careful: bool) {
        let slot = self.program.slot(self.index);
        self.index += 1;
        if careful {
            self.settle();
            let time = self.leaves(Leave::Time);
            self.only_above(0, time);
        }
        if let Some(slot) = slot {
            self.plain(slot);
        }
    }
}

/// Whether a conditional branch is taken in any case.
const fn always(instruction: Instruction) -> bool {
    match instruction.operation {
        Operation::Beq | Operation::Beql => instruction.rs == instruction.rt,
        Operation::Blez | Operation::Bgez | Operation::Bgezal => instruction.rs == 0,
        _ => false,
    }
}
