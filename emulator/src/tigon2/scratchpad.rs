//! A CPU's private scratchpad: 16 KB for A, 8 KB for B (docs/tigon2.md, section 1).

use defs::tigon2::map::SCRATCHPAD_BASE;

use crate::cpu::mips::bus::Width;
use crate::cpu::mips::isa::Op;

/// On-chip memory with its decoded form as code.
#[derive(Debug)]
pub struct Scratchpad {
    bytes: Box<[u8]>,
    code: Box<[Op]>,
}

impl Scratchpad {
    /// Cleared memory of `size_bytes`.
    #[must_use]
    pub fn new(size_bytes: u32) -> Self {
        Self {
            bytes: vec![0; size_bytes as usize].into(),
            code: vec![Op::UNDECODED; size_bytes as usize / 4].into(),
        }
    }

    /// Whether this scratchpad answers at `address`.
    #[inline(always)]
    #[must_use]
    pub fn holds(&self, address: u32) -> bool {
        (address.wrapping_sub(SCRATCHPAD_BASE) as usize) < self.bytes.len()
    }

    /// Reads a value; 0 outside. `address` is aligned to `width`.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        let at = address.wrapping_sub(SCRATCHPAD_BASE) as usize;
        let b = &self.bytes;
        match width {
            Width::Word => b
                .get(at..at.wrapping_add(4))
                .and_then(|w| w.try_into().ok())
                .map_or(0, u32::from_be_bytes),
            Width::Half => b
                .get(at..at.wrapping_add(2))
                .and_then(|w| w.try_into().ok())
                .map_or(0, |w| u32::from(u16::from_be_bytes(w))),
            Width::Byte => b.get(at).copied().map_or(0, u32::from),
        }
    }

    /// Writes a value; nothing outside. Code that was decoded there is forgotten.
    #[inline(always)]
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let at = address.wrapping_sub(SCRATCHPAD_BASE) as usize;
        let bytes = value.to_be_bytes();
        let (from, length) = match width {
            Width::Word => (0, 4),
            Width::Half => (2, 2),
            Width::Byte => (3, 1),
        };
        if let Some(place) = self.bytes.get_mut(at..at.wrapping_add(length)) {
            place.copy_from_slice(&bytes[from..]);
            if let Some(op) = self.code.get_mut(at / 4) {
                *op = Op::UNDECODED;
            }
        }
    }

    /// The decoded instruction at `pc`; [`Op::UNDECODED`] if it was not executed since it was last
    /// written, and outside or unaligned.
    ///
    /// The rotation makes one comparison of two: the low bits of an unaligned address become high
    /// bits of the index, which no scratchpad reaches.
    #[inline(always)]
    #[must_use]
    pub fn op(&self, pc: u32) -> Op {
        let index = pc.wrapping_sub(SCRATCHPAD_BASE).rotate_right(2);
        match self.code.get(index as usize) {
            Some(op) => *op,
            None => Op::UNDECODED,
        }
    }

    /// The instructions, as far as they are decoded.
    #[inline(always)]
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.code
    }

    /// Remembers the decoded instruction at `pc`.
    pub fn set_op(&mut self, pc: u32, op: Op) {
        let at = (pc.wrapping_sub(SCRATCHPAD_BASE) / 4) as usize;
        if let Some(place) = self.code.get_mut(at) {
            *place = op;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_only_its_own_range() {
        let mut b = Scratchpad::new(8 * 1024);
        assert!(b.holds(0xC0_0000) && b.holds(0xC0_1FFF));
        assert!(!b.holds(0xC0_2000) && !b.holds(0xBF_FFFF) && !b.holds(0));
        b.write(0xC0_1FFC, Width::Word, 0xDEAD_BEEF);
        assert_eq!(b.read(0xC0_1FFE, Width::Half), 0xBEEF);
        b.write(0xC0_2000, Width::Word, 1);
        assert_eq!(b.read(0xC0_2000, Width::Word), 0);
    }
}
