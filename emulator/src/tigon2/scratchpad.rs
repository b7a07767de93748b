//! A CPU's private scratchpad: 16 KB for A, 8 KB for B (docs/tigon2.md, section 1).

use std::cell::Cell;

use defs::tigon2::map::SCRATCHPAD_BASE;

use crate::cpu::mips::bus::Width;
use crate::cpu::mips::isa::Op;
use crate::state::{Reader, State, StateError, Writer, load_memory, save_memory};

/// On-chip memory with its decoded form as code. Cells, since a core executes from it what it writes to
/// it.
#[derive(Debug)]
pub struct Scratchpad {
    words: Box<[Cell<u32>]>,
    code: Box<[Cell<Op>]>,
    /// Number of times at which decoded code was changed or forgotten: code translated before that does not hold any more.
    changes: Cell<u64>,
}

impl State for Scratchpad {
    fn save(&self, out: &mut Writer) {
        let bytes = self.words.iter().flat_map(|word| word.get().to_be_bytes());
        save_memory(&bytes.collect::<Vec<u8>>(), out);
    }

    /// What was decoded is forgotten, and decoded again when it is executed.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut bytes = vec![0; 4 * self.words.len()];
        load_memory("bytes of scratchpad", &mut bytes, from)?;
        let (words, _) = bytes.as_chunks();
        for (place, word) in self.words.iter().zip(words) {
            place.set(u32::from_be_bytes(*word));
        }
        self.forget_all_code();
        Ok(())
    }
}

impl Scratchpad {
    /// Cleared memory of `size_bytes`.
    #[must_use]
    pub fn new(size_bytes: u32) -> Self {
        let words = size_bytes as usize / 4;
        Self {
            words: vec![Cell::new(0); words].into(),
            code: vec![Cell::new(Op::UNDECODED); words].into(),
            changes: Cell::new(0),
        }
    }

    /// Index of the word around `address`; beyond the end if that is outside.
    #[inline(always)]
    const fn index(address: u32) -> usize {
        (address.wrapping_sub(SCRATCHPAD_BASE) / 4) as usize
    }

    /// The value at `address`, which is aligned to `width`; `None` outside.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, address: u32, width: Width) -> Option<u32> {
        let word = self.words.get(Self::index(address))?.get();
        Some(word >> width.shift(address) & width.mask())
    }

    /// Writes a value; nothing outside, and tells whether it was inside. Code that was decoded there is
    /// forgotten.
    #[inline(always)]
    pub fn set(&self, address: u32, width: Width, value: u32) -> bool {
        let index = Self::index(address);
        let (Some(word), Some(op)) = (self.words.get(index), self.code.get(index)) else {
            return false;
        };
        let (shift, mask) = (width.shift(address), width.mask());
        word.set(word.get() & !(mask << shift) | (value & mask) << shift);
        if op.get() != Op::UNDECODED {
            op.set(Op::UNDECODED);
            self.code_changes();
        }
        true
    }

    /// Notes a change of decoded code.
    fn code_changes(&self) {
        self.changes.set(self.changes.get().wrapping_add(1));
    }

    /// Reads a value; 0 outside. `address` is aligned to `width`.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        self.get(address, width).unwrap_or(0)
    }

    /// Writes a value; nothing outside. Code that was decoded there is forgotten.
    #[inline(always)]
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        self.set(address, width, value);
    }

    /// The words, and the number of changes of decoded code so far.
    #[cfg(feature = "translate")]
    #[inline(always)]
    pub(super) fn words(&self) -> (&[Cell<u32>], u64) {
        (&self.words, self.changes.get())
    }

    /// The instructions, as far as they are decoded.
    #[inline(always)]
    #[must_use]
    pub fn ops(&self) -> &[Cell<Op>] {
        &self.code
    }

    /// The decoded instruction at `pc`, which is aligned; [`Op::UNDECODED`] if it was not executed since
    /// it was last written, and outside.
    #[must_use]
    pub fn op(&self, pc: u32) -> Op {
        self.find_op(pc).unwrap_or(Op::UNDECODED)
    }

    /// As [`op`](Self::op); `None` outside.
    #[must_use]
    #[inline(always)]
    pub fn find_op(&self, pc: u32) -> Option<Op> {
        self.code.get(Self::index(pc)).map(Cell::get)
    }

    /// The instruction at `pc`, decoded, without its execution: what is decoded stays as it is.
    pub(super) fn glance(&self, pc: u32) -> Op {
        match self.op(pc) {
            Op::UNDECODED => Op::decode(self.read(pc, Width::Word)),
            op => op,
        }
    }

    /// All code must be decoded anew.
    pub(super) fn forget_all_code(&self) {
        for op in &self.code {
            op.set(Op::UNDECODED);
        }
        self.code_changes();
    }

    /// Addresses of all instructions that were executed since they were last written.
    pub(super) fn decoded(&self) -> impl Iterator<Item = u32> {
        let places = (SCRATCHPAD_BASE..).step_by(4).zip(&self.code);
        places.filter_map(|(address, op)| (op.get() != Op::UNDECODED).then_some(address))
    }

    /// Remembers the decoded instruction at `pc`.
    pub fn set_op(&mut self, pc: u32, op: Op) {
        if let Some(place) = self.code.get(Self::index(pc)) {
            let before = place.replace(op);
            if before != Op::UNDECODED && before != op {
                self.code_changes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_only_its_own_range() {
        let mut b = Scratchpad::new(8 * 1024);
        let holds = |address| b.get(address, Width::Byte).is_some();
        assert!(holds(0xC0_0000) && holds(0xC0_1FFF));
        assert!(!holds(0xC0_2000) && !holds(0xBF_FFFF) && !holds(0));
        b.write(0xC0_1FFC, Width::Word, 0xDEAD_BEEF);
        assert_eq!(b.read(0xC0_1FFE, Width::Half), 0xBEEF);
        b.write(0xC0_2000, Width::Word, 1);
        assert_eq!(b.read(0xC0_2000, Width::Word), 0);
    }
}
