//! A core's instruction cache: tags only. It costs time; what is executed is always what SRAM holds
//! (docs/tigon2.md, section 1).

use emulator_state::state;

/// Bytes of a line.
pub(super) const LINE_BYTES: u32 = 32;
/// Bytes of an aligned window of lines.
const WINDOW_BYTES: u32 = 256;
/// No line has this address.
const NO_LINE: u32 = u32::MAX;

/// The tags of a direct-mapped cache.
#[derive(Debug)]
pub(super) struct InstructionCache {
    /// The line address that each slot holds.
    tags: Box<[u32]>,
    /// Address of the first of the lines around the last fetch, all of which the cache holds: a fetch
    /// from them needs no look-up.
    block: u32,
    /// Bytes of the lines from `block` on.
    block_bytes: u32,
}

state!(InstructionCache {
    tags,
    block,
    block_bytes
});

impl InstructionCache {
    /// Empty.
    pub(super) fn new(bytes: u32) -> Self {
        let lines = (bytes / LINE_BYTES).max(1).next_power_of_two();
        Self {
            tags: vec![NO_LINE; lines as usize].into(),
            block: 0,
            block_bytes: 0,
        }
    }

    /// Address and bytes of lines around the last fetch that are all held.
    #[inline(always)]
    pub(super) const fn block(&self) -> (u32, u32) {
        (self.block, self.block_bytes)
    }

    fn slot(&self, line: u32) -> usize {
        (line / LINE_BYTES) as usize & (self.tags.len() - 1)
    }

    fn holds_line(&self, line: u32) -> bool {
        self.tags[self.slot(line)] == line
    }

    /// Whether a fetch at `pc` costs nothing.
    pub(super) fn holds(&self, pc: u32) -> bool {
        self.holds_line(pc & !(LINE_BYTES - 1))
    }

    /// Whether a fetch at `pc` costs nothing. If so, that goes for the [`block`](Self::block) then.
    pub(super) fn hits(&mut self, pc: u32) -> bool {
        let line = pc & !(LINE_BYTES - 1);
        let hit = pc.wrapping_sub(self.block) < self.block_bytes || self.holds_line(line);
        if hit {
            self.find_block(line);
        }
        hit
    }

    /// Takes up the line of `pc`.
    pub(super) fn fill(&mut self, pc: u32) {
        let line = pc & !(LINE_BYTES - 1);
        let slot = self.slot(line);
        self.tags[slot] = line;
        self.find_block(line);
    }

    /// Finds the lines of the window around `line`, which is held, that are held without a gap.
    fn find_block(&mut self, line: u32) {
        let first = line & !(WINDOW_BYTES - 1);
        let last = first + (WINDOW_BYTES - LINE_BYTES);
        let (mut from, mut to) = (line, line);
        while from > first && self.holds_line(from - LINE_BYTES) {
            from -= LINE_BYTES;
        }
        while to < last && self.holds_line(to + LINE_BYTES) {
            to += LINE_BYTES;
        }
        self.block = from;
        self.block_bytes = to - from + LINE_BYTES;
    }
}
