//! Local memory: bytes, and their decoded form as code (docs/lanai.md, section 3.1).

use std::ops::Range;

use byteorder::{BigEndian, ByteOrder};

use emulator_board::{CpuId, ProbeTable};
use emulator_cpu::ahead::Ahead;
use emulator_cpu::bus::Access;
use emulator_cpu::code_map::CodeMap;
use emulator_cpu::decoded::Place;
use emulator_cpu::lanai::Op;
use emulator_cpu::lanai::bus::{self, OwnMemory, Width};
use emulator_cpu::lanai::pipeline::Pipeline;
use emulator_cpu::pages::{Origin, PAGE_BYTES, Pages, SharedPages};
use emulator_state::{Reader, State, StateError, Writer, load_memory, save_memory};

/// Installed memory repeats up to this address.
pub const SPACE: u32 = 0x0100_0000;

/// Bytes of a block whose writes [`Sram::has_written`] looks for.
pub(super) const BLOCK_BYTES: u32 = 64;

/// Local memory.
#[derive(Debug)]
pub struct Sram {
    bytes: Vec<u8>,
    code: Pages<Op>,
    /// Bytes that engines have written since [`forget_written`](Self::forget_written): one range around all of them.
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

/// The instructions that carry a probe or a mark of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks<'a> {
    /// Addresses at which a tool stops the board, sorted.
    pub breakpoints: &'a [u32],
    /// The probes of the firmware.
    pub probes: &'a ProbeTable,
}

