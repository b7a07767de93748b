//! External SRAM: bytes, their decoded form as code, and the one bus that all actors share
//! (docs/tigon2.md, section 1).

use byteorder::{BigEndian, ByteOrder};

use crate::sram_banks::{BankPlan, BurstPlace, SramBanks, SramRange};
use crate::sram_bus::{Bursts, SramBus};
use emulator_cpu::clock::CpuClock;
use emulator_cpu::decoded::Place;
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::isa::Op;
use emulator_state::{Reader, State, StateError, Writer, load_memory, save_memory};

/// Bytes of a page of decoded code.
const CODE_PAGE_BYTES: usize = 4096;
const CODE_PAGE_OPS: usize = CODE_PAGE_BYTES / 4;

type CodePage = Box<[Place<Op>; CODE_PAGE_OPS]>;

/// Decoded instructions, by page, allocated at the first execution in a page.
#[derive(Debug)]
pub(super) struct Code {
    pages: Vec<Option<CodePage>>,
    mask: usize,
}

impl Code {
    /// The decoded instructions in the `bytes` from `address` on, which are in one page.
    #[inline(always)]
    pub(super) fn ops(&self, address: u32, bytes: u32) -> &[Place<Op>] {
        let at = address as usize & self.mask;
        match self.pages.get(at / CODE_PAGE_BYTES) {
            Some(Some(page)) => {
                let from = at % CODE_PAGE_BYTES / 4;
                page.get(from..from + bytes as usize / 4).unwrap_or(&[])
            }
            _ => &[],
        }
    }

    /// Discards the decoded instruction at index `at`, after a write.
    #[inline(always)]
    fn forget(&self, at: usize) {
        if let Some(Some(page)) = self.pages.get(at / CODE_PAGE_BYTES) {
            page[at % CODE_PAGE_BYTES / 4].set(Op::UNDECODED);
        }
    }
}

/// SRAM for a core that runs alone. Decoded code stays readable beside it. References, since most stretches of a core
/// access it once or not at all: copies of what they refer to would cost more.
pub(super) struct AloneSram<'a> {
    bytes: &'a mut Vec<u8>,
    mask: &'a usize,
    code: &'a Code,
    bus: &'a mut SramBus,
}

impl AloneSram<'_> {
    /// Takes the bus at `now` for `cycles`, if it is free; returns whether it is.
    #[inline(always)]
    pub(super) fn take_free_bus(&mut self, now: u64, cycles: u32) -> bool {
        let free = self.bus.free_at <= now && now < self.bus.next_burst;
        if free {
            self.bus.occupy(now, cycles);
        }
        free
    }

    /// [`Sram::read`].
    #[inline(always)]
    pub(super) fn read(&self, address: u32, width: Width) -> u32 {
        read(self.bytes, address as usize & *self.mask, width)
    }

    /// [`Sram::write`].
    #[inline(always)]
    pub(super) fn write(&mut self, address: u32, width: Width, value: u32) {
        let at = address as usize & *self.mask;
        self.code.forget(at);
        write(self.bytes, at, width, value);
    }
}

#[inline(always)]
fn read(bytes: &[u8], at: usize, width: Width) -> u32 {
    match width {
        Width::Word => bytes.get(at..at + 4).map_or(0, BigEndian::read_u32),
        Width::Half => bytes
            .get(at..at + 2)
            .map_or(0, |half| BigEndian::read_u16(half).into()),
        Width::Byte => bytes.get(at).copied().map_or(0, u32::from),
    }
}

#[inline(always)]
fn write(bytes: &mut [u8], at: usize, width: Width, value: u32) {
    let value = value.to_be_bytes();
    let (from, length) = match width {
        Width::Word => (0, 4),
        Width::Half => (2, 2),
        Width::Byte => (3, 1),
    };
    if let Some(place) = bytes.get_mut(at..at + length) {
        place.copy_from_slice(&value[from..]);
    }
}

/// Size of the installed SRAM. The space below `SRAM_LIMIT` repeats modulo this size.
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

    /// The size with this number of bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            0x8_0000 => Some(Self::K512),
            0x10_0000 => Some(Self::M1),
            0x20_0000 => Some(Self::M2),
            _ => None,
        }
    }
}

/// The memory and its bus.
#[derive(Debug)]
pub struct Sram {
    bytes: Vec<u8>,
    mask: usize,
    code: Code,
    bus: SramBus,
    /// The banks, if there are several: the bus has no times then.
    banks: Option<Box<SramBanks>>,
}

