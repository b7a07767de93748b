//! Probes: marks for the emulator (see [`defs::probe`]).
//!
//! | macro | marks |
//! |-------|-------|
//! | [`event!`](crate::event)`("name", a, b)` | a named event with up to four arguments |
//! | [`log!`](crate::log)`("text {} {x}", a, b)` | a line; `{}` shows a decimal, `{x}` a hexadecimal argument |
//! | [`fail!`](crate::fail)`("text {}", a)` | a failure: the CPU stops there |
//! | [`stage_enter!`](crate::stage_enter)`(TRANSMISSION)`, [`stage_exit!`](crate::stage_exit) | a protocol stage, by its name in [`defs::probe::stage`] |
//! | [`stage_idle!`](crate::stage_idle)`(SEND_FRAME)` | the end of a stage that found nothing to do |
//! | [`wait_enter!`](crate::wait_enter)`("semaphore")`, [`wait_exit!`](crate::wait_exit) | a wait, not counted as time of the stage |
//! | [`for_boards!`](crate::for_boards)`("tigon-n")` | no instruction, but the types of boards for which the code is |
//! | [`published!`](crate::published)`("inbox of CPU B", address, words)` | no instruction, but words by which one side tells another that it has come so far |
//!
//! Arguments are 32-bit values. A probe costs one `nop` plus the instructions that bring arguments into
//! registers; values that are in registers cost nothing. A probe is an entry in an ELF section that is
//! never loaded; the entry marks the probe's own `nop`, because any other instruction could be reached by a
//! path that does not pass the probe. If the compiler copies code (inlining, unrolling), each copy has its
//! own entry.
//!
//! The crate that uses these macros needs `#![feature(asm_experimental_arch)]`.

pub use defs::probe::{Kind, NOTHING_TO_DO, Published, placeholders, stage, terminated};

/// A `nop` and the entry that marks it: five words as [`defs::probe`] describes them. `nomem`: a probe
/// reads no memory that the compiler would have to write back first.
#[doc(hidden)]
#[macro_export]
#[allow_internal_unsafe]
macro_rules! __probe {
    ($kind:ident, $text:expr $(,)?) => {
        $crate::__probe_entry!(
            $kind,
            $text,
            "addu $zero, $zero, $zero",
            "addu $zero, $zero, $zero",
        )
    };
    ($kind:ident, $text:expr, $a:expr $(,)?) => {
        $crate::__probe_entry!(
            $kind,
            $text,
            "addu $zero, {a}, $zero",
            "addu $zero, $zero, $zero",
            a = $a
        )
    };
    ($kind:ident, $text:expr, $a:expr, $b:expr $(,)?) => {
        $crate::__probe_entry!(
            $kind,
            $text,
            "addu $zero, {a}, {b}",
            "addu $zero, $zero, $zero",
            a = $a,
            b = $b
        )
    };
    ($kind:ident, $text:expr, $a:expr, $b:expr, $c:expr $(,)?) => {
        $crate::__probe_entry!(
            $kind,
            $text,
            "addu $zero, {a}, {b}",
            "addu $zero, {c}, $zero",
            a = $a,
            b = $b,
            c = $c
        )
    };
    ($kind:ident, $text:expr, $a:expr, $b:expr, $c:expr, $d:expr $(,)?) => {
        $crate::__probe_entry!(
            $kind,
            $text,
            "addu $zero, {a}, {b}",
            "addu $zero, {c}, {d}",
            a = $a,
            b = $b,
            c = $c,
            d = $d
        )
    };
}

/// The instruction that a probe marks.
#[doc(hidden)]
#[macro_export]
macro_rules! __probe_instruction {
    (Panic) => {
        "break"
    };
    (Boards) => {
        ""
    };
    ($kind:ident) => {
        "nop"
    };
}

