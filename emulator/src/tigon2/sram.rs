//! External SRAM: bytes, their decoded form as code, and the one bus that all actors share
//! (docs/tigon2.md, section 1).

use std::cell::Cell;

use crate::cpu::clock::{CpuClock, TICKS_PER_CYCLE};
use crate::cpu::mips::bus::Width;
use crate::cpu::mips::isa::Op;

/// Bytes of a page of decoded code.
const CODE_PAGE_BYTES: usize = 4096;
const CODE_PAGE_OPS: usize = CODE_PAGE_BYTES / 4;

type CodePage = Box<[Cell<Op>; CODE_PAGE_OPS]>;

/// How much SRAM is installed. The space below `SRAM_LIMIT` repeats modulo this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SramSize {
    /// 512 KB.
    K512,
    /// 1 MB.
    M1,
    /// 2 MB.
    M2,
}

impl SramSize {
    /// In bytes: a power of two.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::K512 => 512 * 1024,
            Self::M1 => 1024 * 1024,
            Self::M2 => 2048 * 1024,
        }
    }

    /// From kilobytes, as options give it.
    #[must_use]
    pub const fn from_kilobytes(kilobytes: u32) -> Option<Self> {
        match kilobytes {
            512 => Some(Self::K512),
            1024 => Some(Self::M1),
            2048 => Some(Self::M2),
            _ => None,
        }
    }
}

/// The memory and its bus.
#[derive(Debug)]
pub struct Sram {
    bytes: Vec<u8>,
    mask: usize,
    /// Decoded instructions, a page at a time, from the first execution in that page on.
    code: Vec<Option<CodePage>>,
    /// The bus is taken until this tick.
    bus_free_at: u64,
}

impl Sram {
    /// Cleared memory of the given size.
    #[must_use]
    pub fn new(size: SramSize) -> Self {
        let mut code = Vec::new();
        code.resize_with(size.bytes() / CODE_PAGE_BYTES, || None);
        Self {
            bytes: vec![0; size.bytes()],
            mask: size.bytes() - 1,
            code,
            bus_free_at: 0,
        }
    }

    /// Installed bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Pages of code that are held in decoded form.
    #[must_use]
    pub fn decoded_pages(&self) -> usize {
        self.code.iter().flatten().count()
    }

    /// A core waits for the bus and takes it for `cycles`.
    #[inline(always)]
    pub fn take_bus(&mut self, clock: &mut CpuClock, cycles: u32) {
        clock.stall_until(self.bus_free_at);
        self.bus_free_at = clock.now + u64::from(cycles) * TICKS_PER_CYCLE;
    }

    /// A device that has priority takes the bus for `cycles` at `tick`: cores wait behind it.
    pub fn take_bus_at(&mut self, tick: u64, cycles: u32) {
        self.bus_free_at = self.bus_free_at.max(tick) + u64::from(cycles) * TICKS_PER_CYCLE;
    }

