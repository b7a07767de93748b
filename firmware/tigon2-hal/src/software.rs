//! Multiplication, division and unaligned accesses, which the chip lacks: the linker replaces each instruction by a
//! call of one of these routines ([`defs::software`]). An image without such instructions contains none of them.
//!
//! Both CPUs may be in a routine at the same time: it uses registers, the stack and its CPU's scratchpad only.

use defs::software::{BY_ZERO, LEFT, RETURN, RIGHT, SAVED};

/// A routine of assembly with these lines, between saving and restoring the registers it uses.
macro_rules! routines {
    ($section:literal, $($line:expr),* $(,)?) => {
        core::arch::global_asm!(
            concat!(".section ", $section, ", \"ax\", @progbits"),
            ".set push",
            ".set noreorder",
            ".set noat",
            ".macro begin_routine name",
            ".global \\name",
            ".type \\name, @function",
            "\\name:",
            "    sw    $at, {saved}($sp)",
            "    sw    $v0, {saved} + 4($sp)",
            "    sw    $v1, {saved} + 8($sp)",
            "    sw    $a0, {saved} + 12($sp)",
            "    sw    $a1, {saved} + 16($sp)",
            "    lw    $v0, {left}($sp)",
            "    lw    $v1, {right}($sp)",
            ".endm",
            // Stores HI and returns.
            ".macro end_routine name, hi",
            "    lui   $at, %hi(__software_hi)",
            "    sw    \\hi, %lo(__software_hi)($at)",
            "    lw    $a1, {saved} + 16($sp)",
            "    lw    $a0, {saved} + 12($sp)",
            "    lw    $v1, {saved} + 8($sp)",
            "    lw    $v0, {saved} + 4($sp)",
            "    jr    $ra",
            "    lw    $at, {saved}($sp)",
            ".size \\name, . - \\name",
            ".endm",
            ".macro stop_by_zero",
            "    break {by_zero}",
            ".endm",
            $($line,)*
            ".purgem stop_by_zero",
            ".purgem begin_routine",
            ".purgem end_routine",
            ".set pop",
            ".text",
            saved = const SAVED,
            left = const LEFT,
            right = const RIGHT,
            by_zero = const BY_ZERO,
        );
    };
}

// The smaller factor's bits, from the lowest, add the other factor ($a0, $v0) to the product ($a1, $k1). A negative
// factor counts 2^32 too much: the other one is subtracted from the upper word beforehand.
routines!(
    ".text.__software_multiply",
    "begin_routine __software_mult",
    "    sra   $at, $v0, 31",
    "    and   $at, $at, $v1",
    "    sra   $a0, $v1, 31",
    "    and   $a0, $a0, $v0",
    "    addu  $at, $at, $a0",
    "    j     1f",
    "    subu  $a1, $zero, $at",
    ".size __software_mult, . - __software_mult",
    "begin_routine __software_multu",
    "    move  $a1, $zero",
    "1:  sltu  $at, $v0, $v1",
    "    beq   $at, $zero, 2f",
    "    move  $k1, $zero",
    "    move  $at, $v0",
    "    move  $v0, $v1",
    "    move  $v1, $at",
    "2:  beq   $v1, $zero, 5f",
    "    move  $a0, $zero",
    "3:  andi  $at, $v1, 1",
    "    beq   $at, $zero, 4f",
    "    srl   $v1, $v1, 1",
    "    addu  $k1, $k1, $v0",
    "    sltu  $at, $k1, $v0",
    "    addu  $a1, $a1, $a0",
    "    addu  $a1, $a1, $at",
    "4:  srl   $at, $v0, 31",
    "    sll   $a0, $a0, 1",
    "    or    $a0, $a0, $at",
    "    bne   $v1, $zero, 3b",
    "    sll   $v0, $v0, 1",
    "5:",
    "end_routine __software_multu, $a1",
);

