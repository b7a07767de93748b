//! Who has simulated time, in a process to which this library is preloaded.
//!
//! The main thread reads simulated time, once it has connected, and sleeps so. Other threads, and the event loops of MPI libraries, which wait for
//! what happens outside, have real time: how often they read it depends on the machine.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use lanigon_line::clock::TimeSource;
use lanigon_line::pause::{AwaitedCondition, AwaitedLock, PATIENCE};
use lanigon_line::real::{others_sleep, real, real_ns, real_sleep, start_helper};
use lanigon_line::with_caller;
use libc::{fd_set, nfds_t, pollfd, timeval};

use crate::process::{is_connected, now_ns, pass_ns, takes_part};

/// Longest step of a wait for a lock, in ns: then who waits looks whether it can be had.
const STEP_NS: u64 = 1_000_000;
/// Pause between two looks at other threads, in ns of real time.
const LOOK_NS: u64 = 20_000;

/// Simulated time of the process.
pub static TIME: TimeSource = TimeSource {
    now_ns: read,
    lets_pass,
    pass,
    await_condition,
};

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

/// Part of the names of MPI libraries, which sleep while they wait for their starter.
const MPI: &str = "libmpi";

/// Whether the code at this address belongs to a library with such a name.
fn is_of(caller: *const c_void, is_meant: impl Fn(&str) -> bool) -> bool {
    // SAFETY: the call fills the structure if it succeeds, with a string that stays.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(caller, &raw mut found) != 0 && !found.dli_fname.is_null();
        is_known && is_meant(&CStr::from_ptr(found.dli_fname).to_string_lossy())
    }
}

/// Whether the code at this address belongs to a library with an event loop.
fn is_outside(caller: *const c_void) -> bool {
    // Programs read the clock at few places. A collision costs another search.
    const PLACES: usize = 64;
    static KNOWN: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
    let address = caller as usize;
    // The highest bit of an address in a process is 0: here it is the answer.
    let mark = 1 << (usize::BITS - 1);
    let place = &KNOWN[(address >> 2) % PLACES];
    // Relaxed: the word is the whole answer, and each thread finds the same one.
    let known = place.load(Ordering::Relaxed);
    if known & !mark == address {
        return known & mark != 0;
    }
    let outside = is_of(caller, |name| {
        OUTSIDE.iter().any(|part| name.contains(part))
    });
    place.store(address | if outside { mark } else { 0 }, Ordering::Relaxed);
    outside
}

/// Whether this is the main thread, with simulated time for code at this address.
fn is_inside(caller: *const c_void) -> bool {
    // SAFETY: calls without arguments.
    let is_main = || unsafe { libc::syscall(libc::SYS_gettid) == c_long::from(libc::getpid()) };
    is_connected() && is_main() && !is_outside(caller)
}

/// Simulated time in ns, if who calls from this address reads it.
fn read(caller: *const c_void) -> Option<u64> {
    is_inside(caller).then(now_ns)
}

/// Whether code at this address waits in simulated time.
fn lets_pass(caller: *const c_void) -> bool {
    is_inside(caller) && takes_part() && !is_of(caller, |name| name.contains(MPI))
}

/// Lets so much time pass, in ns; less if a lock can be had. Whether the wait is over.
fn pass(limit_ns: u64, lock: Option<AwaitedLock>) -> bool {
    let Some(lock) = lock else {
        pass_ns(limit_ns);
        return true;
    };
    // SAFETY: this thread waits for the lock.
    pass_unless(limit_ns, || unsafe { lock.is_free() })
}

/// Lets so much time pass, in ns, unless something ends that; whether nothing has. Other threads have real time: simulated time stands while one
/// of them runs.
fn pass_unless(mut limit_ns: u64, is_over: impl Fn() -> bool) -> bool {
    let mut patience_ns = limit_ns.saturating_mul(PATIENCE);
    let now_ns = || real_ns(libc::CLOCK_MONOTONIC);
    while limit_ns > 0 && patience_ns > 0 {
        if is_over() {
            return false;
        }
        let begin_ns = now_ns();
        if !others_sleep() {
            real_sleep(LOOK_NS);
            patience_ns = patience_ns.saturating_sub(now_ns() - begin_ns);
            continue;
        }
        let step_ns = limit_ns.min(STEP_NS);
        pass_ns(step_ns);
        limit_ns -= step_ns;
    }
    true
}

/// Waits for a condition as C does; a helper wakes the thread when the time is over.
///
/// # Safety
/// The thread may wait for the condition.
unsafe fn await_condition(condition: AwaitedCondition, limit_ns: u64) -> c_int {
    if limit_ns == 0 {
        // SAFETY: the caller's promise.
        return unsafe { condition.wait(Some(0)) };
    }
    const WAITS: u8 = 0;
    const WOKEN: u8 = 1;
    const LATE: u8 = 2;
    let state = Arc::new(AtomicU8::new(WAITS));
    let of_helper = Arc::clone(&state);
    let helper = start_helper(move || {
        // Relaxed: the state is all that both know.
        let is = |from, to| {
            let (done, failed) = (Ordering::Relaxed, Ordering::Relaxed);
            of_helper.compare_exchange(from, to, done, failed).is_ok()
        };
        if pass_unless(limit_ns, || !is(WAITS, WAITS)) && is(WAITS, LATE) {
            // SAFETY: the thread waits for this helper.
            unsafe { condition.wake() };
        }
    });
    // SAFETY: the caller's promise.
    let done = unsafe { condition.wait(helper.is_none().then_some(limit_ns)) };
    let is_late = state.swap(WOKEN, Ordering::Relaxed) == LATE;
    if let Some(helper) = helper {
        let _ = helper.join();
    }
    match done {
        0 if is_late => libc::ETIMEDOUT,
        done => done,
    }
}

unsafe extern "C" fn poll_from(
    descriptors: *mut pollfd,
    count: nfds_t,
    limit_ms: c_int,
    caller: *const c_void,
) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(*mut pollfd, nfds_t, c_int) -> c_int;
    if let Some(limit_ms) = u64::try_from(limit_ms).ok()
        && count == 0
        && limit_ms > 0
        && lets_pass(caller)
    {
        pass_ns(limit_ms * 1_000_000);
        return 0;
    }
    // SAFETY: the caller keeps the promises of the function, which has this type.
    unsafe {
        real::<Function>(c"poll", &REAL).map_or(-1, |real| real(descriptors, count, limit_ms))
    }
}

unsafe extern "C" fn select_from(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    limit: *mut timeval,
    caller: *const c_void,
) -> c_int {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function =
        unsafe extern "C" fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int;
    let is_empty = count == 0 || (read.is_null() && write.is_null() && except.is_null());
    // SAFETY: the limit is null or a time.
    if let Some(limit) = unsafe { limit.as_ref() }
        && is_empty
        && lets_pass(caller)
    {
        let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
        let us = unsigned(limit.tv_sec).saturating_mul(1_000_000);
        pass_ns(
            us.saturating_add(unsigned(limit.tv_usec))
                .saturating_mul(1000),
        );
        return 0;
    }
    // SAFETY: the caller keeps the promises of the function, which has this type.
    unsafe {
        let real = real::<Function>(c"select", &REAL);
        real.map_or(-1, |real| real(count, read, write, except, limit))
    }
}

// A wait for descriptors is one for something outside: that takes real time.
with_caller!(
    poll => poll_from "rcx" "x3",
    select => select_from "r9" "x5",
);
