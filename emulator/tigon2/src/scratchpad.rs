//! A CPU's private scratchpad: 16 KB for A, 8 KB for B (docs/tigon2.md, section 1).
//!
//! Beside each word stands what was decoded from it. Boards of a world with the same code share that (`cpu/mips/whole.rs`), from the first
//! execution there until they change code or execute data. What is decoded so depends on other boards and on threads, and nothing but
//! speed may depend on it.

use std::cell::Cell;
use std::ops::Range;

use defs::tigon2::map::SCRATCHPAD_BASE;

use emulator_cpu::code_map::CodeMap;
use emulator_cpu::decoded::Place;
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::isa::Op;
use emulator_cpu::mips::whole::{self, Places, SharedWhole};
use emulator_state::{Reader, State, StateError, Writer, load_memory, save_memory};

/// On-chip memory with its decoded form as code. Cells, since a core executes from it what it writes to
/// it.
#[derive(Debug)]
pub struct Scratchpad {
    words: Box<[Cell<u32>]>,
    /// For each word what is decoded. Empty before the first execution.
    code: Places,
    /// Whether other boards may use `code`, too.
    is_shared: bool,
    /// Among these the board looks for its code at the first execution.
    others: Option<SharedWhole>,
}

impl State for Scratchpad {
    fn save(&self, out: &mut Writer) {
        let bytes = self.words.iter().flat_map(|word| word.get().to_be_bytes());
        save_memory(&bytes.collect::<Vec<u8>>(), out);
    }

    /// Loads the words. Decoded instructions are dropped, and decoded again when they are executed: by this board alone, since others have
    /// other data meanwhile.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut bytes = vec![0; 4 * self.words.len()];
        load_memory("bytes of scratchpad", &mut bytes, from)?;
        let (words, _) = bytes.as_chunks();
        for (place, word) in self.words.iter().zip(words) {
            place.set(u32::from_be_bytes(*word));
        }
        self.others = None;
        self.forget_all_code();
        Ok(())
    }
}

impl Scratchpad {
    /// Cleared memory of `size_bytes`.
    #[must_use]
    pub fn new(size_bytes: u32) -> Self {
        Self {
            words: vec![Cell::new(0); size_bytes as usize / 4].into(),
            code: Places::default(),
            is_shared: false,
            others: None,
        }
    }

    /// Addresses of the scratchpad.
    pub(super) const fn range(&self) -> Range<u32> {
        SCRATCHPAD_BASE..SCRATCHPAD_BASE + 4 * self.words.len() as u32
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

    /// Writes a value to data, and tells whether it was written: nothing is outside, and to a word that is not known as data yet, which
    /// [`write`](Self::write) does. A core's private loop calls this, and a call in it for those words would cost each instruction.
    #[inline(always)]
    pub fn set(&self, address: u32, width: Width, value: u32) -> bool {
        let index = Self::index(address);
        let Some(word) = self.words.get(index) else {
            return false;
        };
        let place = self.code.get(index);
        let is_data = place.is_none_or(|place| place.get() == Op::DATA);
        if is_data {
            let (shift, mask) = (width.shift(address), width.mask());
            word.set(word.get() & !(mask << shift) | (value & mask) << shift);
        }
        is_data
    }

    /// Reads a value; 0 outside. `address` is aligned to `width`.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, address: u32, width: Width) -> u32 {
        self.get(address, width).unwrap_or(0)
    }

    /// Writes a value; nothing outside. Code that was decoded there is forgotten.
    pub fn write(&mut self, address: u32, width: Width, value: u32) {
        let index = Self::index(address);
        let place = self.code.get(index);
        if place.is_some_and(|place| !whole::becomes_data(place)) {
            if self.is_shared {
                self.leave_others();
            }
            self.code[index].set(Op::DATA);
        }
        self.set(address, width, value);
    }

    /// The instructions, as far as they are decoded; none before the first execution.
    #[inline(always)]
    #[must_use]
    pub fn ops(&self) -> &[Place<Op>] {
        &self.code
    }

    /// The decoded instruction at `pc`, which is aligned; [`Op::UNDECODED`] or [`Op::DATA`] if it is not decoded, and outside.
    #[must_use]
    pub fn op(&self, pc: u32) -> Op {
        self.find_op(pc).unwrap_or(Op::UNDECODED)
    }

    /// As [`op`](Self::op); `None` outside, and before the first execution.
    #[must_use]
    #[inline(always)]
    pub fn find_op(&self, pc: u32) -> Option<Op> {
        self.code.get(Self::index(pc)).map(Place::get)
    }

    /// The words from `address` on, up to the end.
    pub(super) fn words_from(&self, address: u32) -> impl Iterator<Item = u32> {
        let words = self.words.get(Self::index(address)..).unwrap_or(&[]);
        words.iter().map(Cell::get)
    }

    /// The instruction at `pc`, decoded, without its execution: what is decoded stays as it is.
    pub(super) fn glance(&self, pc: u32) -> Op {
        let op = self.op(pc);
        match op.is_decoded() {
            true => op,
            false => Op::decode(self.read(pc, Width::Word)),
        }
    }

    /// Sets the shared code among which the board looks for its own at its first execution.
    pub(super) fn share_code(&mut self, others: &SharedWhole) {
        self.others = Some(others.clone());
    }

    /// Gets places for decoded instructions, which boards share; at the addresses `marks` instructions carry a probe, and `code` says where
    /// they may be. They are looked for once: later much of the data differs.
    pub(super) fn begin(&mut self, marks: &[u32], code: &CodeMap) {
        let others = self.others.take();
        let shared = others.and_then(|others| {
            let words: Vec<u32> = self.words.iter().map(Cell::get).collect();
            others.find(&words, marks, code)
        });
        self.use_places(shared);
    }

