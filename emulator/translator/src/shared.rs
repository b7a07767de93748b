//! Accesses to shared memory. Short loops have them in place. Other code, which should be small, calls a function for each width and
//! direction: these change no register of the host, so that the code around a call keeps all of its own.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;

use crate::budget;
use crate::machine::Moment;
use crate::program::Program;
use crate::values;

/// Number of functions.
pub(crate) const FUNCTIONS: usize = 6;

/// Number of the function for an access of that many bytes.
pub(crate) const fn number(bytes: u32, stores: bool) -> usize {
    bytes.trailing_zeros() as usize * 2 + stores as usize
}

/// Writes a function into `b`. It takes the address, the change of the budget that is still to be made, and the value to store. It
/// refuses what it cannot do, and leaves what it has loaded in the context.
pub(crate) fn function(
    program: &Program,
    number: usize,
    mut b: FunctionBuilder<'_>,
    target: TargetFrontendConfig,
) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let parameters = b.block_params(entry).to_vec();
    let context = b.ins().get_pinned_reg(types::I64);
    let refuse = b.create_block();
    let mut access = Access {
        program,
        context,
        bytes: 1 << (number / 2),
        refuse,
        b: &mut b,
    };
    let budget = access.budget();
    let budget = access.b.ins().iadd(budget, parameters[1]);
    let loaded = access.carry_out(parameters[0], budget, parameters.get(2).copied());
    if let Some(loaded) = loaded {
        access.set_field(offset_of!(Moment, loaded), loaded);
    }
    b.ins().return_(&[]);
    b.switch_to_block(refuse);
    let one = b.ins().iconst(types::I32, 1);
    let refused = values::offset(offset_of!(Moment, refused));
    b.ins()
        .store(MemFlagsData::trusted(), one, context, refused);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(target);
}

/// An access at hand.
pub(crate) struct Access<'p, 'b, 'f> {
    pub(crate) program: &'p Program,
    /// Address of the [`Moment`].
    pub(crate) context: Value,
    pub(crate) bytes: u32,
    /// Where it goes on if it cannot be done.
    pub(crate) refuse: Block,
    pub(crate) b: &'b mut FunctionBuilder<'f>,
}

