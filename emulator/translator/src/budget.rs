//! The budget of an entry in one number: the cycles that are left, above the cycles so far beyond those that each instruction takes. So
//! that an instruction that changes both changes one word.

/// Bits of the lower number.
const EXTRA_BITS: u32 = 16;

/// Cycles of an entry at most: no more extra cycles than fit can come together.
pub(crate) const MOST_CYCLES: i64 = 1 << (EXTRA_BITS - 1);

/// A budget, or a change of one.
pub(crate) const fn of(left: i64, extra: i64) -> i64 {
    (left << EXTRA_BITS) + extra
}

/// The highest budget with that many cycles left.
pub(crate) const fn highest_of(left: i64) -> i64 {
    of(left + 1, -1)
}

/// The distance by which the cycles that are left stand above.
pub(crate) const SHIFT: i64 = EXTRA_BITS as i64;

/// The cycles that are left.
pub(crate) const fn left(budget: i64) -> i64 {
    budget >> EXTRA_BITS
}

/// The extra cycles.
pub(crate) const fn extra(budget: i64) -> i64 {
    budget & ((1 << EXTRA_BITS) - 1)
}
