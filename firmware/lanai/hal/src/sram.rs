//! Words of SRAM above the image and its stack, which firmware shares with the host and the engines.
//!
//! Accesses are volatile: each happens exactly once, in program order. Never use these functions for Rust's own objects,
//! which lie below the address of `--memory` (`firmware/lanai/.cargo/config.toml`).

use core::arch::asm;

/// Reads the word at `address`, a multiple of 4.
#[inline(always)]
#[must_use]
pub fn load(address: u32) -> u32 {
    // SAFETY: every aligned SRAM address can be read; the module's rule excludes Rust's objects.
    let value = unsafe { (address as *const u32).read_volatile() };
    // SAFETY: it is no instruction. The compiler, which would exchange two reads to fill the slot of a branch, moves
    // nothing past it.
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
    value
}

/// Writes the word at `address`, a multiple of 4.
#[inline(always)]
pub fn store(address: u32, value: u32) {
    // SAFETY: as for `load`.
    unsafe { (address as *mut u32).write_volatile(value) }
}
