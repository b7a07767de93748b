//! Probes: marks for the emulator (see [`defs::probe`]).
//!
//! [`probe!`](crate::probe)`("name", a, b)` marks a named event with two arguments of 32 bits. It costs one `nop` plus the
//! instructions that bring arguments into registers. The entry, and the text, are in ELF sections that are never loaded;
//! registers are named by the instruction `add a, b, %r0`. If the compiler copies code, each copy has its own entry.
//!
//! The crate that uses the macro needs `#![feature(asm_experimental_arch)]`.

/// Notes that the code around it is for these types of boards: `for_boards!("lanai7 lanai9")`. Other boards refuse the image. It
/// is no instruction.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! for_boards {
    ($names:literal) => {{
        // SAFETY: no instruction, and an unloaded entry.
        unsafe {
            ::core::arch::asm!(
                "9:",
                ".pushsection .probetext, \"\", @progbits",
                concat!("8: .asciz \"", $names, "\""),
                ".popsection",
                ".pushsection .probes, \"\", @progbits",
                ".4byte 9b",
                ".4byte {kind}",
                ".4byte 8b",
                "add %r0, %r0, %r0",
                "add %r0, %r0, %r0",
                ".popsection",
                kind = const $crate::KIND_BOARDS,
                options(nomem, nostack, preserves_flags),
            )
        }
    }};
}

/// Marks an event: `probe!("packet sent", connection, sequence)`.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! probe {
    ($name:literal, $a:expr, $b:expr $(,)?) => {{
        let (a, b): (u32, u32) = ($a, $b);
        // SAFETY: a `nop` and an unloaded entry.
        unsafe {
            ::core::arch::asm!(
                "9: nop",
                ".pushsection .probetext, \"\", @progbits",
                concat!("8: .asciz \"", $name, "\""),
                ".popsection",
                ".pushsection .probes, \"\", @progbits",
                ".4byte 9b",
                ".4byte {kind}",
                ".4byte 8b",
                "add {a}, {b}, %r0",
                "add %r0, %r0, %r0",
                ".popsection",
                a = in(reg) a,
                b = in(reg) b,
                kind = const $crate::KIND_EVENT,
                options(nomem, nostack, preserves_flags),
            )
        }
    }};
}
