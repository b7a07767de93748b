//! Words of SRAM that the firmware shares with the host, the DMA engines or the other CPU: mailboxes,
//! general communication words, rings, buffers and structures at fixed addresses.
//!
//! Accesses are volatile: each happens exactly once, in program order.
//! Never use these functions for Rust's own objects (statics and stack); the image occupies SRAM
//! from 0x4000 to [`image_end`].

/// Reads the word at `address`, a multiple of 4.
#[inline(always)]
#[must_use]
pub fn read(address: u32) -> u32 {
    // SAFETY: every aligned SRAM address can be read; the module's rule excludes Rust's objects.
    unsafe { (address as *const u32).read_volatile() }
}

/// Writes the word at `address`, a multiple of 4.
#[inline(always)]
pub fn write(address: u32, value: u32) {
    // SAFETY: as for `read`.
    unsafe { (address as *mut u32).write_volatile(value) }
}

/// Reads the halfword at `address`, a multiple of 2.
#[inline(always)]
#[must_use]
pub fn read_half(address: u32) -> u16 {
    // SAFETY: as for `read`.
    unsafe { (address as *const u16).read_volatile() }
}

/// Writes the halfword at `address`, a multiple of 2.
#[inline(always)]
pub fn write_half(address: u32, value: u16) {
    // SAFETY: as for `read`.
    unsafe { (address as *mut u16).write_volatile(value) }
}

/// Clears `bytes` (a multiple of 4) from `address`.
pub fn clear(address: u32, bytes: u32) {
    let mut at = address;
    let end = address + bytes;
    while at != end {
        write(at, 0);
        at += 4;
    }
}

/// The first SRAM address after the image. The firmware may use memory from here to the rings (0x3D800 on a
/// 512 KB board).
#[must_use]
pub fn image_end() -> u32 {
    unsafe extern "C" {
        static __image_end: u8;
    }
    &raw const __image_end as u32
}
