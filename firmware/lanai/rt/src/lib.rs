//! Runtime of firmware for the LANai, below all devices: the start ([`entry!`]), words of the chip ([`Register`]), an end
//! ([`stop`]), and the run-time functions of the compiler.
//!
//! An image forbids `unsafe`; its crate root needs `#![no_std]` and `#![no_main]`. Rules that the compiler does not check, with
//! their reasons, are in `docs/lanai-toolchain.md`: frames of functions below 512 bytes, registers read through [`Register`] only,
//! no `global_asm!`.
#![no_std]
#![feature(asm_experimental_arch, allow_internal_unsafe)]
// `allow_internal_unsafe` lets macros of this crate expand to `unsafe` in images that forbid it.
#![allow(unsafe_code, internal_features)]
// Editors check firmware for the machine of its author, whose registers are wider.
#![cfg_attr(not(target_arch = "mips"), allow(asm_sub_register))]

mod heap;

pub use heap::{Heap, Local};

use core::arch::asm;
use core::panic::PanicInfo;
use core::sync::atomic::{Ordering, compiler_fence};

use defs::line::Line;
use defs::probe::Kind;

/// Names the function where an image begins: `entry!(main);` with `fn main() -> !`.
#[macro_export]
#[allow_internal_unsafe]
macro_rules! entry {
    ($main:path) => {
        #[unsafe(export_name = "main")]
        extern "C" fn __main() -> ! {
            let main: fn() -> ! = $main;
            main()
        }
    };
}

unsafe extern "C" {
    /// The linker's: first address after the image's memory.
    static __stack_top: u8;
}

/// A word that others change or see: a register of the chip, or SRAM that the host reads or writes.
#[derive(Debug, Clone, Copy)]
pub struct Register(u32);

impl Register {
    /// The register of the chip at `address`, in the last 32 KB of addresses, where no memory is.
    pub const fn at(address: u32) -> Register {
        assert!(address >= 0xFFFF_8000 && address & 3 == 0, "no register");
        Register(address)
    }

    /// The word number `index` above the stack, where the image's memory ends and words for others begin.
    #[inline(always)]
    pub fn shared(index: u32) -> Register {
        Register((&raw const __stack_top).addr() as u32 + 4 * index)
    }

    /// Reads the word. Reads and writes happen in the order of the program.
    #[inline(always)]
    pub fn read(self) -> u32 {
        // SAFETY: no Rust object is there: it is a register, or lies above the stack.
        let value = unsafe { (self.0 as *const u32).read_volatile() };
        // SAFETY: it is no instruction. The compiler, which would exchange two reads to fill the slot of a branch, moves
        // nothing past it.
        unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
        value
    }

    /// Writes the word.
    #[inline(always)]
    pub fn write(self, value: u32) {
        // SAFETY: no Rust object is there: it is a register, or lies above the stack.
        unsafe { (self.0 as *mut u32).write_volatile(value) }
    }
}

/// Ends the work of an image: the CPU stays here.
#[inline(never)] // One end for all callers, which tools find by its name.
pub fn stop() -> ! {
    loop {
        compiler_fence(Ordering::SeqCst);
    }
}

/// Most bytes of a panic's place and message.
const TEXT_BYTES: usize = 192;

/// The probe of a panic, with a text as its first argument.
macro_rules! panic_probe {
    ($format:ident, $second:literal, $text:ident $(, $name:ident = in(reg) $value:expr)?) => {
        asm!(
            "9: nop",
            ".pushsection .probes, \"\", @progbits",
            ".4byte 9b",
            ".4byte {kind}",
            ".4byte {format}",
            "add {text}, {length}, %r0",
            $second,
            ".popsection",
            text = in(reg) $text.as_ptr().addr() as u32,
            length = in(reg) $text.len() as u32,
            $($name = in(reg) $value,)?
            kind = const Kind::Panic as u32,
            format = sym $format,
            options(nomem, nostack, preserves_flags),
        )
    };
}

/// A panic stops the CPU, after a probe that gives its place to the emulator, and with the feature `panic-values` its message. The chip
/// has no instruction that stops it: there the CPU stays in [`stop`].
#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info
        .location()
        .map_or(("", 0), |place| (place.file(), place.line()));
    if cfg!(feature = "panic-values") {
        let text = Line::<TEXT_BYTES>::of(format_args!("{file}:{line}: {}", info.message()));
        // The emulator reads it, of which the compiler knows nothing.
        let text = core::hint::black_box(&text).bytes();
        // The linker does not load this section.
        #[unsafe(link_section = ".probetext")]
        static TEXT: [u8; 13] = *b"panic at {s}\0";
        // SAFETY: a `nop` and an unloaded entry.
        unsafe { panic_probe!(TEXT, "add %r0, %r0, %r0", text) }
        stop()
    }
    // The linker does not load this section.
    #[unsafe(link_section = ".probetext")]
    static TEXT: [u8; 16] = *b"panic at {s}:{}\0";
    // SAFETY: a `nop` and an unloaded entry.
    unsafe { panic_probe!(TEXT, "add {line}, %r0, %r0", file, line = in(reg) line) }
    stop()
}
