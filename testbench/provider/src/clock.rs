//! Who has simulated time, in a process to which this library is preloaded.
//!
//! All threads read simulated time, once the process has connected, and sleep so. The event loops of MPI libraries, which wait for what happens
//! outside, have real time. Looks of the main thread at the clock take time; those of other threads only if they are many, since their
//! number depends on the machine.
//!
//! Threads that wait for a time are in a list. When all others sleep, one of the list lets time pass, up to the first moment that one waits for.

use std::cell::Cell;
use std::env;
use std::ffi::{CStr, c_int, c_long, c_void};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanigon_line::clock::{self, TimeSource};
use lanigon_line::compute;
use lanigon_line::pause::{AwaitedCondition, AwaitedLock, PATIENCE};
use lanigon_line::real::{others_sleep, real, real_ns, real_sleep, start_helper, thread};
use lanigon_line::with_caller;
use lanigon_requests::SOCKET_VARIABLE;
use libc::{fd_set, nfds_t, pollfd, timeval};

use crate::process::{count_computed, is_connected, now_ns, pass_ns, takes_part, time_ns};

/// Longest step of a wait for a lock, in ns: then who waits looks whether it can be had.
const STEP_NS: u64 = 1_000_000;
/// Looks at the clock that cost nothing in a thread beside the main one, while simulated time stands.
const FREE_LOOKS: u32 = 1000;
/// Longest real time in ns for which a thread that waits for a time lets others compute.
const LONGEST_PATIENCE_NS: u64 = 10_000_000_000;
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

/// Owner of code that reads the clock or sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Program,
    Mpi,
    /// A library with an event loop.
    Outside,
}

impl Caller {
    const ALL: [Self; 3] = [Self::Program, Self::Mpi, Self::Outside];

    /// The owner of the code at this address.
    fn of(address: *const c_void) -> Self {
        // Code that reads the clock is at few places. A collision costs another search.
        const PLACES: usize = 64;
        // The highest bits of an address in a process are 0: here they are the answer.
        const SHIFT: u32 = usize::BITS - 2;
        static KNOWN: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
        let place = &KNOWN[(address as usize >> 2) % PLACES];
        // Relaxed: the word is the whole answer, and each thread finds the same one.
        let known = place.load(Ordering::Relaxed);
        if known & ((1 << SHIFT) - 1) == address as usize {
            return Self::ALL[(known >> SHIFT) % Self::ALL.len()];
        }
        let caller = Self::search(address);
        place.store(
            address as usize | (caller as usize) << SHIFT,
            Ordering::Relaxed,
        );
        caller
    }

    /// Searches the owner among the libraries of the process, which takes long.
    fn search(address: *const c_void) -> Self {
        // SAFETY: the call fills the structure if it succeeds, with a string that stays.
        let path = unsafe {
            let mut found: libc::Dl_info = std::mem::zeroed();
            match libc::dladdr(address, &raw mut found) != 0 && !found.dli_fname.is_null() {
                true => CStr::from_ptr(found.dli_fname).to_string_lossy(),
                false => return Self::Program,
            }
        };
        match path.rsplit('/').next().unwrap_or_default() {
            name if OUTSIDE.iter().any(|part| name.contains(part)) => Self::Outside,
            name if name.contains(MPI) => Self::Mpi,
            _ => Self::Program,
        }
    }
}

/// Whether this is the main thread.
fn is_main() -> bool {
    thread() == c_long::from(process::id().cast_signed())
}

/// Whether code at this address has simulated time.
fn is_inside(caller: *const c_void) -> bool {
    is_connected() && Caller::of(caller) != Caller::Outside
}

