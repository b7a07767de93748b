//! Waits with a time limit take simulated time: sleeping, locks, conditions.
//!
//! Simulated time stands while a thread of the process runs. So a wait for a lock is over when another thread has freed the lock, or when all
//! threads of the process wait and simulated time has come to the limit. Who waits asks for the lock only when there is a reason, not in
//! between: a thread that comes later gets it first, as with locks of C.
//!
//! A thread that runs for ever, until another one that waits has done something, would stop the time of both. So a wait ends, too, when others
//! have run for [`PATIENCE`] times its length in real time: Python's threads take turns so.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use libc::{clockid_t, timespec, useconds_t};

use crate::clock::{self, TimeSource};
use crate::real::{newest, real, real_ns};
use crate::with_caller;

/// While other threads run, a wait takes so many times its length in real time at most.
pub const PATIENCE: u64 = 10;
/// State of a mutex whose owner has died.
const OWNER_DIED: i32 = 0x4000_0000;

/// Kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockKind {
    Semaphore,
    Mutex,
}

/// A lock for which a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedLock {
    kind: LockKind,
    address: usize,
}

/// A condition for which a thread waits, with the mutex that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedCondition {
    address: usize,
    mutex: usize,
}

impl AwaitedLock {
    /// Whether it can be had.
    ///
    /// # Safety
    /// It is a lock.
    #[must_use]
    pub unsafe fn is_free(&self) -> bool {
        match self.kind {
            LockKind::Semaphore => {
                let mut value = 0;
                // SAFETY: the caller's promise.
                unsafe { libc::sem_getvalue(self.address as *mut _, &raw mut value) };
                value > 0
            }
            LockKind::Mutex => {
                // SAFETY: a mutex of C begins with its state.
                let state = unsafe { &*(self.address as *const AtomicI32) };
                state.load(Ordering::Relaxed) & !OWNER_DIED == 0
            }
        }
    }

    /// Takes the lock, if that is possible now; the number of an error, or 0.
    ///
    /// # Safety
    /// It is a lock.
    unsafe fn attempt(&self) -> c_int {
        match self.kind {
            // SAFETY: the caller's promise.
            LockKind::Semaphore => match unsafe { libc::sem_trywait(self.address as *mut _) } {
                0 => 0,
                _ => last_error(),
            },
            // SAFETY: the caller's promise.
            LockKind::Mutex => unsafe { libc::pthread_mutex_trylock(self.address as *mut _) },
        }
    }
}

impl AwaitedCondition {
    /// Waits as C does, for so long at most, in ns of real time.
    ///
    /// # Safety
    /// The thread may wait for the condition, with the mutex.
    #[must_use]
    pub unsafe fn wait(&self, limit_ns: Option<u64>) -> c_int {
        static REAL: AtomicUsize = AtomicUsize::new(0);
        static TIMED: AtomicUsize = AtomicUsize::new(0);
        type Function = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
        type Timed =
            unsafe extern "C" fn(*mut c_void, *mut c_void, clockid_t, *const timespec) -> c_int;
        let (own, mutex) = (self.address as *mut c_void, self.mutex as *mut c_void);
        let now_ns = real_ns(libc::CLOCK_MONOTONIC);
        let until = limit_ns.map(|limit_ns| time_of(now_ns.saturating_add(limit_ns)));
        // SAFETY: the caller's promise; the functions have these types.
        let done = unsafe {
            match until {
                None => {
                    newest::<Function>(c"pthread_cond_wait", &REAL).map(|real| real(own, mutex))
                }
                Some(time) => newest::<Timed>(c"pthread_cond_clockwait", &TIMED)
                    .map(|real| real(own, mutex, libc::CLOCK_MONOTONIC, &raw const time)),
            }
        };
        done.unwrap_or(libc::ENOSYS)
    }

    /// Wakes all threads that wait for it: a wait for a condition may end without a reason.
    ///
    /// # Safety
    /// The condition is one.
    pub unsafe fn wake(&self) {
        static REAL: AtomicUsize = AtomicUsize::new(0);
        type Function = unsafe extern "C" fn(*mut c_void) -> c_int;
        // SAFETY: the caller's promise; the function has this type.
        unsafe {
            if let Some(real) = newest::<Function>(c"pthread_cond_broadcast", &REAL) {
                real(self.address as *mut c_void);
            }
        }
    }
}

