//! The time of a core that takes turns, in one number: ticks since some moment, above a bit that is set for the core that comes second at
//! equal ticks, above the cycles so far beyond those that each instruction takes. So one comparison tells whose turn it is, and one
//! addition changes both times and counts.

/// Bits of the lowest number.
const EXTRA_BITS: u32 = 15;

/// The distance by which ticks stand above.
const SHIFT: u32 = EXTRA_BITS + 1;

/// Cycles of one stay at most: no more extra cycles than fit can come together.
pub(crate) const MOST_CYCLES: u64 = 1 << (EXTRA_BITS - 1);

/// What lies below the ticks.
pub(crate) const BELOW: i64 = (1 << SHIFT) - 1;

/// The stamp of a tick. The core that comes second is the later one at equal ticks.
pub(crate) const fn at(tick: u64, second: bool) -> u64 {
    tick << SHIFT | (second as u64) << EXTRA_BITS
}

/// A change by so many ticks and extra cycles.
pub(crate) const fn change(ticks: i64, extra: i64) -> i64 {
    (ticks << SHIFT) + extra
}

/// The ticks.
pub(crate) const fn ticks(stamp: u64) -> u64 {
    stamp >> SHIFT
}

/// The extra cycles.
pub(crate) const fn extra(stamp: u64) -> u64 {
    stamp & ((1 << EXTRA_BITS) - 1)
}