// The divisor moves left until it is no longer smaller than the dividend, then back, and is subtracted where it can
// be. $a0 is the quotient's bit, $v0 becomes the remainder; bit 0 of $a1 asks for a negative quotient, bit 1 for a negative
// remainder.
routines!(
    ".text.__software_divide",
    "begin_routine __software_div",
    "    xor   $a1, $v0, $v1",
    "    srl   $a1, $a1, 31",
    "    bgez  $v0, 1f",
    "    nop",
    "    ori   $a1, $a1, 2",
    "    subu  $v0, $zero, $v0",
    "1:  bgez  $v1, 2f",
    "    nop",
    "    j     2f",
    "    subu  $v1, $zero, $v1",
    ".size __software_div, . - __software_div",
    "begin_routine __software_divu",
    "    move  $a1, $zero",
    "2:  bne   $v1, $zero, 3f",
    "    move  $k1, $zero",
    "    stop_by_zero",
    "3:  ori   $a0, $zero, 1",
    "4:  sltu  $at, $v1, $v0",
    "    beq   $at, $zero, 5f",
    "    nop",
    "    bltz  $v1, 5f",
    "    nop",
    "    sll   $v1, $v1, 1",
    "    j     4b",
    "    sll   $a0, $a0, 1",
    "5:  sltu  $at, $v0, $v1",
    "    bne   $at, $zero, 6f",
    "    nop",
    "    subu  $v0, $v0, $v1",
    "    addu  $k1, $k1, $a0",
    "6:  srl   $a0, $a0, 1",
    "    bne   $a0, $zero, 5b",
    "    srl   $v1, $v1, 1",
    "    andi  $at, $a1, 1",
    "    beq   $at, $zero, 7f",
    "    srl   $a1, $a1, 1",
    "    subu  $k1, $zero, $k1",
    "7:  beq   $a1, $zero, 8f",
    "    nop",
    "    subu  $v0, $zero, $v0",
    "8:",
    "end_routine __software_divu, $v0",
);

/// A routine for one half of an unaligned access: its address is in `$v0`, `$at` and `$v1` are free.
macro_rules! access {
    ($name:literal, $($line:expr),* $(,)?) => {
        core::arch::global_asm!(
            concat!(".section .text.", $name, ", \"ax\", @progbits"),
            ".set push",
            ".set noreorder",
            ".set noat",
            concat!(".global ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            "    sw    $at, {saved}($sp)",
            "    sw    $v0, {saved} + 4($sp)",
            "    sw    $v1, {saved} + 8($sp)",
            "    lw    $v0, {address}($sp)",
            $($line,)*
            "    lw    $v1, {saved} + 8($sp)",
            "    lw    $v0, {saved} + 4($sp)",
            "    jr    $ra",
            "    lw    $at, {saved}($sp)",
            concat!(".size ", $name, ", . - ", $name),
            ".set pop",
            ".text",
            saved = const SAVED,
            address = const LEFT,
            value = const RIGHT,
        );
    };
}

/// A load: the word's bytes move by eight bits for each byte of distance, and replace those of the register.
macro_rules! load {
    ($name:literal, $shift:literal, $($distance:expr),*) => {
        access!(
            $name,
            "    srl   $at, $v0, 2",
            "    sll   $at, $at, 2",
            "    lw    $at, 0($at)",
            $($distance,)*
            "    sll   $v0, $v0, 3",
            "    addiu $v1, $zero, -1",
            concat!("    ", $shift, "  $v1, $v1, $v0"),
            concat!("    ", $shift, "  $at, $at, $v0"),
            "    nor   $v1, $v1, $zero",
            "    lw    $v0, {value}($sp)",
            "    and   $v1, $v1, $v0",
            "    or    $at, $at, $v1",
            "    sw    $at, {value}($sp)",
        );
    };
}

load!("__software_lwl", "sllv",);
load!("__software_lwr", "srlv", "    nor   $v0, $v0, $zero");

// Bytes, not the whole word: the other CPU may write the others.
access!(
    "__software_swl",
    "    lw    $v1, {value}($sp)",
    "1:  srl   $at, $v1, 24",
    "    sb    $at, 0($v0)",
    "    addiu $v0, $v0, 1",
    "    andi  $at, $v0, 3",
    "    bne   $at, $zero, 1b",
    "    sll   $v1, $v1, 8",
);
access!(
    "__software_swr",
    "    lw    $v1, {value}($sp)",
    "1:  sb    $v1, 0($v0)",
    "    andi  $at, $v0, 3",
    "    addiu $v0, $v0, -1",
    "    bne   $at, $zero, 1b",
    "    srl   $v1, $v1, 8",
);

core::arch::global_asm!(
    ".section .software, \"aw\", @nobits",
    ".balign 4",
    ".global __software_hi",
    ".type __software_hi, @object",
    "__software_hi:",
    "    .space 4",
    ".size __software_hi, 4",
    ".text",
);

/// The caller's return address is in the last word of the frame, behind the saved registers.
const _: () = assert!(SAVED + 5 * 4 == RETURN);