/// A time in ns as C has it.
const fn time_of(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}

/// The number of the last error.
fn last_error() -> c_int {
    // SAFETY: the place belongs to this thread.
    unsafe { *libc::__errno_location() }
}

/// The return value of a function that tells errors by their number aside.
fn value_for_c(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: the place belongs to this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// A time of C in ns; `None`: it is none.
///
/// # Safety
/// It is null or a time.
#[must_use]
pub unsafe fn time_ns(time: *const timespec) -> Option<u64> {
    // SAFETY: the caller's promise.
    let time = unsafe { time.as_ref()? };
    let rest = u64::try_from(time.tv_nsec).ok()?;
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    (rest < 1_000_000_000).then(|| seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

/// A source of time for a wait of code at an address.
fn passing(caller: *const c_void) -> Option<&'static TimeSource> {
    clock::source().filter(|source| (source.lets_pass)(caller))
}

/// A wait until a moment of a clock, of code at an address.
struct Until {
    source: &'static TimeSource,
    until_ns: u64,
    caller: *const c_void,
}

impl Until {
    /// `None`: it takes real time.
    ///
    /// # Safety
    /// `time` is null or a time.
    unsafe fn new(
        clock: clockid_t,
        time: *const timespec,
        caller: *const c_void,
    ) -> Option<Result<Self, c_int>> {
        let source = passing(caller)?;
        let base_ns = clock::base_ns(clock)?;
        // SAFETY: the caller's promise.
        Some(match unsafe { time_ns(time) } {
            Some(ns) => Ok(Self {
                source,
                until_ns: ns.saturating_sub(base_ns),
                caller,
            }),
            None => Err(libc::EINVAL),
        })
    }

    /// Simulated time that is left, in ns.
    fn left_ns(&self) -> u64 {
        let now_ns = (self.source.now_ns)(self.caller);
        self.until_ns.saturating_sub(now_ns.unwrap_or(u64::MAX))
    }
}

/// Waits for a lock until a moment of a clock; `None`: that takes real time.
///
/// # Safety
/// `address` is a lock of this kind, `time` null or a time.
unsafe fn await_lock(
    kind: LockKind,
    address: *mut c_void,
    clock: clockid_t,
    time: *const timespec,
    caller: *const c_void,
) -> Option<c_int> {
    let lock = AwaitedLock {
        kind,
        address: address as usize,
    };
    // SAFETY: the caller's promise.
    let wait = match unsafe { Until::new(clock, time, caller) }? {
        Ok(wait) => wait,
        Err(error) => return Some(error),
    };
    let mut is_over = false;
    loop {
        // SAFETY: the caller's promise.
        match unsafe { lock.attempt() } {
            libc::EBUSY | libc::EAGAIN => {}
            done => return Some(done),
        }
        let left_ns = wait.left_ns();
        if left_ns == 0 || is_over {
            return Some(libc::ETIMEDOUT);
        }
        is_over = (wait.source.pass)(left_ns, Some(lock));
    }
}

unsafe extern "C" fn clock_nanosleep_from(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
    caller: *const c_void,
) -> c_int {
    let Some((source, base_ns)) = passing(caller).zip(clock::base_ns(clock)) else {
        let number = libc::SYS_clock_nanosleep;
        // SAFETY: the caller keeps the promises of the call.
        let done = unsafe { libc::syscall(number, clock, flags, time, left) };
        return if done == 0 { 0 } else { last_error() };
    };
    // SAFETY: the caller's promise.
    let Some(mut ns) = (unsafe { time_ns(time) }) else {
        return if time.is_null() {
            libc::EFAULT
        } else {
            libc::EINVAL
        };
    };
    if flags & libc::TIMER_ABSTIME != 0 {
        let now_ns = (source.now_ns)(caller).unwrap_or(u64::MAX);
        ns = ns.saturating_sub(base_ns.saturating_add(now_ns));
    }
    if ns > 0 {
        (source.pass)(ns, None);
    }
    0
}

unsafe extern "C" fn nanosleep_from(
    time: *const timespec,
    left: *mut timespec,
    caller: *const c_void,
) -> c_int {
    let clock = libc::CLOCK_MONOTONIC;
    // SAFETY: the caller's promise.
    value_for_c(unsafe { clock_nanosleep_from(clock, 0, time, left, caller) })
}

/// Sleeps for so long, in ns.
fn sleep_ns(ns: u64, caller: *const c_void) {
    let time = time_of(ns);
    // SAFETY: the time is one.
    unsafe { nanosleep_from(&raw const time, std::ptr::null_mut(), caller) };
}

extern "C" fn usleep_from(time_us: useconds_t, caller: *const c_void) -> c_int {
    sleep_ns(u64::from(time_us) * 1000, caller);
    0
}

extern "C" fn sleep_from(seconds: c_uint, caller: *const c_void) -> c_uint {
    sleep_ns(u64::from(seconds) * 1_000_000_000, caller);
    0
}

/// Defines a function with the arguments of one of C, that one of the system, and where it was called: it gives its result, or that of the
/// system's if that is `None`.
macro_rules! or_real {
    ($($name:ident $inner:ident $find:ident($($argument:ident: $type:ty),*; $caller:ident) $body:expr;)*) => {$(
        unsafe extern "C" fn $inner($($argument: $type,)* $caller: *const c_void) -> c_int {
            // SAFETY: the caller keeps the promises of the function.
            if let Some(done) = unsafe { $body } {
                return done;
            }
            static REAL: AtomicUsize = AtomicUsize::new(0);
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            const NAME: &str = concat!(stringify!($name), "\0");
            // SAFETY: the name ends with 0; the function has this type.
            unsafe {
                let name = std::ffi::CStr::from_ptr(NAME.as_ptr().cast());
                $find::<Function>(name, &REAL).map_or(libc::ENOSYS, |real| real($($argument),*))
            }
        }
    )*};
}

or_real! {
    sem_clockwait sem_clockwait_from real(
        semaphore: *mut c_void, clock: clockid_t, time: *const timespec; caller
    ) await_lock(LockKind::Semaphore, semaphore, clock, time, caller).map(value_for_c);
    sem_timedwait sem_timedwait_from real(
        semaphore: *mut c_void, time: *const timespec; caller
    ) await_lock(LockKind::Semaphore, semaphore, libc::CLOCK_REALTIME, time, caller).map(value_for_c);
    pthread_mutex_clocklock mutex_clocklock_from real(
        mutex: *mut c_void, clock: clockid_t, time: *const timespec; caller
    ) await_lock(LockKind::Mutex, mutex, clock, time, caller);
    pthread_mutex_timedlock mutex_timedlock_from real(
        mutex: *mut c_void, time: *const timespec; caller
    ) await_lock(LockKind::Mutex, mutex, libc::CLOCK_REALTIME, time, caller);
    pthread_cond_clockwait cond_clockwait_from newest(
        condition: *mut c_void, mutex: *mut c_void, clock: clockid_t, time: *const timespec; caller
    ) await_condition(condition, mutex, clock, time, caller);
    // A condition's clock is not known here.
    pthread_cond_timedwait cond_timedwait_from newest(
        condition: *mut c_void, mutex: *mut c_void, time: *const timespec; caller
    ) await_condition(condition, mutex, clock_of(time), time, caller);
}

/// Waits for a condition until a moment of a clock; `None`: that takes real time.
///
/// # Safety
/// As `pthread_cond_clockwait` of C.
unsafe fn await_condition(
    condition: *mut c_void,
    mutex: *mut c_void,
    clock: clockid_t,
    time: *const timespec,
    caller: *const c_void,
) -> Option<c_int> {
    let condition = AwaitedCondition {
        address: condition as usize,
        mutex: mutex as usize,
    };
    // SAFETY: the caller's promise.
    unsafe {
        Some(match Until::new(clock, time, caller)? {
            Ok(wait) => (wait.source.await_condition)(condition, wait.left_ns()),
            Err(error) => error,
        })
    }
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

with_caller!(
    nanosleep => nanosleep_from "rdx" "x2",
    clock_nanosleep => clock_nanosleep_from "r8" "x4",
    usleep => usleep_from "rsi" "x1",
    sleep => sleep_from "rsi" "x1",
    sem_timedwait => sem_timedwait_from "rdx" "x2",
    sem_clockwait => sem_clockwait_from "rcx" "x3",
    pthread_mutex_timedlock => mutex_timedlock_from "rdx" "x2",
    pthread_mutex_clocklock => mutex_clocklock_from "rcx" "x3",
    pthread_cond_timedwait => cond_timedwait_from "rcx" "x3",
    pthread_cond_clockwait => cond_clockwait_from "r8" "x4",
);
