//! Loads and stores: each compares its address with the sizes of the memories, and leaves if it is in none of them.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Value, types};

use crate::budget;
use crate::emit::Emitter;
use crate::machine::{Leave, Moment};
use crate::program::{Instruction, Operation};
use crate::shared::{self, Access};
use crate::turns::Turn;

/// An access at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) bytes: u32,
    /// The value to store; `None` for a load.
    pub(crate) value: Option<Value>,
    /// Where it ends. The block takes what was loaded, and the time if the code takes turns.
    pub(crate) end: Block,
    /// Where it goes on if it is left to the bus.
    pub(crate) leave: Block,
}

impl<'p, 'f> Emitter<'p, 'f> {
    /// An access to shared memory.
    pub(crate) fn shared_access(&mut self, place: Place) -> Access<'p, '_, 'f> {
        Access {
            program: self.program,
            context: self.context(),
            bytes: place.bytes,
            refuse: place.leave,
            b: &mut self.b,
        }
    }
}

impl Emitter<'_, '_> {
    /// A load or store.
    pub(crate) fn access(&mut self, instruction: Instruction) {
        let operation = instruction.operation;
        let rs = self.register(instruction.rs);
        let value = operation.stores().then(|| self.register(instruction.rt));
        // Whatever leaves from here on finds the registers in memory.
        self.flush();
        let end = self.b.create_block();
        let place = Place {
            bytes: operation.access_bytes(),
            value,
            end,
            leave: self.leaves(Leave::Access),
        };
        if value.is_none() {
            self.b.append_block_param(end, types::I32);
        }
        match self.turn {
            None => self.by_address(rs, instruction.imm, place),
            Some(turn) => self.by_address_in_turn(rs, instruction.imm, place, turn),
        }
        self.b.switch_to_block(end);
        self.set_time(end);
        if value.is_none() {
            let loaded = self.b.block_params(end)[0];
            let loaded = self.extended(operation, loaded);
            self.registers.write(instruction.dst, loaded);
        }
        let costs = &self.program.costs;
        let (own, shared) = match operation.stores() {
            true => (costs.own_store, costs.shared_store),
            false => (costs.own_load, costs.shared_load),
        };
        // The other kind of access pays for the difference.
        let cycles = if self.turn.is_some() { shared } else { own };
        self.charge(costs.instruction, cycles);
    }

    /// Accesses `rs + imm`: the core's own memory, or the shared one.
    fn by_address(&mut self, rs: Value, imm: u32, place: Place) {
        let other = self.b.create_block();
        let distance = imm.wrapping_sub(self.program.layout.own_base);
        self.own_or(rs, distance, place, other);
        self.b.switch_to_block(other);
        let address = self.sum(rs, imm);
        self.shared(address, place);
    }

    /// Accesses the core's own memory, or goes on in `other`.
    pub(crate) fn own_or(&mut self, rs: Value, distance: u32, place: Place, other: Block) {
        let offset = self.sum(rs, distance);
        let index = self.units(offset, place.bytes);
        let limit = 4 * self.program.layout.own_words / place.bytes;
        let inside = self.below(index, limit);
        self.only_if(inside, other);
        self.own(index, place);
    }

    /// `value + distance`.
    pub(crate) fn sum(&mut self, value: Value, distance: u32) -> Value {
        match distance {
            0 => value,
            _ => {
                let distance = i64::from(distance.cast_signed());
                self.b.ins().iadd_imm_s(value, distance)
            }
        }
    }

    /// An offset in units of the access. One that is not aligned becomes a high number.
    pub(crate) fn units(&mut self, offset: Value, bytes: u32) -> Value {
        match bytes.trailing_zeros() {
            0 => offset,
            shift => self.b.ins().rotr_imm_u(offset, i64::from(shift)),
        }
    }

    pub(crate) fn below(&mut self, value: Value, limit: u32) -> Value {
        let limit = i64::from(limit.cast_signed());
        self.b
            .ins()
            .icmp_imm_s(IntCC::UnsignedLessThan, value, limit)
    }

    /// `base + (index << shift)`.
    fn element(&mut self, base: Value, index: Value, shift: u32) -> Value {
        let index = self.b.ins().uextend(types::I64, index);
        let distance = match shift {
            0 => index,
            shift => self.b.ins().ishl_imm_u(index, i64::from(shift)),
        };
        self.b.ins().iadd(base, distance)
    }

