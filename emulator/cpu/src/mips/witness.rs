//! Witnesses of a core's execution.

use super::exec::Core;

/// Receives what happens between executed instructions of a core, which stands before an instruction.
///
/// Instructions themselves are not reported, so that they cost nothing: they follow one another, unless a report says
/// otherwise. All spans are ticks of the core's clock.
pub trait Witness {
    /// Whether the core must leave its private loop before it reports more, which then has room.
    fn is_full(&self) -> bool;

    /// The core starts to run.
    fn begins(&mut self, core: &Core);

    /// A fetch waited for the bus, and then took its time.
    fn fetched(&mut self, core: &Core, stalled: u64, spent: u64);

    /// An access to `address` by the instruction at `pc`, before the one at `next_pc`, waited for the bus, and then took its
    /// time.
    fn accessed(&mut self, pc: u32, next_pc: u32, address: u32, stalled: u64, spent: u64);

    /// A branch at `pc`, before the instruction at `next_pc`, costs cycles of its own.
    fn branched(&mut self, pc: u32, next_pc: u32, spent: u64);

    /// The instruction at `pc` is next, and the one after it is at `target`.
    fn jumps(&mut self, pc: u32, target: u32);

    /// The core leaves out the instruction at `pc`, before the one at `next_pc`, and goes on at `to`.
    fn leaves_out(&mut self, pc: u32, next_pc: u32, to: u32);

    /// The core has executed an instruction and stays at it.
    fn stays(&mut self, core: &Core);

    /// The own cycles of instructions may take another time than before.
    fn paces(&mut self, core: &Core);
}

/// No witness.
impl Witness for () {
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    #[inline(always)]
    fn begins(&mut self, _: &Core) {}

    #[inline(always)]
    fn fetched(&mut self, _: &Core, _: u64, _: u64) {}

    #[inline(always)]
    fn accessed(&mut self, _: u32, _: u32, _: u32, _: u64, _: u64) {}

    #[inline(always)]
    fn branched(&mut self, _: u32, _: u32, _: u64) {}

    #[inline(always)]
    fn jumps(&mut self, _: u32, _: u32) {}

    #[inline(always)]
    fn leaves_out(&mut self, _: u32, _: u32, _: u32) {}

    #[inline(always)]
    fn stays(&mut self, _: &Core) {}

    #[inline(always)]
    fn paces(&mut self, _: &Core) {}
}
