//! Arrays of bits in SRAM that several CPUs change at once, without a lock: an option of the board `tigon-n`
//! (docs/tigon2-n.md). The chip has no such instructions, and the check of its images refuses them.
//!
//! A CPU that has done a piece of work sets its bit, in any order; one CPU takes pieces in their order, up to the first one that is not
//! done. What was stored before [`set_bit`](BitArray::set_bit) is there after [`take_run`](BitArray::take_run) has taken the bit.
//!
//! ```ignore
//! const SENT: BitArray = BitArray::new(0x2_0000, 256);
//! // Any CPU:
//! SENT.set_bit(frame);
//! // One CPU, which keeps `next`:
//! let end = SENT.take_run(next);
//! while next != end {
//!     release(next);
//!     next = next.wrapping_add(1);
//! }
//! ```

#[cfg(target_arch = "mips")]
use core::arch::asm;

use defs::tigon2::map::SRAM_LIMIT;

use crate::sram;

/// `SETB rs, rt`: sets bit rt of the array at rs.
#[doc(hidden)]
#[must_use]
pub const fn setb(rs: u32, rt: u32) -> u32 {
    rs << 21 | rt << 16 | 0x28
}

/// `UPDATE rd, rs, rt`: clears the run of set bits from bit rt on; rd = the first bit behind it.
#[doc(hidden)]
#[must_use]
pub const fn update(rd: u32, rs: u32, rt: u32) -> u32 {
    rs << 21 | rt << 16 | rd << 11 | 0x29
}

/// An array of bits in SRAM, used as a ring: bit `n` stands for the pieces of work `n`, `n` plus the number of bits, and so on.
#[derive(Clone, Copy)]
pub struct BitArray {
    base: u32,
    mask: u32,
}

impl BitArray {
    /// The array of so many `bits`, a power of two from 32 on, at the address `base`, a multiple of 4 in SRAM.
    ///
    /// # Panics
    /// If it is anything else.
    #[must_use]
    pub const fn new(base: u32, bits: u32) -> Self {
        assert!(base.is_multiple_of(4), "an array begins at a word");
        assert!(base + bits / 8 <= SRAM_LIMIT, "an array lies in SRAM");
        assert!(bits.is_power_of_two() && bits >= 32, "bits fill words");
        Self {
            base,
            mask: bits - 1,
        }
    }

    /// Clears all bits. Not at once: before other CPUs use the array.
    pub fn clear(self) {
        sram::clear(self.base, (self.mask + 1) / 8);
    }

    /// Sets the bit of piece `number`: it is done. One instruction.
    #[inline(always)]
    pub fn set_bit(self, number: u32) {
        // `cargo check` for the machine of the author knows no `$2`.
        #[cfg(target_arch = "mips")]
        // SAFETY: SETB changes a word of the array only, which is in SRAM and no object of Rust, as for `sram::write`. The assembler does
        // not know the instruction, hence the fixed registers.
        unsafe {
            asm!(
                ".4byte {setb}",
                setb = const setb(2, 3),
                in("$2") self.base,
                in("$3") number & self.mask,
                options(nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "mips"))]
        let _ = number;
    }

    /// Takes the pieces from `next` on that are done, without a gap, and clears their bits. Returns the first piece that it has not taken:
    /// `next` if none is done. It ends with a word of 32 bits: more may be done if the result is a multiple of 32. One instruction.
    #[inline(always)]
    #[must_use]
    pub fn take_run(self, next: u32) -> u32 {
        let first = next & self.mask;
        #[cfg(not(target_arch = "mips"))]
        let end = first;
        #[cfg(target_arch = "mips")]
        let end: u32;
        #[cfg(target_arch = "mips")]
        // SAFETY: as for `set_bit`.
        unsafe {
            asm!(
                ".4byte {update}",
                update = const update(2, 2, 3),
                inlateout("$2") self.base => end,
                in("$3") first,
                options(nostack, preserves_flags)
            );
        }
        next.wrapping_add(end.wrapping_sub(first))
    }
}
