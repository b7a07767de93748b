//! An independent model of the core: bits of words are taken apart anew, and every delayed effect is an entry in a calendar
//! of steps. Slow, and written for comparison with docs/lanai-core.md alone.

use std::collections::BTreeMap;

use emulator::cpu::lanai::pipeline::{PcValue, Pipeline};

/// Outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Done,
    NoCode,
    Unknown,
}

pub struct Reference {
    pub pipeline: Pipeline,
    pub registers: [u32; 32],
    /// Z, N, V, C.
    pub flags: [bool; 4],
    pub pc: u32,
    pub memory: Vec<u8>,
    pub status: u32,
    pub cycles: u64,
    step: u64,
    /// Targets by the step that executes them.
    targets: BTreeMap<u64, u32>,
    /// Loaded registers by the step at whose end they change.
    loads: BTreeMap<u64, Vec<(u32, u32)>>,
    /// Register that the last instruction loaded.
    last_load: Option<u32>,
    /// Registers read by this instruction.
    reads: Vec<u32>,
}

struct Outcome {
    writes: Vec<(u32, u32)>,
    flags: Option<[bool; 4]>,
    load: Option<(u32, u32)>,
    target: Option<u32>,
}

/// An access to memory, as its word describes it.
struct Access {
    rd: u32,
    rs1: u32,
    /// When the base register moves: bit 0: it moves; bit 1: before the access.
    update: u32,
    bytes: u32,
    stores: bool,
    signed: bool,
}

impl Reference {
    pub fn new(pipeline: Pipeline, registers: &[u32], memory: Vec<u8>) -> Self {
        let mut all = [0; 32];
        all.copy_from_slice(registers);
        all[0] = 0;
        all[1] = 0xffff_ffff;
        Self {
            pipeline,
            registers: all,
            flags: [false; 4],
            pc: 0,
            memory,
            status: 0,
            cycles: 0,
            step: 0,
            targets: BTreeMap::new(),
            loads: BTreeMap::new(),
            last_load: None,
            reads: Vec::new(),
        }
    }

    pub fn flag_bits(&self) -> u32 {
        (0..4).map(|bit| (self.flags[bit] as u32) << bit).sum()
    }

    pub fn next_pc(&self) -> u32 {
        match self.targets.get(&(self.step + 1)) {
            Some(&target) => target,
            None => self.pc.wrapping_add(4),
        }
    }

