//! The clock of a process to which this library is preloaded: simulated time, once it has connected.
//!
//! The main thread reads simulated time. Other threads, and the event loops of MPI libraries, which wait for what happens outside, have real time: how
//! often they read it depends on the machine.

use std::arch::naked_asm;
use std::ffi::{CStr, c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{is_connected, now_ns};

/// Parts of the names of libraries with event loops.
const OUTSIDE: [&str; 8] = [
    "libevent",
    "libopen-",
    "libpmix",
    "libprrte",
    "mca_",
    "libfabric",
    "libucp",
    "libucs",
];

/// Time since 1970 at which simulated time begins, in ns: small, since programs keep the time in a `double`.
const EPOCH_NS: u64 = 1_000_000_000_000_000;
/// Time of the other clocks at the begin.
const BEGIN_NS: u64 = 1_000_000_000_000;

const NS_OF_A_SECOND: u64 = 1_000_000_000;

/// Whether the code at this address belongs to a library with an event loop.
fn is_outside(caller: *const c_void) -> bool {
    const PLACES: usize = 64;
    static KNOWN: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
    let address = caller as usize;
    // The highest bit of an address in a process is 0: here it is the answer.
    let mark = 1 << (usize::BITS - 1);
    let place = &KNOWN[(address >> 2) % PLACES];
    let known = place.load(Ordering::Relaxed);
    if known & !mark == address {
        return known & mark != 0;
    }
    // SAFETY: the call fills the structure if it succeeds, with a string that stays.
    let outside = unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(caller, &raw mut found) != 0 && !found.dli_fname.is_null();
        is_known && {
            let name = CStr::from_ptr(found.dli_fname).to_string_lossy();
            OUTSIDE.iter().any(|part| name.contains(part))
        }
    };
    place.store(address | if outside { mark } else { 0 }, Ordering::Relaxed);
    outside
}

/// Whether who calls from this address reads simulated time.
fn has_simulated_time(caller: *const c_void) -> bool {
    // SAFETY: calls without arguments.
    let is_main = || unsafe { libc::syscall(libc::SYS_gettid) == c_long::from(libc::getpid()) };
    is_connected() && is_main() && !is_outside(caller)
}

/// Simulated time on a clock in ns; `None`: the clock tells something else.
fn read(clock: libc::clockid_t, caller: *const c_void) -> Option<u64> {
    let base_ns = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => EPOCH_NS,
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => BEGIN_NS,
        _ => return None,
    };
    has_simulated_time(caller).then(|| base_ns + now_ns())
}

const fn split(ns: u64) -> (i64, i64) {
    let (seconds, rest) = (ns / NS_OF_A_SECOND, ns % NS_OF_A_SECOND);
    (seconds.cast_signed(), rest.cast_signed())
}

unsafe extern "C" fn clock_gettime_from(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
    caller: *const c_void,
) -> c_int {
    match read(clock, caller) {
        Some(ns) => {
            let (tv_sec, tv_nsec) = split(ns);
            // SAFETY: the caller has room for a time.
            unsafe { time.write(libc::timespec { tv_sec, tv_nsec }) };
            0
        }
        // SAFETY: the system checks the arguments.
        None => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int },
    }
}

unsafe extern "C" fn gettimeofday_from(
    time: *mut libc::timeval,
    zone: *mut c_void,
    caller: *const c_void,
) -> c_int {
    let Some(ns) = read(libc::CLOCK_REALTIME, caller) else {
        // SAFETY: the system checks the arguments.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) as c_int };
    };
    let (tv_sec, rest) = split(ns);
    let tv_usec = rest / 1000;
    if !time.is_null() {
        // SAFETY: the caller has room for a time.
        unsafe { time.write(libc::timeval { tv_sec, tv_usec }) };
    }
    0
}

unsafe extern "C" fn time_from(
    time: *mut libc::time_t,
    _: *mut c_void,
    caller: *const c_void,
) -> libc::time_t {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` has room for a time; the caller has, or gives null.
    unsafe {
        clock_gettime_from(libc::CLOCK_REALTIME, &raw mut now, caller);
        if !time.is_null() {
            time.write(now.tv_sec);
        }
    }
    now.tv_sec
}

/// A function of C that tells another one, in its third argument, where it was called.
macro_rules! with_caller {
    ($($name:ident => $inner:ident),*) => {$(
        #[doc = concat!("Stands for `", stringify!($name), "` of C.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("mov rdx, [rsp]", "jmp {}", sym $inner);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("mov x2, x30", "b {}", sym $inner);
        }
    )*};
}

with_caller!(
    clock_gettime => clock_gettime_from,
    gettimeofday => gettimeofday_from,
    time => time_from
);