impl Access<'_, '_, '_> {
    fn field(&mut self, kind: types::Type, offset: usize) -> Value {
        let flags = MemFlagsData::trusted();
        self.b
            .ins()
            .load(kind, flags, self.context, values::offset(offset))
    }

    fn set_field(&mut self, offset: usize, value: Value) {
        let flags = MemFlagsData::trusted();
        self.b
            .ins()
            .store(flags, value, self.context, values::offset(offset));
    }

    /// Goes on if `condition` holds, and refuses otherwise.
    fn only_if(&mut self, condition: Value) {
        let here = self.b.create_block();
        self.b.ins().brif(condition, here, &[], self.refuse, &[]);
        self.b.switch_to_block(here);
    }

    /// The budget before changes that are still to be made.
    pub(crate) fn budget(&mut self) -> Value {
        self.field(types::I64, offset_of!(Moment, budget))
    }

    /// Accesses the memory at `address` with this budget; gives what was loaded if there is no value to store.
    pub(crate) fn carry_out(
        &mut self,
        address: Value,
        budget: Value,
        value: Option<Value>,
    ) -> Option<Value> {
        let layout = self.program.layout;
        let shift = i64::from(self.bytes.trailing_zeros());
        // An address that is not aligned becomes a high number.
        let unit = self.b.ins().rotr_imm_u(address, shift);
        let limit = i64::from(layout.shared_limit / self.bytes);
        let below = IntCC::UnsignedLessThan;
        let inside = self.b.ins().icmp_imm_u(below, unit, limit);
        self.only_if(inside);
        let offset = self.offset(address);
        if value.is_some() {
            self.only_to_data(offset);
        }
        self.take_bus(budget);
        let loaded = self.transfer(offset, value);
        let costs = self.program.costs;
        match value {
            Some(_) => self.spend_more(costs.own_store, costs.shared_store),
            None => self.spend_more(costs.own_load, costs.shared_load),
        }
        loaded
    }

    /// The distance of an address from the beginning of the memory.
    pub(crate) fn offset(&mut self, address: Value) -> Value {
        let mask = i64::from(self.program.layout.shared_bytes - 1);
        let offset = self.b.ins().band_imm_u(address, mask);
        self.b.ins().uextend(types::I64, offset)
    }

    /// Goes on if there is no code in the line.
    pub(crate) fn only_to_data(&mut self, offset: Value) {
        let shift = i64::from(self.program.layout.line_bytes.trailing_zeros());
        let line = self.b.ins().ushr_imm_u(offset, shift);
        let lines = self.field(types::I64, offset_of!(Moment, lines));
        let at = self.b.ins().iadd(lines, line);
        let flags = MemFlagsData::trusted();
        let code = self.b.ins().uload8(types::I32, flags, at, 0);
        let data = self.b.ins().icmp_imm_s(IntCC::Equal, code, 0);
        self.only_if(data);
    }

    /// Writes a value, or reads one if there is none.
    pub(crate) fn transfer(&mut self, offset: Value, value: Option<Value>) -> Option<Value> {
        let memory = self.field(types::I64, offset_of!(Moment, shared));
        let at = self.b.ins().iadd(memory, offset);
        match value {
            Some(value) => {
                self.store(at, value);
                None
            }
            None => Some(self.load(at)),
        }
    }

    /// Takes the bus, if it is free.
    fn take_bus(&mut self, budget: Value) {
        let left = self.b.ins().sshr_imm_u(budget, budget::SHIFT);
        let each = self.field(types::I64, offset_of!(Moment, ticks_per_cycle));
        let rest = self.b.ins().imul(left, each);
        let end = self.field(types::I64, offset_of!(Moment, end));
        let now = self.b.ins().isub(end, rest);
        let free_at = self.field(types::I64, offset_of!(Moment, bus_free_at));
        let is_free = IntCC::UnsignedLessThanOrEqual;
        let free = self.b.ins().icmp(is_free, free_at, now);
        self.only_if(free);
        let burst = self.field(types::I64, offset_of!(Moment, next_burst));
        let before = self.b.ins().icmp(IntCC::UnsignedLessThan, now, burst);
        self.only_if(before);
        let ticks = i64::from(self.program.costs.bus_ticks);
        let until = self.b.ins().iadd_imm_s(now, ticks);
        self.set_field(offset_of!(Moment, bus_free_at), until);
        self.set_field(offset_of!(Moment, shared_at), budget);
    }

    /// Takes the cycles of the access beyond one to the core's own memory.
    fn spend_more(&mut self, own: u32, shared: u32) {
        let more = i64::from(shared) - i64::from(own);
        if more != 0 {
            let budget = self.budget();
            let budget = self.b.ins().iadd_imm_s(budget, budget::of(-more, more));
            self.set_field(offset_of!(Moment, budget), budget);
        }
    }

    /// Reads a value, zero-extended, whose first byte is the highest one.
    fn load(&mut self, at: Value) -> Value {
        let flags = MemFlagsData::trusted();
        match self.bytes {
            1 => self.b.ins().uload8(types::I32, flags, at, 0),
            2 => {
                let value = self.b.ins().uload16(types::I32, flags, at, 0);
                let swapped = self.b.ins().bswap(value);
                self.b.ins().ushr_imm_u(swapped, 16)
            }
            _ => {
                let value = self.b.ins().load(types::I32, flags, at, 0);
                self.b.ins().bswap(value)
            }
        }
    }

    /// Writes a value, the highest byte first.
    fn store(&mut self, at: Value, value: Value) {
        let flags = MemFlagsData::trusted();
        match self.bytes {
            1 => self.b.ins().istore8(flags, value, at, 0),
            2 => {
                let swapped = self.b.ins().bswap(value);
                let swapped = self.b.ins().ushr_imm_u(swapped, 16);
                self.b.ins().istore16(flags, swapped, at, 0)
            }
            _ => {
                let swapped = self.b.ins().bswap(value);
                self.b.ins().store(flags, swapped, at, 0)
            }
        };
    }
}
