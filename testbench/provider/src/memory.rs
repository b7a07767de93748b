//! Bytes of the process's buffers.

use std::ptr;
use std::slice;

use crate::ffi::IoVec;

/// Buffers of the process: address and length of each.
pub type BufferList = Vec<(usize, usize)>;

/// The buffers of a vector of C.
///
/// # Safety
/// `vector` has `count` entries.
pub unsafe fn buffers(vector: *const IoVec, count: usize) -> BufferList {
    if count == 0 || vector.is_null() {
        return BufferList::new();
    }
    // SAFETY: the caller's promise.
    let entries = unsafe { slice::from_raw_parts(vector, count) };
    let entry = |entry: &IoVec| (entry.base as usize, entry.length);
    entries.iter().map(entry).collect()
}

/// The bytes of buffers.
///
/// # Safety
/// The buffers are the process's, and it does not write them meanwhile: so a call of libfabric promises.
pub unsafe fn gather(buffers: &[(usize, usize)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(buffers.iter().map(|(_, length)| length).sum());
    for (address, length) in buffers.iter().filter(|(_, length)| *length > 0) {
        // SAFETY: the caller's promise.
        bytes.extend_from_slice(unsafe { slice::from_raw_parts(*address as *const u8, *length) });
    }
    bytes
}

/// Writes bytes into buffers, behind what is used of them. What does not fit is left out.
///
/// # Safety
/// The buffers are the process's, which has given them for a message: a posted receive.
pub unsafe fn scatter(buffers: &[(usize, usize)], used: usize, bytes: &[u8]) {
    let (mut skipped, mut left) = (used, bytes);
    for (address, length) in buffers {
        let skip = skipped.min(*length);
        skipped -= skip;
        let part = left.len().min(length - skip);
        let (now, later) = left.split_at(part);
        // SAFETY: the caller's promise; `part` bytes from there on are in the buffer.
        unsafe { ptr::copy_nonoverlapping(now.as_ptr(), (address + skip) as *mut u8, part) };
        left = later;
    }
}
