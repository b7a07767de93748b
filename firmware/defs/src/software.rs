//! Multiplication, division and unaligned accesses in software, for the Tigon2: what code moved out of line
//! (`firmware/tigon2-link`) and the routines (`firmware/tigon2-hal/src/software.rs`) share.
//!
//! The chip has no multiplier and no registers HI and LO. LO is the register `$k1`, which compiled code never
//! uses; HI is the word [`HI`] of the CPU's own scratchpad. A caller takes a frame of [`FRAME_BYTES`] from the
//! stack, writes two arguments and its return address there and calls a routine, which keeps all other registers.

/// Number of the register that holds LO: `$k1`.
pub const LO_REGISTER: u32 = 27;
/// Symbol of the word that holds HI. Both CPUs have it at the same address, each in its own scratchpad.
pub const HI: &str = "__software_hi";
/// Symbol before all code moved out of line. Each part of it is a function: the name of the one from which it was moved, a
/// dot, the first instruction that software does there, a dot, and a number.
pub const SITES: &str = "__software_sites";
/// Symbol behind that code.
pub const SITES_END: &str = "__software_sites_end";
/// Bytes of the stack that a call of a routine takes.
pub const FRAME_BYTES: u32 = 32;
/// Place of the left operand (multiplicand, dividend) or of the address in the frame.
pub const LEFT: u32 = 0;
/// Place of the right operand (multiplier, divisor), or of the value stored or loaded. A routine for loads finds the
/// register's old value there.
pub const RIGHT: u32 = 4;
/// Place of the first of five registers that a routine may save.
pub const SAVED: u32 = 8;
/// Place of the caller's `$ra`.
pub const RETURN: u32 = 28;
/// Code of the `break` that stops a division by zero. Compiled code checks the divisor before.
pub const BY_ZERO: u32 = 7;
/// Names of the instructions with a routine and the symbols of the routines: four for arithmetic, four for accesses.
pub const ROUTINES: [(&str, &str); 8] = [
    ("mult", "__software_mult"),
    ("multu", "__software_multu"),
    ("div", "__software_div"),
    ("divu", "__software_divu"),
    ("lwl", "__software_lwl"),
    ("lwr", "__software_lwr"),
    ("swl", "__software_swl"),
    ("swr", "__software_swr"),
];
