//! What firmware for the LANai needs before it knows any device: the start ([`entry!`]), words of the chip ([`Register`]), an end
//! ([`stop`]), and the run-time functions of the compiler.
//!
//! An image forbids `unsafe`; its crate root needs `#![no_std]` and `#![no_main]`. Rules that the compiler does not check, with
//! their reasons, are in `docs/lanai-toolchain.md`: frames of functions below 512 bytes, registers read through [`Register`] only,
//! no `global_asm!`.
#![no_std]
#![feature(asm_experimental_arch, allow_internal_unsafe)]
// `allow_internal_unsafe` lets macros of this crate expand to `unsafe` in images that forbid it.
#![allow(unsafe_code, internal_features)]

mod heap;

pub use heap::{Heap, Local};

use core::arch::asm;
use core::panic::PanicInfo;
use core::sync::atomic::{Ordering, compiler_fence};

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
#[inline(never)]
pub fn stop() -> ! {
    loop {
        compiler_fence(Ordering::SeqCst);
    }
}

/// A panic stops the CPU; its place is the caller of this function.
#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    stop()
}
