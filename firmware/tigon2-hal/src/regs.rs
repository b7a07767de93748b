//! The register file: 32-bit volatile accesses by the offsets of [`defs::tigon2::regs`].
//!
//! A function that uses registers holds the base of the register file in one CPU register, so that each
//! access is one instruction. (With plain constants the compiler builds each address in two instructions.)
//!
//! These functions are safe although a register can start a DMA: no Rust object lies where DMA or MAC
//! write, because the linker script ends the image below the rings. A firmware that passes another local
//! address is wrong in a way that no type here can prevent.

pub use defs::tigon2::regs::*;

pub use defs::tigon2::map::REGISTER_BASE as BASE;

use defs::tigon2::banks::BANKS_END;

/// Address of a register. `offset` is a multiple of 4, below 0x400 on the chip.
#[inline(always)]
fn address(offset: u32) -> *mut u32 {
    debug_assert!(offset < BANKS_END && offset.is_multiple_of(4));
    let base: u32;
    // SAFETY: one instruction that produces a constant; `pure` lets uses share it.
    unsafe {
        core::arch::asm!(
            ".set push",
            ".set noat",
            "lui {base}, {high}",
            ".set pop",
            base = out(reg) base,
            high = const BASE >> 16,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    (base + offset) as *mut u32
}

/// Reads a register.
#[inline(always)]
#[must_use]
pub fn read(offset: u32) -> u32 {
    // SAFETY: the register file answers every aligned word read; no Rust object lies there.
    unsafe { address(offset).read_volatile() }
}

/// Writes a register.
#[inline(always)]
pub fn write(offset: u32, value: u32) {
    // SAFETY: the register file takes every aligned word write; no Rust object lies there (see the
    // module's text for what a DMA may touch).
    unsafe { address(offset).write_volatile(value) }
}

/// Sets bits of a register by a read and a write.
#[inline(always)]
pub fn set(offset: u32, bits: u32) {
    write(offset, read(offset) | bits);
}

/// Clears bits of a register by a read and a write.
#[inline(always)]
pub fn clear(offset: u32, bits: u32) {
    write(offset, read(offset) & !bits);
}
