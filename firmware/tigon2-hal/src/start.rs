//! Start code, from the loader's jump to `main`: each CPU sets its stack and overflow map, copies its part
//! of the image into its scratchpad and sets its "started" flag; CPU A clears `.bss` first.
//!
//! An image names its main functions with [`entry_a!`](crate::entry_a) and
//! [`entry_b!`](crate::entry_b).

use defs::tigon2::map::REGISTER_BASE;
use defs::tigon2::regs::{CPU_B, CPU_STATE, CpuState, STACK_MAP};

// Arguments: $a0 = destination, $a1 = its end, $a2 = source; whole multiples of 8 bytes.
core::arch::global_asm!(
    ".section .start, \"ax\", @progbits",
    ".set noreorder",
    ".type __copy_words, @function",
    "__copy_words:",
    "    beq   $a0, $a1, 2f",
    "    nop",
    "1:  lw    $t0, 0($a2)",
    "    lw    $t1, 4($a2)",
    "    addiu $a0, $a0, 8",
    "    addiu $a2, $a2, 8",
    "    sw    $t0, -8($a0)",
    "    bne   $a0, $a1, 1b",
    "    sw    $t1, -4($a0)",
    "2:  jr    $ra",
    "    nop",
    ".size __copy_words, . - __copy_words",
    // Arguments: $a0 = start, $a1 = end; a whole multiple of 8 bytes.
    ".type __clear_words, @function",
    "__clear_words:",
    "    beq   $a0, $a1, 2f",
    "    nop",
    "1:  addiu $a0, $a0, 8",
    "    sw    $zero, -8($a0)",
    "    bne   $a0, $a1, 1b",
    "    sw    $zero, -4($a0)",
    "2:  jr    $ra",
    "    nop",
    ".size __clear_words, . - __clear_words",
    ".set reorder",
    ".text",
);

/// One CPU's start code.
macro_rules! start_cpu {
    ($section:literal, $start:literal, $letter:literal, $main:literal, $cpu:expr, $($before:literal),*) => {
        core::arch::global_asm!(
            concat!(".section ", $section, ", \"ax\", @progbits"),
            ".set noreorder",
            concat!(".global ", $start),
            concat!(".type ", $start, ", @function"),
            concat!($start, ":"),
            "    la    $sp, __stack_top",
            concat!("    la    $t0, __stack_map_", $letter),
            "    li    $t1, {registers}",
            "    sw    $t0, {stack_map}($t1)",
            "    lw    $t0, {cpu_state}($t1)",
            "    ori   $t0, $t0, {started}",
            "    sw    $t0, {cpu_state}($t1)",
            $($before,)*
            concat!("    la    $a0, __scratch_", $letter, "_start"),
            concat!("    la    $a1, __scratch_", $letter, "_end"),
            concat!("    la    $a2, __scratch_", $letter, "_load"),
            "    jal   __copy_words",
            "    nop",
            concat!("    j     ", $main),
            // The event mask: all events disabled.
            "    move  $k0, $zero",
            concat!(".size ", $start, ", . - ", $start),
            ".set reorder",
            ".text",
            registers = const REGISTER_BASE,
            stack_map = const STACK_MAP + $cpu,
            cpu_state = const CPU_STATE + $cpu,
            started = const CpuState::STARTED.bits(),
        );
    };
}

start_cpu!(
    ".start",
    "_start",
    "a",
    "__main_a",
    0,
    "    la    $a0, __bss_start",
    "    la    $a1, __bss_end",
    "    jal   __clear_words",
    "    nop"
);
start_cpu!(".start.b", "_start_b", "b", "__main_b", CPU_B,);

/// Names CPU A's main function: `entry_a!(main);` with `fn main(cpu: A) -> !`.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! entry_a {
    ($main:path) => {
        #[unsafe(export_name = "__main_a")]
        extern "C" fn __main_a() -> ! {
            let main: fn($crate::cpu::A) -> ! = $main;
            // SAFETY: the start code is the only caller and calls once.
            main(unsafe { $crate::cpu::A::take() })
        }
    };
}

/// Names CPU B's main function, which runs once CPU A has called [`cpu::start_b`](crate::cpu::start_b):
/// `entry_b!(main_b);` with `fn main_b(cpu: B) -> !`.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! entry_b {
    ($main:path) => {
        #[unsafe(export_name = "__main_b")]
        extern "C" fn __main_b() -> ! {
            let main: fn($crate::cpu::B) -> ! = $main;
            // SAFETY: the start code is the only caller and calls once.
            main(unsafe { $crate::cpu::B::take() })
        }
    };
}
