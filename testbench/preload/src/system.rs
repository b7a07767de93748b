//! System calls, for what is no matter of the world.

use libc::{c_int, c_long, c_void, nfds_t, pollfd};

use crate::error::{self, CallResult};

/// The result of a system call that returns no pointer.
pub const fn done(result: c_long) -> isize {
    result as isize
}

/// A result as Rust has it.
pub fn checked(result: c_long) -> CallResult<isize> {
    match result {
        ..0 => Err(error::last()),
        result => Ok(result as isize),
    }
}

/// Closes a descriptor.
pub fn close(descriptor: c_int) -> c_long {
    // SAFETY: any number may be given.
    unsafe { libc::syscall(libc::SYS_close, descriptor) }
}

/// Waits until one of these descriptors of the system is ready, up to a time in ns; the number of ready ones.
pub fn poll(descriptors: &mut [pollfd], limit_ns: Option<u64>) -> CallResult<usize> {
    let time = limit_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    });
    let limit = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let (all, count) = (descriptors.as_mut_ptr(), descriptors.len() as nfds_t);
    let none = std::ptr::null::<c_void>();
    // SAFETY: the call writes into the descriptors, and reads the time.
    let ready = unsafe { libc::syscall(libc::SYS_ppoll, all, count, limit, none, 8) };
    checked(ready).map(isize::cast_unsigned)
}
