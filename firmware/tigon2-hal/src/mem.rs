//! The four memory functions that the compiler calls. They move aligned words if both addresses are
//! aligned, else bytes: the chip has no unaligned loads, which the usual implementations need.
//!
//! The accesses are volatile: otherwise the compiler would recognise the loops and replace them by calls of
//! the functions that they implement.

const WORD: usize = 4;

/// Number of words in `length_bytes`; 0 unless both addresses are aligned.
#[inline(always)]
fn in_words(a: *const u8, b: *const u8, length_bytes: usize) -> usize {
    if (a as usize | b as usize).is_multiple_of(WORD) {
        length_bytes & !(WORD - 1)
    } else {
        0
    }
}

/// Copies upwards.
///
/// # Safety
/// As for C's `memcpy`; ranges may overlap if `to` is below `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length_bytes: usize) -> *mut u8 {
    let words = in_words(to, from, length_bytes);
    let mut at = 0;
    // SAFETY: the caller vouches for both ranges; `words` is 0 unless both are aligned.
    unsafe {
        while at != words {
            let value = from.add(at).cast::<u32>().read_volatile();
            to.add(at).cast::<u32>().write_volatile(value);
            at += WORD;
        }
        while at != length_bytes {
            to.add(at).write_volatile(from.add(at).read_volatile());
            at += 1;
        }
    }
    to
}

/// Copies between ranges that may overlap.
///
/// # Safety
/// As for C's `memmove`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, length_bytes: usize) -> *mut u8 {
    if (to as usize) <= (from as usize) {
        // SAFETY: an upward copy is correct if the target is below the source.
        return unsafe { memcpy(to, from, length_bytes) };
    }
    let words = in_words(to, from, length_bytes);
    let mut at = length_bytes;
    // SAFETY: the caller vouches for both ranges; `words` is 0 unless both are aligned.
    unsafe {
        while at != words {
            at -= 1;
            to.add(at).write_volatile(from.add(at).read_volatile());
        }
        while at != 0 {
            at -= WORD;
            let value = from.add(at).cast::<u32>().read_volatile();
            to.add(at).cast::<u32>().write_volatile(value);
        }
    }
    to
}

/// Fills with one byte.
///
/// # Safety
/// As for C's `memset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, value: i32, length_bytes: usize) -> *mut u8 {
    let byte = value as u8;
    let half = u32::from(byte) | u32::from(byte) << 8;
    let word = half | half << 16;
    let words = in_words(to, to, length_bytes);
    let mut at = 0;
    // SAFETY: the caller vouches for the range; `words` is 0 unless it is aligned.
    unsafe {
        while at != words {
            to.add(at).cast::<u32>().write_volatile(word);
            at += WORD;
        }
        while at != length_bytes {
            to.add(at).write_volatile(byte);
            at += 1;
        }
    }
    to
}

/// Compares bytes.
///
/// # Safety
/// As for C's `memcmp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length_bytes: usize) -> i32 {
    let mut at = 0;
    while at != length_bytes {
        // SAFETY: the caller vouches for both ranges.
        let (left, right) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if left != right {
            return i32::from(left) - i32::from(right);
        }
        at += 1;
    }
    0
}
