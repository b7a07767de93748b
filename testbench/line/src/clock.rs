//! The clock of a process: simulated time, where the library that is preloaded has a source of it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::pause::{AwaitedCondition, AwaitedLock};
use crate::real::real;

/// Time since 1970 at which simulated time begins, in ns: small, since programs keep the time in a `double`.
const EPOCH_NS: u64 = 1_000_000_000_000_000;
/// Time of the other clocks at the begin.
const BEGIN_NS: u64 = 1_000_000_000_000;

/// Nanoseconds of a second.
const NS_OF_A_SECOND: u64 = 1_000_000_000;

/// Simulated time of a process, for functions of C that tell time or wait.
#[derive(Debug)]
pub struct TimeSource {
    /// Tells simulated time in ns to code at an address; `None`: it has real time.
    pub now_ns: fn(*const c_void) -> Option<u64>,
    /// Whether waits of code at an address, which has simulated time, take simulated time.
    pub lets_pass: fn(*const c_void) -> bool,
    /// Lets so much simulated time pass, in ns; less if the lock can be had, or others run for too long. Whether the wait is over.
    pub pass: fn(u64, Option<AwaitedLock>) -> bool,
    /// Waits for a condition, for so much simulated time at most, in ns. The result is that of `pthread_cond_timedwait`.
    pub await_condition: unsafe fn(AwaitedCondition, u64) -> c_int,
}

/// The source; null: all have real time. Released and acquired: a thread that sees the source sees what it reads, too.
static SOURCE: AtomicPtr<TimeSource> = AtomicPtr::new(std::ptr::null_mut());

/// From now on there is simulated time.
pub fn start(source: &'static TimeSource) {
    SOURCE.store(std::ptr::from_ref(source).cast_mut(), Ordering::Release);
}

/// From now on there is none.
pub fn stop() {
    SOURCE.store(std::ptr::null_mut(), Ordering::Release);
}

/// The source, if there is simulated time.
pub(crate) fn source() -> Option<&'static TimeSource> {
    // SAFETY: only `start` stores another address than null, that of a source that stays.
    unsafe { SOURCE.load(Ordering::Acquire).as_ref() }
}

/// Simulated time in ns for code at this address.
fn simulated(caller: *const c_void) -> Option<u64> {
    source().and_then(|source| (source.now_ns)(caller))
}

/// Time that a clock shows when simulated time begins, in ns; `None`: the clock does not show the time of the world.
#[must_use]
pub const fn base_ns(clock: libc::clockid_t) -> Option<u64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => Some(EPOCH_NS),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => Some(BEGIN_NS),
        // All time since the begin.
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(0),
        _ => None,
    }
}

/// Simulated time on a clock in ns; `None`: the clock tells something else.
fn read(clock: libc::clockid_t, caller: *const c_void) -> Option<u64> {
    let base_ns = base_ns(clock)?;
    simulated(caller).map(|now_ns| base_ns + now_ns)
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

/// Processor time as `clock` tells it, in us.
unsafe extern "C" fn clock_from(caller: *const c_void) -> libc::clock_t {
    if let Some(ns) = read(libc::CLOCK_PROCESS_CPUTIME_ID, caller) {
        return (ns / 1000).cast_signed();
    }
    static REAL: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn() -> libc::clock_t;
    // SAFETY: the function has this type.
    unsafe { real::<Function>(c"clock", &REAL).map_or(-1, |real| real()) }
}

/// Functions of C that tell another one, in the argument behind their own ones, where they were called: in this register.
#[macro_export]
macro_rules! with_caller {
    ($($name:ident => $inner:ident $register:literal $arm:literal),* $(,)?) => {$(
        #[doc = concat!("Stands for `", stringify!($name), "` of C.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {}", sym $inner);
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(concat!("mov ", $arm, ", x30"), "b {}", sym $inner);
        }
    )*};
}

with_caller!(
    clock_gettime => clock_gettime_from "rdx" "x2",
    gettimeofday => gettimeofday_from "rdx" "x2",
    time => time_from "rdx" "x2",
    clock => clock_from "rdi" "x0",
);