    /// Gets places for decoded instructions of this board alone.
    pub(super) fn begin_alone(&mut self) {
        self.use_places(None);
    }

    /// Sets the places for decoded instructions: these, or new ones.
    fn use_places(&mut self, shared: Option<Places>) {
        self.is_shared = shared.is_some();
        self.code = shared.unwrap_or_else(|| whole::places(self.words.len()));
    }

    /// Gets a copy of what is decoded for this board alone.
    #[cold]
    fn leave_others(&mut self) {
        let places = self.code.iter();
        self.code = places.map(|place| Place::new(place.get())).collect();
        self.is_shared = false;
    }

    /// Drops all decoded code.
    pub(super) fn forget_all_code(&mut self) {
        self.code = Places::default();
        self.is_shared = false;
    }

    /// Remembers the decoded instruction at `pc`.
    pub fn set_op(&mut self, pc: u32, op: Op) {
        let index = Self::index(pc);
        let Some(place) = self.code.get(index) else {
            return;
        };
        match place.replace(Op::UNDECODED, op) {
            Ok(()) => return,
            Err(before) if before == op => return,
            Err(_) if self.is_shared => self.leave_others(),
            Err(_) => {}
        }
        self.code[index].set(op);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    const BYTES: u32 = 1024;

    /// Boards that share code.
    fn boards(shared: &SharedWhole) -> Vec<Scratchpad> {
        let board = |_| {
            let mut board = Scratchpad::new(BYTES);
            board.share_code(shared);
            board
        };
        (0..3).map(board).collect()
    }

    /// The instruction at `pc` as a core fetches it.
    fn fetch(board: &mut Scratchpad, pc: u32) -> Op {
        if board.ops().is_empty() {
            board.begin(&[], &CodeMap::default());
        }
        if !board.op(pc).is_decoded() {
            board.set_op(pc, board.glance(pc));
        }
        board.op(pc)
    }

    #[test]
    fn equal_boards_share_code_and_have_their_own_data() {
        const CODE: u32 = SCRATCHPAD_BASE;
        const DATA: u32 = SCRATCHPAD_BASE + 64;
        let shared = SharedWhole::default();
        let mut boards = boards(&shared);
        // Data that differ before the first execution.
        boards[1].write(DATA + 4, Width::Word, 7);
        for board in &mut boards {
            fetch(board, CODE);
        }
        for (value, board) in (1..).zip(&mut boards) {
            board.write(DATA, Width::Word, value);
            assert!(board.set(DATA, Width::Word, value));
        }
        assert!(boards.iter().all(|board| board.is_shared));
        assert_eq!(shared.used(), 1);
        // One executes its data, another one changes its code.
        assert_eq!(fetch(&mut boards[1], DATA), Op::decode(2));
        assert!(!boards[2].set(CODE, Width::Word, 7));
        boards[2].write(CODE, Width::Word, 7);
        let shares = |board: &Scratchpad| board.is_shared;
        assert_eq!(
            boards.iter().map(shares).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(boards[0].op(CODE), Op::decode(0));
        assert_eq!(fetch(&mut boards[2], CODE), Op::decode(7));
        boards[0].forget_all_code();
        assert_eq!(shared.used(), 0);
    }

    #[derive(Debug, Clone)]
    enum Act {
        Fetch(u32),
        Store(u32, u32),
        Forget,
        Share,
    }

    fn act() -> impl Strategy<Value = Act> {
        let address = || (0..BYTES / 4).prop_map(|word| SCRATCHPAD_BASE + 4 * (word % 16));
        prop_oneof![
            4 => address().prop_map(Act::Fetch),
            4 => (address(), 0..4_u32).prop_map(|(address, value)| Act::Store(address, value)),
            1 => Just(Act::Forget),
            1 => Just(Act::Share),
        ]
    }

    proptest! {
        /// Boards that share decoded code execute what is in their own memory.
        #[test]
        fn shared_code_is_that_of_each_memory(acts in prop::collection::vec((0..3_usize, act()), 1..80)) {
            let shared = SharedWhole::default();
            let mut boards = boards(&shared);
            for (index, act) in acts {
                let board = &mut boards[index];
                match act {
                    Act::Fetch(pc) => {
                        let expected = Op::decode(board.read(pc, Width::Word));
                        prop_assert_eq!(fetch(board, pc), expected);
                    }
                    Act::Store(address, value) => {
                        if !board.set(address, Width::Word, value) {
                            board.write(address, Width::Word, value);
                        }
                        prop_assert_eq!(board.read(address, Width::Word), value);
                    }
                    Act::Forget => board.forget_all_code(),
                    Act::Share => board.share_code(&shared),
                }
                for board in &boards {
                    for pc in board.range().step_by(4).filter(|&pc| board.op(pc).is_decoded()) {
                        prop_assert_eq!(board.op(pc), Op::decode(board.read(pc, Width::Word)));
                    }
                }
            }
        }
    }

    /// Two boards run on two threads: one executes a word and the other one writes to it, at the same time.
    #[test]
    fn a_word_is_code_or_data() {
        let shared = SharedWhole::default();
        let mut boards = boards(&shared);
        let mut boards = boards.iter_mut();
        let (Some(one), Some(other)) = (boards.next(), boards.next()) else {
            unreachable!()
        };
        one.begin(&[], &CodeMap::default());
        other.begin(&[], &CodeMap::default());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for pc in one.range().step_by(4) {
                    assert_eq!(fetch(one, pc), Op::decode(0));
                }
            });
            scope.spawn(|| {
                for pc in other.range().step_by(4) {
                    other.write(pc, Width::Word, 5);
                    assert!(!other.op(pc).is_decoded());
                }
            });
        });
        assert!(!(one.is_shared && other.is_shared));
    }
}