impl Marks<'_> {
    /// Whether the instruction at `pc`, whose word this is, carries a probe.
    fn at(&self, pc: u32, word: u32) -> bool {
        self.breakpoints.binary_search(&pc).is_ok()
            || !self.probes.at(pc).is_empty()
            || self.code().doubts(pc, word)
    }

    /// Addresses at which code may be.
    fn code(&self) -> &CodeMap {
        self.probes.code(CpuId::new(0))
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
            code: Pages::default(),
            written: 0..0,
        }
    }

    /// Forgets the writes so far: [`has_written`](Self::has_written) tells of later ones.
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
        let in_block = |block: &u32| {
            let start = self.at(block.wrapping_mul(BLOCK_BYTES));
            start < self.written.end && self.written.start < start + BLOCK_BYTES as usize
        };
        self.code.has_page_in(&self.written) || blocks.iter().any(in_block)
    }

    /// Installed bytes.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.bytes.len() as u32
    }

    const fn at(&self, address: u32) -> usize {
        address as usize & (self.bytes.len() - 1)
    }

    /// Finds decoded code in these pages from now on.
    pub(super) fn share_code(&mut self, shared: &SharedPages<Op>) {
        self.code.share(shared);
    }

    /// Makes the CPU's stores into these bytes go by its bus.
    pub(super) fn guard(&mut self, bytes: &Range<u32>) {
        let end = bytes.end.min(self.size());
        self.code.guard(bytes.start as usize..end as usize);
    }

    /// Discards all decoded code.
    pub fn forget_code(&mut self) {
        self.code.clear();
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

    /// The words from the one that holds an address on, up to the end of the installed memory.
    pub(super) fn words_from(&self, address: u32) -> impl Iterator<Item = u32> {
        let words = self.bytes[self.at(address) & !3..].chunks_exact(4);
        words.map(BigEndian::read_u32)
    }

    /// Writes a value at an aligned address.
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let at = self.at(address);
        self.code.change(at..at + width as usize);
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
            self.code.change(at..at + 4);
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
            self.code.change(piece.clone());
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

    /// Addresses below that may be those of code: where memory repeats is none that an image declares.
    pub(super) fn code_space(&self, code: &CodeMap) -> u32 {
        match code.is_declared() {
            true => self.size(),
            false => SPACE,
        }
    }

    /// The instruction at `pc` as it is decoded; [`Op::UNDECODED`] if it is not.
    pub(super) fn op(&self, pc: u32) -> Op {
        self.code.op(self.at(pc) & !3)
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
    #[cfg(test)]
    fn decoded(&self) -> impl Iterator<Item = u32> {
        (0..self.size())
            .step_by(4)
            .filter(|&pc| self.is_decoded(pc))
    }

    /// The instruction at `pc`, decoded, and with `ahead` the ones behind it in its page.
    pub(super) fn fetch(
        &mut self,
        pc: u32,
        pipeline: &Pipeline,
        mut ahead: Ahead,
        marks: &Marks<'_>,
    ) -> Op {
        let from = self.at(pc) & !3;
        if pc as usize >= self.bytes.len() {
            // Marks are those of another address.
            self.code.add_own(from);
        } else if !self.code.has_page_in(&(from..from + 4)) {
            self.add_page(from, pipeline, &ahead, marks);
        }
        let places = self.code.from(from);
        for (place, offset) in places.iter().zip((0..).step_by(4)) {
            let at = pc.wrapping_add(offset);
            if place.get() != Op::UNDECODED || !marks.code().allows(at) {
                break;
            }
            let word = read(&self.bytes, from + offset as usize, Width::Word);
            let op = Op::decode(word, pipeline);
            let marked = marks.at(at, word);
            place.set(if marked { op.with_probe() } else { op });
            if !ahead.goes_on(op.leaves(pipeline)) {
                break;
            }
        }
        places.first().map_or(Op::UNDECODED, Place::get)
    }

    /// Gets a page of decoded code. Boards share it, unless a tool stops this one, or logs what it executes (nothing is decoded `ahead`
    /// then).
    #[cold]
    fn add_page(&mut self, at: usize, pipeline: &Pipeline, ahead: &Ahead, marks: &Marks<'_>) {
        if !ahead.goes_far() || !marks.breakpoints.is_empty() {
            self.code.add_own(at);
            return;
        }
        let first = at / PAGE_BYTES * PAGE_BYTES;
        let range = first as u32..(first + PAGE_BYTES) as u32;
        let origin = Origin {
            bytes: &self.bytes[first..first + PAGE_BYTES],
            marks: &marks.probes.addresses_in(&range),
            pipeline: *pipeline,
            code: marks.code(),
        };
        self.code.add(at, &origin);
    }

    /// Code and memory while only the CPU uses the bus. `fetches`: it has cycles for its fetches. `waits`:
    /// [which accesses wait a clock](super::arbitration::Arbitration::access_waits); `None` if all accesses must use the CPU's bus.
    /// `code_space`: see [`code_space`](Self::code_space).
    pub(super) fn open(
        &mut self,
        fetches: bool,
        waits: Option<u8>,
        code_space: u32,
    ) -> (SramCode<'_>, OwnSram<'_>) {
        let code = SramCode {
            code: fetches.then_some(&self.code),
            last: self.bytes.len() - 1,
            space: code_space,
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
    code: Option<&'a Pages<Op>>,
    /// The last address.
    last: usize,
    /// Addresses below that may be those of code.
    space: u32,
}

impl bus::OwnCode for SramCode<'_> {
    /// The decoded instructions from `pc` on, up to the end of the page.
    #[inline(always)]
    fn from(&self, pc: u32) -> &[Place<Op>] {
        match self.code {
            Some(code) if pc < self.space => code.from(pc as usize & self.last),
            _ => &[],
        }
    }
}

/// Memory while only the CPU uses its bus.
#[derive(Debug)]
pub(super) struct OwnSram<'a> {
    bytes: &'a mut [u8],
    code: &'a Pages<Op>,
    /// Addresses below that are memory.
    space: u32,
    /// Whether an access waits of an instruction at an even word (bit 0), and at an odd one (bit 4).
    waits: u8,
    /// Cycles of all these waits.
    stalled: u64,
}

impl OwnSram<'_> {
    /// The clocks that an access waits.
    #[inline(always)]
    fn wait(&mut self, access: Access) -> u32 {
        let clocks = u32::from(self.waits >> (access.pc & 4) & 1);
        self.stalled += u64::from(clocks);
        clocks
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
        if address >= self.space {
            return None;
        }
        let at = address as usize & (self.bytes.len() - 1);
        Some((read(self.bytes, at, width), self.wait(access)))
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, access: Access) -> Option<u32> {
        let at = address as usize & (self.bytes.len() - 1);
        if address >= self.space || !self.code.forget(at) {
            return None;
        }
        write(self.bytes, at, width, value);
        Some(self.wait(access))
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

/// Zeros where zeros are change nothing, and need no page of the machine's memory if it has none there yet: firmware clears much that it
/// never uses.
#[inline(always)]
fn write(bytes: &mut [u8], at: usize, width: Width, value: u32) {
    if value == 0 && read(bytes, at, width) == 0 {
        return;
    }
    let from = 4 - width as usize;
    if let Some(place) = bytes.get_mut(at..at + width as usize) {
        place.copy_from_slice(&value.to_be_bytes()[from..]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chip::Generation;

    const SIZE: u32 = 256 << 10;

    /// Fetches an instruction, and far those behind it too.
    fn fetch(sram: &mut Sram, pc: u32, far: bool) -> Op {
        let marks = Marks {
            breakpoints: &[],
            probes: &ProbeTable::default(),
        };
        sram.fetch(pc, &Generation::L9.pipeline(), Ahead::new(far), &marks)
    }

    /// An action of one of the boards of a test.
    #[derive(Debug, Clone, Copy)]
    enum Act {
        Fetch {
            pc: u32,
            far: bool,
        },
        /// A store of the CPU.
        Store {
            address: u32,
            value: u32,
        },
        /// A burst of an engine.
        Burst {
            address: u32,
            length: u32,
        },
        Forget,
    }

    /// Addresses in the first two pages, or as they repeat.
    fn address() -> impl Strategy<Value = u32> {
        let word = prop_oneof![0..8_u32, 1020..1030_u32, 2040..2050_u32];
        (word, prop::bool::weighted(0.1))
            .prop_map(|(word, again)| 4 * word + SIZE * u32::from(again))
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            6 => (address(), any::<bool>()).prop_map(|(pc, far)| Act::Fetch { pc, far }),
            2 => (address(), 0..3_u32).prop_map(|(address, value)| Act::Store { address, value }),
            1 => (address(), 0..9000_u32).prop_map(|(address, length)| Act::Burst { address, length }),
            1 => Just(Act::Forget),
        ]
    }

    impl Sram {
        fn carry_out(&mut self, act: Act) {
            match act {
                Act::Fetch { pc, far } => {
                    let expected = Op::decode(self.word(pc), &Generation::L9.pipeline());
                    assert_eq!(fetch(self, pc, far), expected);
                }
                Act::Store { address, value } => {
                    let access = Access { pc: 0, left: 0 };
                    let (_, mut own) = self.open(true, Some(0), SPACE);
                    if own.store(address, Width::Word, value, access).is_none() {
                        self.write(address, Width::Word, value);
                    }
                }
                Act::Burst { address, length } => self.store(address, &vec![0; length as usize]),
                Act::Forget => self.forget_code(),
            }
        }
    }

    #[test]
    fn equal_bytes_have_one_page() {
        let shared = SharedPages::default();
        let mut boards: Vec<Sram> = (0..3).map(|_| Sram::new(SIZE)).collect();
        for sram in &mut boards {
            sram.share_code(&shared);
            sram.set_word(8, 0x1234);
        }
        boards[2].set_word(4092, 5);
        for (board, used) in [(0, 1), (1, 1), (2, 2)] {
            fetch(&mut boards[board], 8, true);
            assert_eq!(shared.used(), used);
        }
        // The others keep their page when one writes, until the last one of them has written.
        for (board, used) in [(0, 2), (2, 1), (1, 0)] {
            boards[board].set_word(0, 1);
            assert_eq!(shared.used(), used);
        }
    }

    proptest! {
        /// Boards that share decoded code execute what is in their own memory.
        #[test]
        fn shared_code_is_that_of_each_memory(acts in prop::collection::vec((0..3_usize, act()), 1..60)) {
            let shared = SharedPages::default();
            let mut boards: Vec<Sram> = (0..3).map(|_| Sram::new(SIZE)).collect();
            for sram in &mut boards {
                sram.share_code(&shared);
            }
            for (board, act) in acts {
                boards[board].carry_out(act);
                for sram in &boards {
                    for pc in (0..3 * PAGE_BYTES as u32).step_by(4).filter(|&pc| sram.is_decoded(pc)) {
                        prop_assert_eq!(sram.op(pc), Op::decode(sram.word(pc), &Generation::L9.pipeline()));
                    }
                }
            }
        }

        /// Copies in and out are what single bytes are, also around the end of memory, and no word that was written stays decoded.
        #[test]
        fn copies_agree_with_single_bytes(
            address in prop_oneof![SIZE - 9000..SIZE + 100, 0..9000_u32],
            bytes in prop::collection::vec(any::<u8>(), 0..10_000),
        ) {
            let mut sram = Sram::new(SIZE);
            let words: Vec<u32> = (0..SIZE).step_by(4).collect();
            for &pc in words.iter().filter(|&&pc| pc % 2048 < 1024) {
                fetch(&mut sram, pc, false);
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