/// In a process of a launch, MPI libraries read the begin of simulated time before they connect: MPICH tells all times from one that it reads then.
extern "C" fn begin() {
    if env::var_os(SOCKET_VARIABLE).is_some() {
        clock::start(&TIME);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Simulated time in ns, if who calls from this address reads it.
fn read(caller: *const c_void) -> Option<u64> {
    if !is_connected() {
        return (Caller::of(caller) == Caller::Mpi).then_some(0);
    }
    is_inside(caller).then(|| match is_main() {
        true => now_ns(),
        false => beside_ns(),
    })
}

/// Simulated time for a thread beside the main one, in ns.
fn beside_ns() -> u64 {
    thread_local! {
        /// The time of the last look, and looks since the first one that found it.
        static LOOKS: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
    }
    let time_ns = time_ns();
    let (last_ns, looks) = LOOKS.get();
    let looks = if last_ns == time_ns { looks + 1 } else { 0 };
    // A thread that looks so often waits for time to pass.
    if looks >= FREE_LOOKS {
        return now_ns();
    }
    LOOKS.set((time_ns, looks));
    time_ns
}

/// Whether code at this address waits in simulated time.
fn lets_pass(caller: *const c_void) -> bool {
    is_connected() && takes_part() && Caller::of(caller) == Caller::Program
}

/// Lets so much time pass, in ns; less if a lock can be had. Whether the wait is over.
fn pass(limit_ns: u64, lock: Option<AwaitedLock>) -> bool {
    count_computed();
    let until_ns = time_ns().saturating_add(limit_ns);
    // SAFETY: this thread waits for the lock.
    let is_free = || lock.is_some_and(|lock| unsafe { lock.is_free() });
    let has_passed = pass_unless(limit_ns, is_free);
    if lock.is_none() {
        pass_beside_others(until_ns, patience_ns(limit_ns));
    }
    has_passed
}

/// Longest real time in ns for which a wait of this length waits for other threads.
fn patience_ns(limit_ns: u64) -> u64 {
    limit_ns.saturating_mul(PATIENCE).min(LONGEST_PATIENCE_NS)
}

/// Lets time pass up to a moment in ns although other threads run; `patience_ns`: longest real time while one of them waits for the world.
///
/// A wait for a lock ends without that, since it may be such a thread that does not free the lock before others ask for it.
fn pass_beside_others(until_ns: u64, patience_ns: u64) {
    let begin_ns = real_ns(libc::CLOCK_MONOTONIC);
    while is_connected() && time_ns() < until_ns {
        let left_ns = until_ns - time_ns();
        compute::resume();
        if !pass_ns(left_ns.min(STEP_NS)) {
            if real_ns(libc::CLOCK_MONOTONIC) - begin_ns >= patience_ns {
                return;
            }
            real_sleep(LOOK_NS);
        }
    }
}

/// The threads that wait for a time, and their times.
static WAITS: Mutex<Vec<(c_long, u64)>> = Mutex::new(Vec::new());

/// Whether one of these threads lets time pass now. Relaxed: the flag is all that others learn.
static IS_PASSING: AtomicBool = AtomicBool::new(false);

fn waits() -> MutexGuard<'static, Vec<(c_long, u64)>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets so much time pass, in ns, unless something ends that; whether nothing has.
fn pass_unless(limit_ns: u64, is_over: impl Fn() -> bool) -> bool {
    let own = thread();
    let until_ns = time_ns().saturating_add(limit_ns);
    waits().push((own, until_ns));
    let has_passed = pass_until(until_ns, patience_ns(limit_ns), is_over);
    waits().retain(|(thread, _)| *thread != own);
    has_passed
}

/// Waits until a moment in ns; `patience_ns`: longest real time while other threads run.
fn pass_until(until_ns: u64, mut patience_ns: u64, is_over: impl Fn() -> bool) -> bool {
    while is_connected() && time_ns() < until_ns && patience_ns > 0 {
        if is_over() {
            return false;
        }
        let begin_ns = real_ns(libc::CLOCK_MONOTONIC);
        let (waiting, moments): (Vec<_>, Vec<_>) = waits().iter().copied().unzip();
        let sleep = others_sleep(&waiting);
        let left_ns = |moment: u64| moment.saturating_sub(time_ns());
        let next_ns = moments.into_iter().map(left_ns).min().unwrap_or(0);
        // One whose moment has come goes on first.
        if sleep && next_ns > 0 && !IS_PASSING.swap(true, Ordering::Relaxed) {
            // These looks are no computation of the program.
            compute::resume();
            let has_asked = pass_ns(next_ns.min(STEP_NS));
            IS_PASSING.store(false, Ordering::Relaxed);
            if has_asked {
                continue;
            }
        }
        real_sleep(LOOK_NS);
        if sleep && IS_PASSING.load(Ordering::Relaxed) {
            continue;
        }
        let spent_ns = real_ns(libc::CLOCK_MONOTONIC) - begin_ns;
        // A thread that sleeps but lets no time pass waits for the world, which may wait for this thread.
        let factor = if sleep && next_ns > 0 { PATIENCE } else { 1 };
        patience_ns = patience_ns.saturating_sub(factor * spent_ns);
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
        pass(limit_ms * 1_000_000, None);
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
        let us = us.saturating_add(unsigned(limit.tv_usec));
        pass(us.saturating_mul(1000), None);
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
