//! Probes: marks for the emulator (see [`defs::probe`]).
//!
//! | macro | marks |
//! |-------|-------|
//! | [`probe!`](crate::probe)`("name", a, b)` | a named event with two arguments |
//! | [`log!`](crate::log)`("text {} {x}", a, b)` | a line; `{}` shows a decimal, `{x}` a hexadecimal argument |
//! | [`fail!`](crate::fail)`("text {}", a)` | a failure: the CPU stops there |
//!
//! Arguments are 32-bit values; `log!` and `fail!` take up to four. A probe costs one `nop` (which the emulator does not charge) plus the
//! instructions that bring arguments into registers. The entry, and the text, are in ELF sections that are never loaded;
//! registers are named by the instruction `add a, b, %r0`. If the compiler copies code, each copy has its own entry.
//!
//! The crate that uses the macro needs `#![feature(asm_experimental_arch)]`.

pub use defs::probe::{placeholders, terminated};

/// Notes that the code around it is for these types of boards: `for_boards!("lanai7 lanai9")`. Other boards refuse the image. It
/// is no instruction.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! for_boards {
    ($names:literal) => {{
        const TEXT: &str = $names;
        // The linker does not load this section.
        #[unsafe(link_section = ".probetext")]
        static BYTES: [u8; TEXT.len() + 1] = $crate::probe::terminated(TEXT);
        // SAFETY: no instruction, and an unloaded entry.
        unsafe {
            ::core::arch::asm!(
                "9:",
                ".pushsection .probes, \"\", @progbits",
                ".4byte 9b",
                ".4byte {kind}",
                ".4byte {text}",
                "add %r0, %r0, %r0",
                "add %r0, %r0, %r0",
                ".popsection",
                kind = const $crate::KIND_BOARDS,
                text = sym BYTES,
                options(nomem, nostack, preserves_flags),
            )
        }
    }};
}

/// Marks an event: `probe!("packet sent", connection, sequence)`.
#[macro_export]
macro_rules! probe {
    ($name:literal, $a:expr, $b:expr $(,)?) => {
        $crate::__probe!(
            $crate::KIND_EVENT,
            $name,
            "add {a}, {b}, %r0",
            "add %r0, %r0, %r0",
            a = $a,
            b = $b
        )
    };
}

/// Writes a line into traces and logs: `log!("port {} opened", port)`. One placeholder for each argument.
#[macro_export]
macro_rules! log {
    ($text:literal $(, $argument:expr)* $(,)?) => {{
        const { assert!(
            $crate::probe::placeholders($text) == <[&str]>::len(&[$(stringify!($argument)),*]),
            "as many arguments as placeholders"
        ) };
        $crate::__line!($crate::KIND_LOG, $text $(, $argument)*)
    }};
}

/// Ends the firmware with a line: the CPU stops here, and the run fails. On the chip, which has no instruction for that, it stays
/// here.
#[macro_export]
macro_rules! fail {
    ($text:literal $(, $argument:expr)* $(,)?) => {{
        const { assert!(
            $crate::probe::placeholders($text) == <[&str]>::len(&[$(stringify!($argument)),*]),
            "as many arguments as placeholders"
        ) };
        $crate::__line!(
            $crate::KIND_PANIC,
            concat!("panic at ", file!(), ":", line!(), ": ", $text)
            $(, $argument)*
        );
        $crate::stop()
    }};
}

/// A line with up to four arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __line {
    ($kind:expr, $text:expr) => {
        $crate::__probe!($kind, $text, "add %r0, %r0, %r0", "add %r0, %r0, %r0",)
    };
    ($kind:expr, $text:expr, $a:expr) => {
        $crate::__probe!(
            $kind,
            $text,
            "add {a}, %r0, %r0",
            "add %r0, %r0, %r0",
            a = $a
        )
    };
    ($kind:expr, $text:expr, $a:expr, $b:expr) => {
        $crate::__probe!(
            $kind,
            $text,
            "add {a}, {b}, %r0",
            "add %r0, %r0, %r0",
            a = $a,
            b = $b
        )
    };
    ($kind:expr, $text:expr, $a:expr, $b:expr, $c:expr) => {
        $crate::__probe!(
            $kind,
            $text,
            "add {a}, {b}, %r0",
            "add {c}, %r0, %r0",
            a = $a,
            b = $b,
            c = $c
        )
    };
    ($kind:expr, $text:expr, $a:expr, $b:expr, $c:expr, $d:expr) => {
        $crate::__probe!(
            $kind,
            $text,
            "add {a}, {b}, %r0",
            "add {c}, {d}, %r0",
            a = $a,
            b = $b,
            c = $c,
            d = $d
        )
    };
}

/// A `nop` and its entry. Arguments are evaluated outside the `unsafe` block.
#[doc(hidden)]
#[macro_export]
#[allow_internal_unsafe]
macro_rules! __probe {
    ($kind:expr, $text:expr, $first:literal, $second:literal, $($name:ident = $value:expr),*) => {{
        const TEXT: &str = $text;
        // The linker does not load this section.
        #[unsafe(link_section = ".probetext")]
        static BYTES: [u8; TEXT.len() + 1] = $crate::probe::terminated(TEXT);
        $(let $name: u32 = $value;)*
        // SAFETY: a `nop` and an unloaded entry.
        unsafe {
            ::core::arch::asm!(
                "9: nop",
                ".pushsection .probes, \"\", @progbits",
                ".4byte 9b",
                ".4byte {kind}",
                ".4byte {text}",
                $first,
                $second,
                ".popsection",
                $($name = in(reg) $name,)*
                kind = const $kind,
                text = sym BYTES,
                options(nomem, nostack, preserves_flags),
            )
        }
    }};
}
