//! Local memory: bytes, and their decoded form as code (docs/lanai.md, section 3.1).

use std::cell::Cell;
use std::ops::Range;

use crate::cpu::ahead::Ahead;
use crate::cpu::bus::Access;
use crate::cpu::lanai::Op;
use crate::cpu::lanai::bus::{self, OwnMemory, Width};
use crate::cpu::lanai::pipeline::Pipeline;
use crate::state::{Reader, State, StateError, Writer, load_memory, save_memory};

/// Installed memory repeats up to this address.
pub const SPACE: u32 = 0x0100_0000;

/// Bytes of a page of decoded code.
const PAGE_BYTES: usize = 4096;
const PAGE_OPS: usize = PAGE_BYTES / 4;

/// Bytes of a block whose writes [`Sram::has_written`] looks for.
pub(super) const BLOCK_BYTES: u32 = 64;

type Page = Box<[Cell<Op>; PAGE_OPS]>;

/// Decoded instructions, by page, allocated at the first execution in a page.
#[derive(Debug)]
struct Code {
    /// Up to the last one in which anything was executed, so that most writes of data need not look into it.
    pages: Vec<Option<Page>>,
}

impl Code {
    /// Discards the decoded instruction at index `at`, after a write.
    #[inline(always)]
    fn forget(&self, at: usize) {
        if let Some(Some(page)) = self.pages.get(at / PAGE_BYTES) {
            page[at % PAGE_BYTES / 4].set(Op::UNDECODED);
        }
    }

    /// Discards the decoded instructions that bytes of a range belong to, after writes.
    fn forget_all(&self, written: Range<usize>) {
        let pages = self.pages.iter().enumerate();
        let pages = pages.take(written.end.div_ceil(PAGE_BYTES));
        for (number, page) in pages.skip(written.start / PAGE_BYTES) {
            let Some(page) = page else {
                continue;
            };
            let start = number * PAGE_BYTES;
            let from = written.start.max(start) - start;
            let to = written.end.min(start + PAGE_BYTES) - start;
            for op in &page[from / 4..to.div_ceil(4)] {
                op.set(Op::UNDECODED);
            }
        }
    }
}

/// Local memory.
#[derive(Debug)]
pub struct Sram {
    bytes: Vec<u8>,
    code: Code,
    /// What engines have written since [`forget_written`](Self::forget_written): the first byte and the one behind the last.
    written: Range<usize>,
}

impl State for Sram {
    fn save(&self, out: &mut Writer) {
        save_memory(&self.bytes, out);
    }

    /// Discards decoded code, which is decoded again at its next execution.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        load_memory("bytes of SRAM", &mut self.bytes, from)?;
        self.forget_code();
        Ok(())
    }
}

/// Whether a board can have this much memory: a power of two from 256 KB to 8 MB.
#[must_use]
pub const fn is_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && bytes >= 256 << 10 && bytes <= 8 << 20
}

