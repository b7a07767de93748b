//! A second interpreter, written as naively as possible from the architecture's definition and
//! sharing nothing with the first but this test. It executes one instruction at a time from bytes.

/// The end of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The instruction was executed.
    Done,
    /// A break, with its code.
    Break(u32),
    /// A misaligned access or fetch.
    Misaligned,
    /// The program counter left the memory.
    NoCode,
    /// Not an instruction of the chip.
    Unknown,
}

/// The machine.
#[derive(Clone)]
pub struct Reference {
    pub registers: [u32; 32],
    pub pc: u32,
    pub next_pc: u32,
    pub memory: Vec<u8>,
}

impl Reference {
    fn read(&self, address: u32, bytes: u32) -> u32 {
        if address as usize + bytes as usize > self.memory.len() {
            return 0;
        }
        let mut value = 0;
        for i in 0..bytes {
            value = value * 256 + u32::from(self.memory[(address + i) as usize]);
        }
        value
    }

    fn write(&mut self, address: u32, bytes: u32, value: u32) {
        if address as usize + bytes as usize > self.memory.len() {
            return;
        }
        for i in 0..bytes {
            self.memory[(address + i) as usize] = (value >> (8 * (bytes - 1 - i)) & 255) as u8;
        }
    }

    /// Executes the instruction at `pc`.
    pub fn step(&mut self) -> Step {
        if self.pc % 4 != 0 {
            return Step::Misaligned;
        }
        if self.pc as usize + 4 > self.memory.len() {
            return Step::NoCode;
        }
        let word = self.read(self.pc, 4);
        let opcode = word >> 26;
        match opcode {
            0 => self.special(word),
            1 => self.regimm(word),
            2..=7 | 0x14..=0x17 => self.branch_or_jump(word),
            8..=15 => self.immediate(word),
            0x20 | 0x21 | 0x23 | 0x24 | 0x25 | 0x28 | 0x29 | 0x2b => self.access(word),
            _ => Step::Unknown,
        }
    }

    fn advance(&mut self) -> Step {
        self.pc = self.next_pc;
        self.next_pc = self.pc.wrapping_add(4);
        Step::Done
    }

    fn set(&mut self, register: u32, value: u32) -> Step {
        self.registers[register as usize] = value;
        self.registers[0] = 0;
        self.advance()
    }

    fn jump(&mut self, target: u32) -> Step {
        self.pc = self.next_pc;
        self.next_pc = target;
        Step::Done
    }

    fn conditional(&mut self, word: u32, taken: bool, likely: bool) -> Step {
        if taken {
            let offset = (word & 0xffff) as u16 as i16 as i32;
            return self.jump((self.pc as i64 + 4 + 4 * offset as i64) as u32);
        }
        self.advance();
        if likely {
            self.advance();
        }
        Step::Done
    }

    fn special(&mut self, word: u32) -> Step {
        let (rs, rt, rd) = (word >> 21 & 31, word >> 16 & 31, word >> 11 & 31);
        let (shift, function) = (word >> 6 & 31, word & 63);
        let (s, t) = (self.registers[rs as usize], self.registers[rt as usize]);
        let reserved = match function {
            0 | 2 | 3 => rs,
            8 => rt | rd | shift,
            9 => rt | shift,
            10 => rd | shift,
            13 => 0,
            _ => shift,
        };
        if reserved != 0 {
            return Step::Unknown;
        }
        match function {
            0 => self.set(rd, ((t as u64) << shift) as u32),
            2 => self.set(rd, (t as u64 >> shift) as u32),
            3 => self.set(rd, (t as i32 as i64 >> shift) as u32),
            4 => self.set(rd, ((t as u64) << (s % 32)) as u32),
            6 => self.set(rd, (t as u64 >> (s % 32)) as u32),
            7 => self.set(rd, (t as i32 as i64 >> (s % 32)) as u32),
            8 => self.jump(s),
            9 => {
                let link = self.pc.wrapping_add(8);
                self.jump(s);
                self.registers[rd as usize] = link;
                self.registers[0] = 0;
                Step::Done
            }
            10 => self.jump((s as u64 + 8 * t as u64) as u32),
            11 => {
                let highest = (0..32).rev().find(|bit| (s & t) >> bit & 1 == 1);
                self.set(rd, highest.map_or(0, |bit| bit + 1))
            }
            13 => Step::Break(word >> 6 & 0xfffff),
            0x20 | 0x21 => self.set(rd, (s as u64 + t as u64) as u32),
            0x22 | 0x23 => self.set(rd, (s as i64 - t as i64) as u32),
            0x24 => self.set(rd, s & t),
            0x25 => self.set(rd, s | t),
            0x26 => self.set(rd, s ^ t),
            0x27 => self.set(rd, (s | t) ^ 0xffff_ffff),
            0x28 if rd != 0 => Step::Unknown,
            0x28 | 0x29 => self.bits(function == 0x29, s, t, rd),
            0x2a => self.set(rd, if (s as i32) < (t as i32) { 1 } else { 0 }),
            0x2b => self.set(rd, if s < t { 1 } else { 0 }),
            _ => Step::Unknown,
        }
    }