    pub fn read(&self, address: u32, bytes: u32) -> u32 {
        let start = address as usize;
        if start + bytes as usize > self.memory.len() {
            return 0;
        }
        let bytes = &self.memory[start..start + bytes as usize];
        bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | byte as u32)
    }

    fn write_memory(&mut self, address: u32, bytes: u32, value: u32) {
        if address as usize + bytes as usize > self.memory.len() {
            return;
        }
        for i in 0..bytes {
            self.memory[(address + i) as usize] = (value >> (8 * (bytes - 1 - i))) as u8;
        }
    }

    /// Reads a register as an operand.
    fn get(&mut self, register: u32) -> u32 {
        self.reads.push(register);
        match register {
            2 if self.pipeline.pc_value == PcValue::Own => self.pc,
            2 => self.next_pc(),
            3 if self.pipeline.status_register => self.flag_bits(),
            31 if self.pipeline.interrupt_register => self.status,
            _ => self.registers[register as usize],
        }
    }

    /// Executes the instruction at `pc`.
    pub fn step(&mut self) -> Step {
        if self.pc as usize + 4 > self.memory.len() {
            return Step::NoCode;
        }
        self.reads.clear();
        let word = self.read(self.pc, 4);
        let Some(outcome) = self.outcome(word) else {
            return Step::Unknown;
        };
        self.cycles += 1;
        if let Some(loaded) = self.last_load.take()
            && self.pipeline.load_slots == 0
            && self.reads.contains(&loaded)
        {
            self.cycles += 1;
        }
        self.finish(outcome);
        Step::Done
    }

    fn finish(&mut self, outcome: Outcome) {
        for (register, value) in self.loads.remove(&self.step).unwrap_or_default() {
            self.set_plain(register, value);
        }
        for (register, value) in outcome.writes {
            match register {
                2 => self.jump(value, self.pipeline.pc_write_slots),
                31 if self.pipeline.interrupt_register => self.status &= !value,
                _ => self.set_plain(register, value),
            }
        }
        if let Some(flags) = outcome.flags {
            self.flags = flags;
        }
        if let Some((register, value)) = outcome.load {
            match (register, self.pipeline.load_slots) {
                (2, _) => self.jump(value, self.pipeline.pc_load_slots),
                (31, _) if self.pipeline.interrupt_register => self.status &= !value,
                (_, 0) => self.set_plain(register, value),
                (_, slots) => {
                    let due = self.step + slots as u64;
                    self.loads.entry(due).or_default().push((register, value));
                }
            }
            let storage = register > 2;
            self.last_load = storage.then_some(register);
        }
        if let Some(target) = outcome.target {
            self.jump(target, self.pipeline.branch_slots);
        }
        let next = self.next_pc();
        self.step += 1;
        self.targets.remove(&self.step);
        self.pc = next;
    }

    fn jump(&mut self, target: u32, slots: u8) {
        let at = self.step + 1 + slots as u64;
        self.targets.insert(at, target / 4 * 4);
    }

    fn set_plain(&mut self, register: u32, value: u32) {
        match register {
            0 | 1 => {}
            3 if self.pipeline.status_register => {
                self.flags = [0, 1, 2, 3].map(|bit| value >> bit & 1 == 1);
            }
            _ => self.registers[register as usize] = value,
        }
    }

    fn condition(&self, number: u32) -> bool {
        let [z, n, v, c] = self.flags;
        let positive = match number / 2 {
            0 => true,
            1 => c && !z,
            2 => !c,
            3 => !z,
            4 => !v,
            5 => !n,
            6 => n == v,
            _ => !z && n == v,
        };
        positive != (number % 2 == 1)
    }

    /// Result and flags of an operation; 8 is the arithmetic shift.
    fn operate(&self, operation: u32, a: u32, b: u32) -> (u32, [bool; 4]) {
        let carry = self.flags[3] as u64;
        let sum = |b: u32, carry: u64| {
            let exact = a as i32 as i64 + b as i32 as i64 + carry as i64;
            let value = exact as u32;
            let c = a as u64 + b as u64 + carry > 0xffff_ffff;
            let v = exact != value as i32 as i64;
            (value, [value == 0, value >= 0x8000_0000, v, c])
        };
        let logic = |value: u32| (value, [value == 0, value >= 0x8000_0000, false, false]);
        match operation {
            0 => sum(b, 0),
            1 => sum(b, carry),
            2 => sum(!b, 1),
            3 => sum(!b, carry),
            4 => logic(a & b),
            5 => logic(a | b),
            6 => logic(a ^ b),
            _ => {
                let distance = b as i32 as i64;
                let mut value = a;
                let mut last = false;
                for _ in 0..distance.clamp(0, 40) {
                    last = value >= 0x8000_0000;
                    value = value.wrapping_mul(2);
                }
                if distance > 32 || (distance == 32 && a & 1 == 0) {
                    last = false;
                }
                // A distance of 32 and more leaves nothing, also no carry.
                if distance >= 32 {
                    last = false;
                }
                for _ in 0..(-distance).clamp(0, 40) {
                    let top = if operation == 8 {
                        value & 0x8000_0000
                    } else {
                        0
                    };
                    value = top + value / 2;
                }
                let (value, mut flags) = logic(value);
                flags[3] = last;
                (value, flags)
            }
        }
    }

    fn outcome(&mut self, word: u32) -> Option<Outcome> {
        let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
        let (rd, rs1) = (field(23, 5), field(18, 5));
        let half = field(0, 16);
        match word >> 28 {
            operation @ 0..=7 => {
                let high = field(16, 1) == 1;
                let a = self.get(rs1);
                let (operation, b) = match (operation, high) {
                    (7, false) => (7, half as u16 as i16 as u32),
                    (7, true) => (8, half as u16 as i16 as u32),
                    (4, false) => (4, half + 0xffff_0000),
                    (4, true) => (4, half * 65536 + 0xffff),
                    (_, false) => (operation, half),
                    (_, true) => (operation, half * 65536),
                };
                Some(self.computed(rd, operation, a, b, field(17, 1) == 1))
            }
            8 | 9 => {
                let offset = half as u16 as i16 as u32;
                self.access(
                    &Access {
                        rd,
                        rs1,
                        update: field(16, 2),
                        bytes: 4,
                        stores: word >> 28 == 9,
                        signed: false,
                    },
                    |a| a.wrapping_add(offset),
                )
            }
            10 | 11 => self.indexed(word),
            12 => self.two_registers(word),
            13 if self.pipeline.nested => {
                let (a, b, c) = (self.get(rs1), self.get(field(11, 5)), self.get(field(3, 5)));
                let (inner, _) = self.operate(field(0, 3), b, c);
                Some(self.computed(rd, field(8, 3), a, inner, field(17, 1) == 1))
            }
            13 if self.pipeline.bit_counts && field(3, 15) == 0 => {
                let a = self.get(rs1);
                let ones = (0..32).filter(|bit| a >> bit & 1 == 1);
                let value = match field(0, 3) {
                    1 => ones.count() as u32,
                    2 => ones.max().map_or(32, |bit| 31 - bit),
                    3 => ones.clone().next().unwrap_or(32),
                    _ => return None,
                };
                Some(written(rd, value))
            }
            13 => None,
            14 => self.branch(word),
            _ => self.short(word),
        }
    }

    fn two_registers(&mut self, word: u32) -> Option<Outcome> {
        let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
        let (rd, rs1, rs2) = (field(23, 5), field(18, 5), field(11, 5));
        let condition = field(0, 3) * 2 + field(16, 1);
        let (operation, junction) = (field(8, 3), field(3, 5));
        let select = operation == 7 && junction == 0;
        let valid =
            operation < 7 || junction == 16 || junction == 24 || (select && field(17, 1) == 0);
        if !valid || ((select || condition != 0) && !self.pipeline.predicates) {
            return None;
        }
        let (a, b) = (self.get(rs1), self.get(rs2));
        let holds = self.condition(condition);
        if select {
            return Some(written(rd, if holds { a } else { b }));
        }
        if !holds {
            return Some(nothing());
        }
        let operation = if junction == 24 && operation == 7 {
            8
        } else {
            operation
        };
        Some(self.computed(rd, operation, a, b, field(17, 1) == 1))
    }

    fn branch(&mut self, word: u32) -> Option<Outcome> {
        let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
        let holds = self.condition(field(25, 3) * 2 + field(0, 1));
        if field(1, 1) == 0 {
            let target = holds.then_some(word & 0x01ff_fffc);
            return Some(Outcome {
                target,
                ..nothing()
            });
        }
        let register = field(18, 5);
        if field(24, 1) == 1 {
            if field(23, 1) != 0 || field(16, 2) != 0 {
                return None;
            }
            let base = self.get(register);
            let target = base.wrapping_add((word & 0xfffc) as u16 as i16 as u32);
            let target = holds.then_some(target);
            return Some(Outcome {
                target,
                ..nothing()
            });
        }
        if !self.pipeline.set_condition || field(23, 1) != 0 || field(2, 16) != 0 {
            return None;
        }
        Some(written(register, holds as u32))
    }

    fn short(&mut self, word: u32) -> Option<Outcome> {
        let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
        let rd = field(23, 5);
        let long = field(18, 5) * 65536 + field(0, 16);
        match field(16, 2) {
            0 | 1 => self.access(
                &Access {
                    rd,
                    rs1: 0,
                    update: 2,
                    bytes: 4,
                    stores: field(16, 2) == 1,
                    signed: false,
                },
                |_| long,
            ),
            2 => Some(written(rd, long)),
            _ if field(15, 1) == 1 => None,
            _ => {
                let (byte, stores, zero) = (field(14, 1), field(13, 1) == 1, field(12, 1) == 1);
                if stores && zero {
                    return None;
                }
                let offset = ((field(0, 10) << 22) as i32 >> 22) as u32;
                let sum = |a: u32| a.wrapping_add(offset);
                let signed = !stores && !zero;
                self.access(
                    &Access {
                        rd,
                        rs1: field(18, 5),
                        update: field(10, 2),
                        bytes: 2 - byte,
                        stores,
                        signed,
                    },
                    sum,
                )
            }
        }
    }

    fn indexed(&mut self, word: u32) -> Option<Outcome> {
        let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
        let stores = word >> 28 == 11;
        let (width, zero) = (field(1, 2), field(0, 1) == 1);
        if width == 3 || (stores && zero) {
            return None;
        }
        let operation = match (field(8, 3), field(3, 5)) {
            (7, 24) => 8,
            (operation, _) => operation,
        };
        let update = field(16, 2);
        let shifts = operation >= 7 && update != 0;
        let bytes = match width {
            _ if shifts => 4,
            0 => 2,
            1 => 4,
            _ => 1,
        };
        let b = if update == 0 {
            0
        } else {
            self.get(field(11, 5))
        };
        let a = if update == 0 {
            0
        } else {
            self.get(field(18, 5))
        };
        let (sum, _) = self.operate(operation, a, b);
        let signed = !zero && !stores && bytes != 4;
        self.access(
            &Access {
                rd: field(23, 5),
                rs1: field(18, 5),
                update,
                bytes,
                stores,
                signed,
            },
            |_| sum,
        )
    }

    fn access(&mut self, access: &Access, sum: impl Fn(u32) -> u32) -> Option<Outcome> {
        let &Access {
            rd,
            rs1,
            update,
            bytes,
            stores,
            signed,
        } = access;
        let base = self.get(rs1);
        let sum = sum(base);
        let address = if update >= 2 { sum } else { base } / bytes * bytes;
        let mut outcome = nothing();
        if update % 2 == 1 {
            outcome.writes.push((rs1, sum));
        }
        if stores {
            let value = self.get(rd);
            self.write_memory(address, bytes, value);
            return Some(outcome);
        }
        let value = self.read(address, bytes);
        let value = match (signed, bytes) {
            (true, 1) => value as u8 as i8 as u32,
            (true, 2) => value as u16 as i16 as u32,
            _ => value,
        };
        outcome.load = Some((rd, value));
        Some(outcome)
    }

    fn computed(&mut self, rd: u32, operation: u32, a: u32, b: u32, sets: bool) -> Outcome {
        let (value, flags) = self.operate(operation, a, b);
        let flags = sets.then_some(flags);
        Outcome {
            flags,
            ..written(rd, value)
        }
    }
}

fn nothing() -> Outcome {
    Outcome {
        writes: Vec::new(),
        flags: None,
        load: None,
        target: None,
    }
}

fn written(register: u32, value: u32) -> Outcome {
    let writes = vec![(register, value)];
    Outcome {
        writes,
        ..nothing()
    }
}