impl Sram {
    /// Cleared memory; `bytes` becomes the nearest [size](is_size) that is not smaller, but 8 MB at most.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        let bytes = bytes.clamp(256 << 10, 8 << 20).next_power_of_two() as usize;
        Self {
            bytes: vec![0; bytes],
            code: Code { pages: Vec::new() },
            written: 0..0,
        }
    }

    /// From now on [`has_written`](Self::has_written) tells of later writes.
    pub(super) const fn forget_written(&mut self) {
        self.written = 0..0;
    }

    fn note_written(&mut self, at: usize, length: usize) {
        let end = at + length;
        self.written = match self.written.is_empty() {
            true => at..end,
            false => self.written.start.min(at)..self.written.end.max(end),
        };
    }

    /// Whether something may have been written into one of these blocks of [`BLOCK_BYTES`] or into a page with decoded code, but by the
    /// CPU's own memory accesses.
    pub(super) fn has_written(&self, blocks: &[u32]) -> bool {
        if self.written.is_empty() {
            return false;
        }
        let end = self.written.end.div_ceil(PAGE_BYTES);
        let pages = self.code.pages.iter().take(end);
        let mut pages = pages.skip(self.written.start / PAGE_BYTES);
        let in_block = |block: &u32| {
            let start = self.at(block.wrapping_mul(BLOCK_BYTES));
            start < self.written.end && self.written.start < start + BLOCK_BYTES as usize
        };
        pages.any(Option::is_some) || blocks.iter().any(in_block)
    }

    /// Installed bytes.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.bytes.len() as u32
    }

    const fn at(&self, address: u32) -> usize {
        address as usize & (self.bytes.len() - 1)
    }

    /// Discards all decoded code.
    pub fn forget_code(&mut self) {
        self.code.pages.clear();
    }

    /// Reads a value at an aligned address.
    #[must_use]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        read(&self.bytes, self.at(address), width)
    }

    /// The word that holds an address.
    #[must_use]
    pub fn word(&self, address: u32) -> u32 {
        self.read(address & !3, Width::Word)
    }

    /// Writes a value at an aligned address.
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let at = self.at(address);
        self.code.forget(at);
        write(&mut self.bytes, at, width, value);
        self.note_written(at, width as usize);
    }

    /// Writes the word that holds an address.
    pub fn set_word(&mut self, address: u32, value: u32) {
        self.write(address & !3, Width::Word, value);
    }

    /// Writes words from the one that holds an address on; memory repeats.
    pub fn set_words(&mut self, address: u32, words: &[u32]) {
        let address = address & !3;
        for (index, &word) in (0..).zip(words) {
            let at = self.at(address.wrapping_add(4 * index));
            self.code.forget(at);
            write(&mut self.bytes, at, Width::Word, word);
        }
        self.note_written_from(address, 4 * words.len());
    }

    /// The places of `length` bytes from an address on, in pieces without a gap: memory repeats.
    fn pieces(&self, address: u32, length: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (size, mut at, mut left) = (self.bytes.len(), self.at(address), length);
        std::iter::from_fn(move || {
            let piece = at..at + left.min(size - at);
            (at, left) = (0, left - piece.len());
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// Copies bytes out; memory repeats.
    #[must_use]
    pub fn copy(&self, address: u32, length: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length as usize);
        for piece in self.pieces(address, length as usize) {
            bytes.extend_from_slice(&self.bytes[piece]);
        }
        bytes
    }

    /// Copies bytes in; memory repeats.
    pub fn store(&mut self, address: u32, bytes: &[u8]) {
        let mut rest = bytes;
        for piece in self.pieces(address, bytes.len()) {
            self.code.forget_all(piece.clone());
            let (first, behind) = rest.split_at(piece.len());
            self.bytes[piece].copy_from_slice(first);
            rest = behind;
        }
        self.note_written_from(address, bytes.len());
    }

    /// Notes a write of so many bytes from an address on.
    fn note_written_from(&mut self, address: u32, length: usize) {
        let at = self.at(address);
        match at + length <= self.bytes.len() {
            true => self.note_written(at, length),
            false => self.note_written(0, self.bytes.len()),
        }
    }

    /// The instruction at `pc` as it is decoded; [`Op::UNDECODED`] if it is not.
    fn op(&self, pc: u32) -> Op {
        let at = self.at(pc) & !3;
        let page = self.code.pages.get(at / PAGE_BYTES);
        let page = page.and_then(Option::as_ref);
        page.map_or(Op::UNDECODED, |page| page[at % PAGE_BYTES / 4].get())
    }

    /// Whether the instruction at `pc` is decoded.
    pub(super) fn is_decoded(&self, pc: u32) -> bool {
        self.op(pc) != Op::UNDECODED
    }

    /// The instruction at `pc`, decoded, without its execution: what is decoded stays as it is.
    pub(super) fn glance(&self, pc: u32, pipeline: &Pipeline) -> Op {
        match self.op(pc) {
            Op::UNDECODED => Op::decode(self.word(pc), pipeline),
            op => op,
        }
    }

    /// Addresses of all instructions that are decoded.
    pub(super) fn decoded(&self) -> impl Iterator<Item = u32> {
        (0..self.size())
            .step_by(4)
            .filter(|&pc| self.is_decoded(pc))
    }

    /// The instruction at `pc`, decoded, and with `ahead` the ones behind it in its page; `mark` says which carry a probe.
    pub(super) fn fetch(
        &mut self,
        pc: u32,
        pipeline: &Pipeline,
        mut ahead: Ahead,
        mark: impl Fn(u32) -> bool,
    ) -> Op {
        let from = self.at(pc) & !3;
        let number = from / PAGE_BYTES;
        if number >= self.code.pages.len() {
            self.code.pages.resize_with(number + 1, || None);
        }
        let page = &mut self.code.pages[number];
        let page =
            page.get_or_insert_with(|| Box::new([const { Cell::new(Op::UNDECODED) }; PAGE_OPS]));
        let places = &page[from % PAGE_BYTES / 4..];
        for (place, offset) in places.iter().zip((0..).step_by(4)) {
            if place.get() != Op::UNDECODED {
                break;
            }
            let word = read(&self.bytes, from + offset as usize, Width::Word);
            let op = Op::decode(word, pipeline);
            let marked = mark(pc.wrapping_add(offset));
            place.set(if marked { op.with_probe() } else { op });
            if !ahead.goes_on(op.leaves(pipeline)) {
                break;
            }
        }
        places.first().map_or(Op::UNDECODED, Cell::get)
    }

    /// Code and memory while only the CPU uses the bus. `fetches`: it has cycles for its fetches. `waits`:
    /// [which accesses wait a clock](super::arbitration::Arbitration::access_waits); `None` if all accesses must use the CPU's bus.
    pub(super) fn open(&mut self, fetches: bool, waits: Option<u8>) -> (SramCode<'_>, OwnSram<'_>) {
        let code = SramCode {
            code: fetches.then_some(&self.code),
            last: self.bytes.len() - 1,
        };
        let of_words = waits.unwrap_or(0);
        let memory = OwnSram {
            bytes: &mut self.bytes,
            code: &self.code,
            space: waits.map_or(0, |_| SPACE),
            waits: of_words & 1 | (of_words & 2) << 3,
            stalled: 0,
        };
        (code, memory)
    }
}

/// Decoded code of memory.
#[derive(Debug)]
pub(super) struct SramCode<'a> {
    /// `None` if the CPU must fetch each instruction.
    code: Option<&'a Code>,
    /// The last address.
    last: usize,
}