/// Implements [`__probe!`]. Arguments are evaluated outside the `unsafe` block.
#[doc(hidden)]
#[macro_export]
#[allow_internal_unsafe]
macro_rules! __probe_entry {
    ($kind:ident, $text:expr, $first:literal, $second:literal, $($name:ident = $value:expr),*) => {{
        const TEXT: &str = $text;
        #[unsafe(link_section = ".probetext")]
        static BYTES: [u8; TEXT.len() + 1] = $crate::probe::terminated(TEXT);
        $(let $name: u32 = $value;)*
        // SAFETY: a `nop` (or nothing, or the `break` that a panic ends in) and an unloaded entry.
        unsafe {
            ::core::arch::asm!(
                concat!("9: ", $crate::__probe_instruction!($kind)),
                ".pushsection .probes, \"\", @progbits",
                ".set push",
                ".set noreorder",
                ".set noat",
                ".4byte 9b",
                ".4byte {kind}",
                ".4byte {text}",
                $first,
                $second,
                ".set pop",
                ".popsection",
                $($name = in(reg) $name,)*
                kind = const $crate::probe::Kind::$kind as u32,
                text = sym BYTES,
                options(nomem, nostack, preserves_flags),
            )
        }
    }};
}

/// Marks a named event: `event!("frame dropped", reason, length)`, up to four arguments.
#[macro_export]
macro_rules! event {
    ($name:expr $(, $argument:expr)* $(,)?) => {
        $crate::__probe!(Event, $name $(, $argument)*)
    };
}

/// Logs a line: `log!("peer {} at {x}", node, address)`, up to four arguments. `{s}` takes two: the
/// address of a text and its length in bytes.
#[macro_export]
macro_rules! log {
    ($format:literal $(, $argument:expr)* $(,)?) => {{
        const { assert!(
            $crate::probe::placeholders($format) == <[&str]>::len(&[$(stringify!($argument)),*]),
            "as many arguments as placeholders"
        ) };
        $crate::__probe!(Log, $format $(, $argument)*)
    }};
}

/// Stops the CPU permanently and logs a reason: `fail!("{} of {} are free", free, all)`, up to four
/// arguments as for [`log!`](crate::log). The CPU stops in the failing function with all registers intact,
/// and the line has values. A panic costs more instructions, and its text is that of the source, without values.
#[macro_export]
macro_rules! fail {
    ($format:literal $(, $argument:expr)* $(,)?) => {{
        const { assert!(
            $crate::probe::placeholders($format) == <[&str]>::len(&[$(stringify!($argument)),*]),
            "as many arguments as placeholders"
        ) };
        $crate::__probe!(Panic, concat!("panic at ", file!(), ":", line!(), ": ", $format) $(, $argument)*);
        $crate::cpu::stop()
    }};
}

/// A protocol stage begins: `stage_enter!(TRANSMISSION)`, a constant of [`defs::probe::stage`].
#[macro_export]
macro_rules! stage_enter {
    ($stage:ident) => {
        $crate::__probe!(StageEnter, $crate::probe::stage::$stage)
    };
}

/// The protocol stage ends.
#[macro_export]
macro_rules! stage_exit {
    ($stage:ident) => {
        $crate::__probe!(StageExit, $crate::probe::stage::$stage)
    };
}