impl State for Sram {
    fn save(&self, out: &mut Writer) {
        let Self {
            bytes,
            mask: _,
            code: _,
            bus,
            banks,
        } = self;
        save_memory(bytes, out);
        bus.save(out);
        if let Some(banks) = banks {
            banks.save(out);
        }
    }

    /// Discards decoded code, which is decoded again at its next execution.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        load_memory("bytes of SRAM", &mut self.bytes, from)?;
        self.code.pages.fill_with(|| None);
        self.bus.load(from)?;
        match &mut self.banks {
            Some(banks) => banks.load(from),
            None => Ok(()),
        }
    }
}

impl Sram {
    /// Cleared memory of the given size, with one port.
    #[must_use]
    pub fn new(size: SramSize) -> Self {
        Self::with_banks(size, BankPlan::CHIP)
    }

    /// Cleared memory of the given size, in so many banks.
    #[must_use]
    pub fn with_banks(size: SramSize, plan: BankPlan) -> Self {
        let banks = (plan.count() > 1).then(|| Box::new(SramBanks::new(plan)));
        let mut code = Vec::new();
        code.resize_with(size.bytes() / CODE_PAGE_BYTES, || None);
        Self {
            bytes: vec![0; size.bytes()],
            mask: size.bytes() - 1,
            code: Code {
                pages: code,
                mask: size.bytes() - 1,
            },
            bus: match banks {
                Some(_) => SramBus::of_banks(),
                None => SramBus::default(),
            },
            banks,
        }
    }

    /// Installed bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Discards all decoded code.
    pub(super) fn forget_all_code(&self) {
        for op in self
            .code
            .pages
            .iter()
            .flatten()
            .flat_map(|page| page.iter())
        {
            op.set(Op::UNDECODED);
        }
    }

    /// Number of pages with decoded code.
    #[must_use]
    pub fn decoded_pages(&self) -> usize {
        self.code.pages.iter().flatten().count()
    }

    /// Waits for the bus on behalf of a core, and takes it for `cycles`.
    #[inline(always)]
    pub fn take_bus(&mut self, clock: &mut CpuClock, range: SramRange, cycles: u32) {
        clock.stall_until(self.bus.free_from(clock.now));
        if self.bus.is_of_banks() {
            return self.take_banks(clock, range, cycles);
        }
        self.bus.occupy(clock.now, cycles);
    }

    /// [`take_bus`](Self::take_bus) of a board with several banks.
    #[cold]
    #[inline(never)]
    fn take_banks(&mut self, clock: &mut CpuClock, range: SramRange, cycles: u32) {
        if let Some(banks) = &mut self.banks {
            banks.take(clock, range, cycles);
        }
    }

    /// [`take_bus_at`](Self::take_bus_at) of a board with several banks.
    #[cold]
    #[inline(never)]
    fn take_banks_at(&mut self, tick: u64, range: SramRange, cycles: u32) {
        if let Some(banks) = &mut self.banks {
            banks.take_at(tick, range, cycles);
        }
    }

    /// Whether the bus to a word is free from `from` to `until`, apart from accesses by cores and from later
    /// events.
    #[must_use]
    pub fn bus_stays_free(&mut self, address: u32, from: u64, until: u64) -> bool {
        if let Some(banks) = &mut self.banks {
            return banks.stay_free(address, from, until);
        }
        self.bus.free_from(from) <= from && until < self.bus.next_burst
    }

    /// Sets the bursts that take the bus from now on, and where the memory is that they take. Earlier ones must be over.
    pub(super) fn expect_bursts(&mut self, bursts: Bursts, parts: [(u32, u32); 2]) {
        match &mut self.banks {
            Some(banks) => banks.expect_bursts(bursts, BurstPlace::new(parts)),
            None => self.bus.expect_bursts(bursts),
        }
    }

    /// Ends the bursts.
    pub(super) fn stop_bursts(&mut self) {
        match &mut self.banks {
            Some(banks) => banks.stop_bursts(),
            None => self.bus.stop_bursts(),
        }
    }

    /// Takes the bus for `cycles` at `tick` for a device, with priority over cores.
    #[inline(always)]
    pub fn take_bus_at(&mut self, tick: u64, range: SramRange, cycles: u32) {
        let from = self.bus.free_from(tick);
        if self.bus.is_of_banks() {
            return self.take_banks_at(tick, range, cycles);
        }
        self.bus.occupy(from.max(tick), cycles);
    }

