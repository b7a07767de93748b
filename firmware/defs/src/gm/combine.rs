//! Operations of reductions on two values of 64 bits.
//!
//! Host library and firmware share this code. Doubles are added by the compiler's software floating point where the CPU has none. A
//! result that is not a number is always the same one, so that all boards and hosts agree.

use super::collective::Operation;

/// The result that is not a number.
const NOT_A_NUMBER: u64 = 0x7FF8_0000_0000_0000;
const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7FF0_0000_0000_0000;

/// Combines two values; an operation that does not exist leaves the first one.
#[must_use]
pub fn combine(operation: u32, a: u64, b: u64) -> u64 {
    if operation == Operation::And as u32 {
        a & b
    } else if operation == Operation::Or as u32 {
        a | b
    } else if operation == Operation::Sum as u32 {
        a.wrapping_add(b)
    } else if operation == Operation::Min as u32 {
        if a < b { a } else { b }
    } else if operation == Operation::Max as u32 {
        if a < b { b } else { a }
    } else if operation == Operation::SignedMin as u32 {
        if (a ^ SIGN) < (b ^ SIGN) { a } else { b }
    } else if operation == Operation::SignedMax as u32 {
        if (a ^ SIGN) < (b ^ SIGN) { b } else { a }
    } else if operation == Operation::DoubleSum as u32 {
        double_sum(a, b)
    } else if operation == Operation::DoubleMin as u32 {
        double_least(a, b, 0)
    } else if operation == Operation::DoubleMax as u32 {
        double_least(a, b, u64::MAX)
    } else {
        a
    }
}

#[inline(never)] // Calls the software addition: apart, the other operations save no registers.
fn double_sum(a: u64, b: u64) -> u64 {
    let sum = (f64::from_bits(a) + f64::from_bits(b)).to_bits();
    if sum & !SIGN > INFINITY {
        NOT_A_NUMBER
    } else {
        sum
    }
}

/// The least of two doubles, or with all bits in `flip` the largest one.
fn double_least(a: u64, b: u64, flip: u64) -> u64 {
    if a & !SIGN > INFINITY || b & !SIGN > INFINITY {
        return NOT_A_NUMBER;
    }
    if (ordered(a) ^ flip) < (ordered(b) ^ flip) {
        a
    } else {
        b
    }
}

/// An integer without a sign that is ordered as the doubles are, -0 before 0.
const fn ordered(double: u64) -> u64 {
    if double & SIGN == 0 {
        double | SIGN
    } else {
        !double
    }
}