/// The protocol stage ends; it found nothing to do. One `nop` carries two entries: the event
/// [`NOTHING_TO_DO`](defs::probe::NOTHING_TO_DO) and the stage's end.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! stage_idle {
    ($stage:ident) => {{
        const NOTHING: &str = $crate::probe::NOTHING_TO_DO;
        const STAGE: &str = $crate::probe::stage::$stage;
        #[unsafe(link_section = ".probetext")]
        static NOTHING_BYTES: [u8; NOTHING.len() + 1] = $crate::probe::terminated(NOTHING);
        #[unsafe(link_section = ".probetext")]
        static STAGE_BYTES: [u8; STAGE.len() + 1] = $crate::probe::terminated(STAGE);
        // SAFETY: a `nop` and two unloaded entries.
        unsafe {
            ::core::arch::asm!(
                "9: nop",
                ".pushsection .probes, \"\", @progbits",
                ".4byte 9b",
                ".4byte {event}",
                ".4byte {nothing}",
                "addu $zero, $zero, $zero",
                "addu $zero, $zero, $zero",
                ".4byte 9b",
                ".4byte {exit}",
                ".4byte {stage}",
                "addu $zero, $zero, $zero",
                "addu $zero, $zero, $zero",
                ".popsection",
                event = const $crate::probe::Kind::Event as u32,
                exit = const $crate::probe::Kind::StageExit as u32,
                nothing = sym NOTHING_BYTES,
                stage = sym STAGE_BYTES,
                options(nomem, nostack, preserves_flags),
            )
        }
    }};
}

/// Notes that the code around it is for these types of boards: `for_boards!("tigon-n")`. Other boards refuse the image. It is no
/// instruction.
#[macro_export]
macro_rules! for_boards {
    ($names:literal) => {
        $crate::__probe!(Boards, $names)
    };
}

/// A wait begins; its time belongs to no stage: `wait_enter!("semaphore")`.
#[macro_export]
macro_rules! wait_enter {
    ($name:literal) => {
        $crate::__probe!(WaitEnter, $name)
    };
}

/// The wait ends.
#[macro_export]
macro_rules! wait_exit {
    ($name:literal) => {
        $crate::__probe!(WaitExit, $name)
    };
}

/// Declares words of SRAM by which one side tells another that it has come so far ([`Published`]), for `lanigon run --races`. Costs
/// nothing. Stands outside of functions, in the image itself. What comes first is their name:
///
/// * `published!("inbox of CPU B", INBOX_B.indices(), Queue::INDICES)`: constant address and number of words;
/// * `published!(all LIST: 0 1 2)`: a list of three [`Published`]; `behind "symbol"` adds the address of a symbol of the linker to
///   theirs.
#[macro_export]
macro_rules! published {
    (all $list:path: $($index:literal)*) => {
        const _: () = assert!($list.len() == [$($index),*].len(), "one number for each entry of the list");
        $($crate::__published!($list[$index], ".4byte {address}", address = const WORDS.address);)*
    };
    (all $list:path: $($index:literal)* behind $symbol:literal) => {
        const _: () = assert!($list.len() == [$($index),*].len(), "one number for each entry of the list");
        $($crate::__published!(
            $list[$index], concat!(".4byte ", $symbol, " + {address}"), address = const WORDS.address
        );)*
    };
    ($name:literal, $address:expr, $words:expr) => {
        $crate::__published!(
            $crate::probe::Published::words($name, $address, $words), ".4byte {address}",
            address = const WORDS.address
        );
    };
}

#[doc(hidden)]
#[macro_export]
#[allow_internal_unsafe]
macro_rules! __published {
    ($published:expr, $address:expr, $($operand:tt)*) => {
        const _: () = {
            // Assembly stands in modules only.
            mod declaration {
                #[allow(unused_imports, reason = "declarations of symbols need nothing from outside")]
                use super::*;

                const WORDS: $crate::probe::Published = $published;
                #[unsafe(link_section = ".probetext")]
                static BYTES: [u8; WORDS.name.len() + 1] = $crate::probe::terminated(WORDS.name);
                ::core::arch::global_asm!(
                    ".pushsection .probes, \"\", @progbits",
                    $address,
                    ".4byte {kind}",
                    ".4byte {text}",
                    ".4byte {words}",
                    ".4byte {every_bytes}",
                    ".popsection",
                    $($operand)*,
                    kind = const WORDS.kind as u32,
                    text = sym BYTES,
                    words = const WORDS.counts(),
                    every_bytes = const WORDS.every_bytes,
                );
            }
        };
    };
}