    /// Reads a value; `address` is aligned to `width`.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        read(&self.bytes, address as usize & self.mask, width)
    }

    /// Writes a value; `address` is aligned to `width`. Discards decoded code there.
    #[inline(always)]
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let at = address as usize & self.mask;
        self.code.forget(at);
        write(&mut self.bytes, at, width, value);
    }

    /// Reads a word without regard to time.
    #[must_use]
    pub fn word(&self, address: u32) -> u32 {
        self.read(address & !3, Width::Word)
    }

    /// Reads consecutive words without regard to time.
    #[must_use]
    pub fn words<const N: usize>(&self, address: u32) -> [u32; N] {
        std::array::from_fn(|index| self.word(address.wrapping_add(4 * index as u32)))
    }

    /// The words from `address` on, up to the end of the installed memory, without regard to time.
    pub(super) fn words_from(&self, address: u32) -> impl Iterator<Item = u32> {
        let words = self.bytes[address as usize & self.mask & !3..].chunks_exact(4);
        words.map(BigEndian::read_u32)
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

    /// Appends `length` bytes to `out`; the address wraps at the installed size.
    pub fn append(&self, address: u32, length: u32, out: &mut Vec<u8>) {
        let mut at = address as usize & self.mask;
        let mut left = length as usize;
        while left > 0 {
            let part = left.min(self.bytes.len() - at);
            out.extend_from_slice(&self.bytes[at..at + part]);
            left -= part;
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

    /// Whether a page touched by `length` bytes at `address` holds decoded code.
    #[must_use]
    pub fn holds_decoded(&self, address: u32, length: u32) -> bool {
        let page = |at: u32| (at as usize & self.mask) / CODE_PAGE_BYTES;
        let decoded = |at| matches!(self.code.pages.get(page(at)), Some(Some(_)));
        // A burst is shorter than a page.
        decoded(address) || decoded(address.wrapping_add(length))
    }

    fn forget_code(&mut self, at: usize, length: usize) {
        let pages = at / CODE_PAGE_BYTES..=(at + length - 1) / CODE_PAGE_BYTES;
        for ops in self.code.pages[pages].iter_mut().flatten() {
            for op in ops.iter() {
                op.set(Op::UNDECODED);
            }
        }
    }

    /// Addresses of all decoded instructions: executed since their last write.
    pub(super) fn decoded(&self) -> impl Iterator<Item = u32> {
        let pages = (0..).step_by(CODE_PAGE_BYTES).zip(&self.code.pages);
        let pages = pages.filter_map(|(address, page)| Some((address, page.as_ref()?)));
        pages.flat_map(|(first, page): (u32, _)| {
            let places = (first..).step_by(4).zip(page.iter());
            places.filter_map(|(address, op)| (op.get() != Op::UNDECODED).then_some(address))
        })
    }

    /// Whether the word around `address` was executed since its last write.
    #[must_use]
    pub fn holds_code(&self, address: u32) -> bool {
        self.op(address) != Op::UNDECODED
    }

    /// The decoded instruction at `pc`; [`Op::UNDECODED`] if it was not executed since its last
    /// write.
    #[inline(always)]
    #[must_use]
    pub fn op(&self, pc: u32) -> Op {
        let at = pc as usize & self.mask;
        match self.code.pages.get(at / CODE_PAGE_BYTES) {
            Some(Some(page)) => page[at % CODE_PAGE_BYTES / 4].get(),
            _ => Op::UNDECODED,
        }
    }

    /// Decoded code, and memory.
    #[inline(always)]
    pub(super) fn open(&mut self) -> (&Code, AloneSram<'_>) {
        let memory = AloneSram {
            bytes: &mut self.bytes,
            mask: &self.mask,
            code: &self.code,
            bus: &mut self.bus,
        };
        (&self.code, memory)
    }

    /// Stores the decoded instruction at `pc`.
    pub fn set_op(&mut self, pc: u32, op: Op) {
        let at = pc as usize & self.mask;
        if let Some(page) = self.code.pages.get_mut(at / CODE_PAGE_BYTES) {
            let page =
                page.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Place::default())));
            page[at % CODE_PAGE_BYTES / 4].set(op);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator_cpu::clock::TICKS_PER_CYCLE;

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
        sram.take_bus_at(0, SramRange::word(0), 8);
        sram.take_bus(&mut clock, SramRange::word(8), 1);
        assert_eq!(clock.now, 8 * TICKS_PER_CYCLE);
        assert_eq!(clock.stalled, 8 * TICKS_PER_CYCLE);
        let mut other = CpuClock::default();
        sram.take_bus(&mut other, SramRange::word(16), 1);
        assert_eq!(other.now, 9 * TICKS_PER_CYCLE);
    }
}