impl bus::OwnCode for SramCode<'_> {
    /// Up to the end of the page.
    #[inline(always)]
    fn from(&self, pc: u32) -> &[Cell<Op>] {
        let at = pc as usize & self.last;
        match self.code.map(|code| code.pages.get(at / PAGE_BYTES)) {
            Some(Some(Some(page))) if pc < SPACE => &page[at % PAGE_BYTES / 4..],
            _ => &[],
        }
    }
}

/// Memory while only the CPU uses its bus.
#[derive(Debug)]
pub(super) struct OwnSram<'a> {
    bytes: &'a mut [u8],
    code: &'a Code,
    /// Addresses below that are memory.
    space: u32,
    /// Whether an access waits of an instruction at an even word (bit 0), and at an odd one (bit 4).
    waits: u8,
    /// Cycles of all these waits.
    stalled: u64,
}

impl OwnSram<'_> {
    /// The clocks that an access waits; `None` if it must use the CPU's bus.
    #[inline(always)]
    fn wait(&mut self, address: u32, access: Access) -> Option<u32> {
        if address >= self.space {
            return None;
        }
        let clocks = u32::from(self.waits >> (access.pc & 4) & 1);
        self.stalled += u64::from(clocks);
        Some(clocks)
    }
}

impl OwnMemory for OwnSram<'_> {
    const WAITS: bool = true;

    fn begin(&mut self, _: u64) {}

    fn stalled(&self) -> u64 {
        self.stalled
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, access: Access) -> Option<(u32, u32)> {
        let clocks = self.wait(address, access)?;
        let at = address as usize & (self.bytes.len() - 1);
        Some((read(self.bytes, at, width), clocks))
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, access: Access) -> Option<u32> {
        let clocks = self.wait(address, access)?;
        let at = address as usize & (self.bytes.len() - 1);
        self.code.forget(at);
        write(self.bytes, at, width, value);
        Some(clocks)
    }
}

#[inline(always)]
fn read(bytes: &[u8], at: usize, width: Width) -> u32 {
    match width {
        Width::Word => bytes
            .get(at..at + 4)
            .and_then(|word| word.try_into().ok())
            .map_or(0, u32::from_be_bytes),
        Width::Half => bytes
            .get(at..at + 2)
            .and_then(|half| half.try_into().ok())
            .map_or(0, |half| u32::from(u16::from_be_bytes(half))),
        Width::Byte => bytes.get(at).copied().map_or(0, u32::from),
    }
}

#[inline(always)]
fn write(bytes: &mut [u8], at: usize, width: Width, value: u32) {
    let from = 4 - width as usize;
    if let Some(place) = bytes.get_mut(at..at + width as usize) {
        place.copy_from_slice(&value.to_be_bytes()[from..]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lanai::chip::Generation;

    const SIZE: u32 = 256 << 10;

    proptest! {
        /// Copies in and out are what single bytes are, also around the end of memory, and no word that was written stays decoded.
        #[test]
        fn copies_agree_with_single_bytes(
            address in prop_oneof![SIZE - 9000..SIZE + 100, 0..9000_u32],
            bytes in prop::collection::vec(any::<u8>(), 0..10_000),
        ) {
            let pipeline = Generation::L9.pipeline();
            let mut sram = Sram::new(SIZE);
            let words: Vec<u32> = (0..SIZE).step_by(4).collect();
            for &pc in words.iter().filter(|&&pc| pc % 2048 < 1024) {
                sram.fetch(pc, &pipeline, Ahead::new(false), |_| false);
            }
            let decoded: Vec<u32> = sram.decoded().collect();
            sram.store(address, &bytes);
            let mut expected = vec![0; SIZE as usize];
            let mut touched = vec![false; words.len()];
            for (offset, &byte) in bytes.iter().enumerate() {
                let at = (address as usize + offset) % SIZE as usize;
                expected[at] = byte;
                touched[at / 4] = true;
            }
            prop_assert!(sram.bytes == expected);
            prop_assert_eq!(sram.copy(address, bytes.len() as u32), bytes);
            let left: Vec<u32> = decoded.into_iter().filter(|&pc| !touched[pc as usize / 4]).collect();
            prop_assert_eq!(sram.decoded().collect::<Vec<u32>>(), left);
        }
    }
}
