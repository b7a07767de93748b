//! Witnesses of a core's execution.

/// Receives each executed instruction of a core, and its time in addition to its own cycles.
///
/// Additional time is reported before its instruction. All spans are ticks of the core's clock.
pub trait Witness {
    /// The core starts to run at this tick of its clock.
    fn begins(&mut self, tick: u64);

    /// A fetch waited for the bus, and then took its time.
    fn fetched(&mut self, stalled: u64, spent: u64);

    /// An access to `address` waited for the bus, and then took its time.
    fn accessed(&mut self, address: u32, stalled: u64, spent: u64);

    /// A branch cost cycles of its own.
    fn branched(&mut self, spent: u64);

    /// The instruction at `pc` was executed; its own cycles took `ticks`.
    fn executed(&mut self, pc: u32, ticks: u64);
}

/// No witness.
impl Witness for () {
    #[inline(always)]
    fn begins(&mut self, _: u64) {}

    #[inline(always)]
    fn fetched(&mut self, _: u64, _: u64) {}

    #[inline(always)]
    fn accessed(&mut self, _: u32, _: u64, _: u64) {}

    #[inline(always)]
    fn branched(&mut self, _: u64) {}

    #[inline(always)]
    fn executed(&mut self, _: u32, _: u64) {}
}