    /// Reads a value; `address` is aligned to `width`.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        let at = address as usize & self.mask;
        let b = &self.bytes;
        match width {
            Width::Word => b
                .get(at..at + 4)
                .and_then(|w| w.try_into().ok())
                .map_or(0, u32::from_be_bytes),
            Width::Half => b
                .get(at..at + 2)
                .and_then(|w| w.try_into().ok())
                .map_or(0, |w| u32::from(u16::from_be_bytes(w))),
            Width::Byte => b.get(at).copied().map_or(0, u32::from),
        }
    }

    /// Writes a value; `address` is aligned to `width`. Code that was decoded there is forgotten.
    #[inline(always)]
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let at = address as usize & self.mask;
        if let Some(Some(page)) = self.code.get_mut(at / CODE_PAGE_BYTES) {
            page[at % CODE_PAGE_BYTES / 4].set(Op::UNDECODED);
        }
        let bytes = value.to_be_bytes();
        let (from, length) = match width {
            Width::Word => (0, 4),
            Width::Half => (2, 2),
            Width::Byte => (3, 1),
        };
        if let Some(place) = self.bytes.get_mut(at..at + length) {
            place.copy_from_slice(&bytes[from..]);
        }
    }

    /// Reads a word without regard to time.
    #[must_use]
    pub fn word(&self, address: u32) -> u32 {
        self.read(address & !3, Width::Word)
    }

    /// Writes a word without regard to time.
    pub fn set_word(&mut self, address: u32, value: u32) {
        self.write(address & !3, Width::Word, value);
    }

    /// Copies bytes out; the address wraps at the installed size.
    pub fn copy_out(&self, address: u32, out: &mut [u8]) {
        let mut at = address as usize & self.mask;
        let mut rest = out;
        while !rest.is_empty() {
            let part = rest.len().min(self.bytes.len() - at);
            let (head, tail) = rest.split_at_mut(part);
            head.copy_from_slice(&self.bytes[at..at + part]);
            rest = tail;
            at = 0;
        }
    }

    /// Copies bytes in; the address wraps at the installed size.
    pub fn copy_in(&mut self, address: u32, data: &[u8]) {
        let mut at = address as usize & self.mask;
        let mut rest = data;
        while !rest.is_empty() {
            let part = rest.len().min(self.bytes.len() - at);
            self.forget_code(at, part);
            self.bytes[at..at + part].copy_from_slice(&rest[..part]);
            rest = &rest[part..];
            at = 0;
        }
    }

    /// Whether a page that `length` bytes at `address` touch holds decoded code.
    #[must_use]
    pub fn holds_decoded(&self, address: u32, length: u32) -> bool {
        let page = |at: u32| (at as usize & self.mask) / CODE_PAGE_BYTES;
        let decoded = |at| matches!(self.code.get(page(at)), Some(Some(_)));
        // A burst is shorter than a page.
        decoded(address) || decoded(address.wrapping_add(length))
    }

    fn forget_code(&mut self, at: usize, length: usize) {
        let pages = at / CODE_PAGE_BYTES..=(at + length - 1) / CODE_PAGE_BYTES;
        for ops in self.code[pages].iter_mut().flatten() {
            ops.fill(Cell::new(Op::UNDECODED));
        }
    }

    /// Whether the word around `address` was executed since it was last written.
    #[must_use]
    pub fn holds_code(&self, address: u32) -> bool {
        self.op(address) != Op::UNDECODED
    }

    /// The decoded instruction at `pc`; [`Op::UNDECODED`] if it was not executed since it was last
    /// written.
    #[inline(always)]
    #[must_use]
    pub fn op(&self, pc: u32) -> Op {
        let at = pc as usize & self.mask;
        match self.code.get(at / CODE_PAGE_BYTES) {
            Some(Some(page)) => page[at % CODE_PAGE_BYTES / 4].get(),
            _ => Op::UNDECODED,
        }
    }

    /// The instructions of the `bytes` from `address` on, which stand in one page, as far as they are
    /// decoded.
    #[inline(always)]
    #[must_use]
    pub fn ops(&self, address: u32, bytes: u32) -> &[Cell<Op>] {
        let at = address as usize & self.mask;
        match self.code.get(at / CODE_PAGE_BYTES) {
            Some(Some(page)) => {
                let from = at % CODE_PAGE_BYTES / 4;
                page.get(from..from + bytes as usize / 4).unwrap_or(&[])
            }
            _ => &[],
        }
    }

    /// Remembers the decoded instruction at `pc`.
    pub fn set_op(&mut self, pc: u32, op: Op) {
        let at = pc as usize & self.mask;
        if let Some(page) = self.code.get_mut(at / CODE_PAGE_BYTES) {
            let page = page.get_or_insert_with(|| {
                Box::new([const { Cell::new(Op::UNDECODED) }; CODE_PAGE_OPS])
            });
            page[at % CODE_PAGE_BYTES / 4].set(op);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_repeat_modulo_the_size() {
        let mut sram = Sram::new(SramSize::K512);
        sram.set_word(0x1C_0000, 0x1234_5678);
        assert_eq!(sram.word(0x4_0000), 0x1234_5678);
        assert_eq!(sram.read(0x4_0001, Width::Byte), 0x34);
        assert_eq!(sram.read(0x4_0002, Width::Half), 0x5678);
        sram.write(0x4_0003, Width::Byte, 0xFF);
        assert_eq!(sram.word(0x4_0000), 0x1234_56FF);
    }

    #[test]
    fn copies_wrap_at_the_end() {
        let mut sram = Sram::new(SramSize::K512);
        sram.copy_in(0x7_FFFE, &[1, 2, 3, 4]);
        assert_eq!(sram.read(0, Width::Half), 0x0304);
        let mut out = [0; 4];
        sram.copy_out(0x1F_FFFE, &mut out);
        assert_eq!(out, [1, 2, 3, 4]);
    }

    #[test]
    fn the_bus_serves_one_at_a_time() {
        let mut sram = Sram::new(SramSize::M1);
        let mut clock = CpuClock::default();
        sram.take_bus_at(0, 8);
        sram.take_bus(&mut clock, 1);
        assert_eq!(clock.now, 8 * TICKS_PER_CYCLE);
        assert_eq!(clock.stalled, 8 * TICKS_PER_CYCLE);
        let mut other = CpuClock::default();
        sram.take_bus(&mut other, 1);
        assert_eq!(other.now, 9 * TICKS_PER_CYCLE);
    }
}