    /// Sign extension of what was loaded.
    fn extended(&mut self, operation: Operation, value: Value) -> Value {
        let narrow = match operation {
            Operation::Lb => types::I8,
            Operation::Lh => types::I16,
            _ => return value,
        };
        let value = self.b.ins().ireduce(narrow, value);
        self.b.ins().sextend(types::I32, value)
    }

    /// Goes on behind the access.
    pub(crate) fn finish(&mut self, place: Place, loaded: Option<Value>) {
        let loaded = loaded.into_iter();
        let time = self.turn.into_iter().flat_map(Turn::changing);
        let values: Vec<_> = loaded.chain(time).map(BlockArg::Value).collect();
        self.b.ins().jump(place.end, &values);
    }

    fn read(&mut self, at: Value, bytes: u32) -> Value {
        let flags = MemFlagsData::trusted();
        match bytes {
            1 => self.b.ins().uload8(types::I32, flags, at, 0),
            2 => self.b.ins().uload16(types::I32, flags, at, 0),
            _ => self.b.ins().load(types::I32, flags, at, 0),
        }
    }

    fn write(&mut self, at: Value, value: Value, bytes: u32) {
        let flags = MemFlagsData::trusted();
        match bytes {
            1 => self.b.ins().istore8(flags, value, at, 0),
            2 => self.b.ins().istore16(flags, value, at, 0),
            _ => self.b.ins().store(flags, value, at, 0),
        };
    }

    /// The core did something that others can see.
    fn disturb(&mut self) {
        let one = self.b.ins().iconst(types::I32, 1);
        self.set_field(offset_of!(Moment, disturbed), one);
    }

    /// An access to the core's own memory: words in the host's order of bytes, which is little-endian.
    fn own(&mut self, index: Value, place: Place) {
        let shift = place.bytes.trailing_zeros();
        if place.value.is_some() {
            let word = match 2 - shift {
                0 => index,
                distance => self.b.ins().ushr_imm_u(index, i64::from(distance)),
            };
            let decoded = self.field(types::I64, offset_of!(Moment, decoded));
            let at = self.element(decoded, word, 3);
            let flags = MemFlagsData::trusted();
            let decoded = self.b.ins().load(types::I64, flags, at, 0);
            let data = self.program.layout.data.cast_signed();
            let data = self.b.ins().icmp_imm_s(IntCC::Equal, decoded, data);
            // A store into code, or the first one to a word, is left to the bus.
            self.only_if(data, place.leave);
        }
        let unit = match 4 / place.bytes - 1 {
            0 => index,
            last => self.b.ins().bxor_imm_u(index, i64::from(last)),
        };
        let words = self.field(types::I64, offset_of!(Moment, own));
        let at = self.element(words, unit, shift);
        match place.value {
            Some(value) => {
                self.write(at, value, place.bytes);
                self.disturb();
                self.finish(place, None);
            }
            None => {
                let loaded = self.read(at, place.bytes);
                self.finish(place, Some(loaded));
            }
        }
    }

    /// An access to shared memory.
    fn shared(&mut self, address: Value, place: Place) {
        let pending = budget::of(-i64::from(self.cycles), i64::from(self.extra));
        match self.is_hot() {
            true => self.shared_in_place(address, pending, place),
            false => self.shared_by_call(address, pending, place),
        }
    }

    fn shared_in_place(&mut self, address: Value, pending: i64, place: Place) {
        let mut access = self.shared_access(place);
        let budget = access.budget();
        let budget = access.b.ins().iadd_imm_s(budget, pending);
        let loaded = access.carry_out(address, budget, place.value);
        self.finish(place, loaded);
    }

    fn shared_by_call(&mut self, address: Value, pending: i64, place: Place) {
        let function = self.shared[shared::number(place.bytes, place.value.is_some())];
        let pending = self.b.ins().iconst(types::I64, pending);
        let mut arguments = vec![address, pending];
        arguments.extend(place.value);
        self.b.ins().call(function, &arguments);
        let refused = self.field(types::I32, offset_of!(Moment, refused));
        let done = self.b.ins().icmp_imm_s(IntCC::Equal, refused, 0);
        self.only_if(done, place.leave);
        let loaded = match place.value {
            Some(_) => None,
            None => Some(self.field(types::I32, offset_of!(Moment, loaded))),
        };
        self.finish(place, loaded);
    }
}
