//! Sleeping takes simulated time. Time limits of locks are real.

use std::ffi::CStr;
use std::sync::atomic::AtomicUsize;

use lanigon_line::clock;
use lanigon_requests::SocketCall;
use libc::{c_int, c_uint, c_void, clockid_t, timespec, useconds_t};

use crate::select::time_ns;
use crate::{error, system, world};

/// Sleeps so long, in ns.
fn sleep_ns(ns: u64) {
    if !world::is_connected() {
        return system::sleep(ns);
    }
    if ns > 0 {
        let (items, outside) = (Vec::new(), false);
        world::call(SocketCall::Wait { items, outside }, Some(ns));
    }
}

/// Stands for `nanosleep` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, left) }
}

/// Stands for `clock_nanosleep` of C.
///
/// # Safety
/// As the function of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    let base_ns = clock::base_ns(clock).filter(|_| world::is_connected());
    let Some(base_ns) = base_ns else {
        let number = libc::SYS_clock_nanosleep;
        // SAFETY: the caller keeps the promises of the call.
        let done = unsafe { libc::syscall(number, clock, flags, time, left) };
        return if done == 0 { 0 } else { error::last() };
    };
    // SAFETY: the caller's promise.
    let Some(ns) = (unsafe { time_ns(time) }) else {
        return libc::EFAULT;
    };
    let is_absolute = flags & libc::TIMER_ABSTIME != 0;
    sleep_ns(match is_absolute {
        true => ns.saturating_sub(base_ns + world::now_ns()),
        false => ns,
    });
    0
}

/// Stands for `usleep` of C.
#[unsafe(no_mangle)]
pub extern "C" fn usleep(time_us: useconds_t) -> c_int {
    sleep_ns(u64::from(time_us) * 1000);
    0
}

/// Stands for `sleep` of C.
#[unsafe(no_mangle)]
pub extern "C" fn sleep(seconds: c_uint) -> c_uint {
    sleep_ns(u64::from(seconds) * 1_000_000_000);
    0
}

/// Time on the real clock that stands for a moment of simulated time.
///
/// # Safety
/// It is null or a time.
unsafe fn real_time(clock: clockid_t, time: *const timespec) -> Option<timespec> {
    let base_ns = clock::base_ns(clock).filter(|_| world::is_connected())?;
    // SAFETY: the caller's promise.
    let until_ns = unsafe { time_ns(time)? };
    let left_ns = until_ns.saturating_sub(base_ns + world::now_ns());
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes a time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut now) };
    // SAFETY: a time.
    let now_ns = unsafe { time_ns(&raw const now)? };
    let ns = now_ns.saturating_add(left_ns);
    Some(timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    })
}

/// The function of C, of its newest version.
///
/// # Safety
/// `F` is its type.
unsafe fn newest<F: Copy>(name: &CStr, place: &AtomicUsize) -> Option<F> {
    use std::sync::atomic::Ordering;
    for version in [c"GLIBC_2.3.2", c"GLIBC_2.17"] {
        if place.load(Ordering::Relaxed) == 0 {
            // SAFETY: both names end with 0.
            let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()) };
            place.store(found as usize, Ordering::Relaxed);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { system::real(name, place) }
}

/// Defines functions of C whose last argument is a moment: it is translated.
macro_rules! until {
    ($($name:ident($($argument:ident: $type:ty),*; $time:ident) $clock:expr;)*) => {$(
        #[doc = concat!("Stands for `", stringify!($name), "` of C.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* $time: *const timespec) -> c_int {
            static REAL: AtomicUsize = AtomicUsize::new(0);
            type Function = unsafe extern "C" fn($($type,)* *const timespec) -> c_int;
            let name = concat!(stringify!($name), "\0");
            // SAFETY: the caller keeps the promises of the call; the function has this type.
            unsafe {
                let moment = real_time($clock, $time);
                let moment = moment.as_ref().map_or($time, std::ptr::from_ref);
                let name = CStr::from_ptr(name.as_ptr().cast());
                match newest::<Function>(name, &REAL) {
                    Some(real) => real($($argument,)* moment),
                    None => libc::ENOSYS,
                }
            }
        }
    )*};
}

until! {
    // A condition's clock is not known here; that of Python and of others is this one where it matters.
    pthread_cond_timedwait(condition: *mut c_void, mutex: *mut c_void; time) clock_of(time);
    pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: clockid_t; time) clock;
    pthread_mutex_timedlock(mutex: *mut c_void; time) libc::CLOCK_REALTIME;
    sem_timedwait(semaphore: *mut c_void; time) libc::CLOCK_REALTIME;
    sem_clockwait(semaphore: *mut c_void, clock: clockid_t; time) clock;
}

/// The clock of a moment in simulated time: the two begin far apart.
///
/// # Safety
/// It is null or a time.
unsafe fn clock_of(time: *const timespec) -> clockid_t {
    let realtime_ns = clock::base_ns(libc::CLOCK_REALTIME).unwrap_or(0);
    // SAFETY: the caller's promise.
    let ns = unsafe { time_ns(time) }.unwrap_or(0);
    match ns >= realtime_ns {
        true => libc::CLOCK_REALTIME,
        false => libc::CLOCK_MONOTONIC,
    }
}