    /// The bit instructions, bit by bit: sets one, or clears a run within its word.
    fn bits(&mut self, clears: bool, base: u32, index: u32, rd: u32) -> Step {
        let address = (base as u64 + 4 * (index / 32) as u64) as u32;
        if address % 4 != 0 {
            return Step::Misaligned;
        }
        let mut word = self.read(address, 4);
        if !clears {
            self.write(address, 4, word | 1 << (index % 32));
            return self.advance();
        }
        let (mut bit, mut next) = (index % 32, index);
        while bit < 32 && word >> bit & 1 == 1 {
            word -= 1 << bit;
            bit += 1;
            next = (next as u64 + 1) as u32;
        }
        self.write(address, 4, word);
        self.set(rd, next)
    }

    fn regimm(&mut self, word: u32) -> Step {
        let code = word >> 16 & 31;
        if !matches!(code, 0..=3 | 16..=19) {
            return Step::Unknown;
        }
        let negative = self.registers[(word >> 21 & 31) as usize] >= 0x8000_0000;
        let taken = if code % 2 == 0 { negative } else { !negative };
        if code >= 16 {
            self.registers[31] = self.pc.wrapping_add(8);
        }
        self.conditional(word, taken, code % 4 >= 2)
    }

    fn branch_or_jump(&mut self, word: u32) -> Step {
        let opcode = word >> 26;
        let rt = word >> 16 & 31;
        let s = self.registers[(word >> 21 & 31) as usize];
        let t = self.registers[rt as usize];
        let likely = opcode >= 0x14;
        if opcode % 8 >= 6 && rt != 0 && opcode != 2 && opcode != 3 {
            return Step::Unknown;
        }
        match opcode {
            2 | 3 => {
                let region = self.pc.wrapping_add(4) / 0x1000_0000 * 0x1000_0000;
                if opcode == 3 {
                    self.registers[31] = self.pc.wrapping_add(8);
                }
                self.jump(region + (word & 0x03ff_ffff) * 4)
            }
            4 | 0x14 => self.conditional(word, s == t, likely),
            5 | 0x15 => self.conditional(word, s != t, likely),
            6 | 0x16 => self.conditional(word, s as i32 <= 0, likely),
            _ => self.conditional(word, s as i32 > 0, likely),
        }
    }

    fn immediate(&mut self, word: u32) -> Step {
        let (rs, rt) = (word >> 21 & 31, word >> 16 & 31);
        let s = self.registers[rs as usize];
        let zero_extended = word & 0xffff;
        let signed = zero_extended as u16 as i16 as i32;
        match word >> 26 {
            8 | 9 => self.set(rt, (s as i64 + signed as i64) as u32),
            10 => self.set(rt, if (s as i32) < signed { 1 } else { 0 }),
            11 => self.set(rt, if s < signed as u32 { 1 } else { 0 }),
            12 => self.set(rt, s & zero_extended),
            13 => self.set(rt, s | zero_extended),
            14 => self.set(rt, s ^ zero_extended),
            _ if rs == 0 => self.set(rt, zero_extended * 65536),
            _ => Step::Unknown,
        }
    }

    fn access(&mut self, word: u32) -> Step {
        let rt = word >> 16 & 31;
        let offset = (word & 0xffff) as u16 as i16 as i64;
        let address = (self.registers[(word >> 21 & 31) as usize] as i64 + offset) as u32;
        let opcode = word >> 26;
        let bytes = match opcode & 3 {
            0 => 1,
            1 => 2,
            _ => 4,
        };
        if address % bytes != 0 {
            return Step::Misaligned;
        }
        let value = self.read(address, bytes);
        match opcode {
            0x20 => self.set(rt, value as u8 as i8 as i32 as u32),
            0x21 => self.set(rt, value as u16 as i16 as i32 as u32),
            0x23..=0x25 => self.set(rt, value),
            _ => {
                self.write(address, bytes, self.registers[rt as usize]);
                self.advance()
            }
        }
    }
}
