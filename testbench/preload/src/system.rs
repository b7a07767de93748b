//! System calls, for what is no matter of the world.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Sleeps in real time, in ns.
pub fn sleep(ns: u64) {
    let _ = poll(&mut [], Some(ns));
}

/// Number of the thread.
pub fn thread() -> c_long {
    // SAFETY: a call without arguments.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// The function of this name that this library stands for. `place` keeps its address: threads that look at the same time find the same one, so
/// its loads and stores are relaxed.
///
/// # Safety
/// `F` is the type of the function.
pub unsafe fn real<F: Copy>(name: &CStr, place: &AtomicUsize) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let mut address = place.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: the name ends with 0.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        place.store(address, Ordering::Relaxed);
    }
    // SAFETY: the caller's promise.
    (address != 0).then(|| unsafe { std::mem::transmute_copy(&address) })
}
