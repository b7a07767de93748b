//! Time of the process: how its threads read simulated time, spend it, and wait for it.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use lanigon_line::clock::TimeSource;
use lanigon_line::compute;
use lanigon_line::pause::{AwaitedCondition, AwaitedLock};
use lanigon_requests::{LONGEST_NS, SocketCall};

use super::{CHANGED, OtherEnd, TIME_NS, WORLD, is_connected, is_single, lock, wait};

/// Reading the clock takes so long, in ns.
const CLOCK_NS: u64 = 25;
/// So many looks at the clock between two calls of a thread cost nothing, in a process of several threads: how often locks look depends on
/// the machine.
const FREE_LOOKS: u64 = 1000;
/// A process of one thread that only reads the clock tells the world after so long, in ns: others go on, and the run may end.
const UNTOLD_NS: u64 = 100_000;

thread_local! {
    /// Looks of this thread at the clock since its last call.
    static LOOKS: Cell<u64> = const { Cell::new(0) };
    /// Simulated time that this thread has computed since its last call, in ns.
    static COMPUTED_NS: Cell<u64> = const { Cell::new(0) };
}

/// Simulated time of this process, for all of its code.
pub(super) static TIME: TimeSource = TimeSource {
    now_ns: |_: *const c_void| is_connected().then(now_ns),
    lets_pass: |_| is_connected(),
    pass,
    await_condition,
};

/// A call that waits for nothing but its limit.
fn limit_only() -> SocketCall {
    let (items, outside) = (Vec::new(), false);
    SocketCall::Wait { items, outside }
}

/// Lets so much time pass, in ns; less if a lock can be had. Whether the wait is over.
fn pass(mut limit_ns: u64, lock: Option<AwaitedLock>) -> bool {
    loop {
        let other = lock.map_or(OtherEnd::Descriptors(Vec::new()), OtherEnd::Lock);
        let step_ns = limit_ns.min(LONGEST_NS);
        let has_passed = wait(limit_only(), Some(step_ns), other).is_some();
        limit_ns -= step_ns;
        if !has_passed || limit_ns == 0 {
            return has_passed;
        }
    }
}

/// Waits for a condition, for so long at most, in ns.
///
/// # Safety
/// The thread may wait for it.
unsafe fn await_condition(condition: AwaitedCondition, limit_ns: u64) -> c_int {
    if limit_ns == 0 {
        // SAFETY: the caller's promise.
        return unsafe { condition.wait(Some(0)) };
    }
    let (number, has_helper) = {
        let mut world = lock();
        let other = OtherEnd::Condition(condition);
        let number = world.insert(limit_only(), Some(limit_ns), other);
        (number, world.ask_for_help())
    };
    // SAFETY: the caller's promise.
    let done = unsafe { condition.wait((!has_helper).then_some(limit_ns)) };
    let is_late = lock().end(number).is_some();
    CHANGED.notify_all();
    match done {
        // A wait for a condition may end without a reason.
        0 if is_late && limit_ns <= LONGEST_NS => libc::ETIMEDOUT,
        done => done,
    }
}

/// Takes the processor time of this thread since its last call, in ns.
pub(super) fn take_spent() -> u64 {
    let spent_ns = spent_ns();
    LOOKS.set(0);
    COMPUTED_NS.set(0);
    spent_ns
}

/// Processor time of this thread since its last call, in ns.
fn spent_ns() -> u64 {
    let looks = LOOKS.get();
    let free = if is_single() { 0 } else { FREE_LOOKS };
    COMPUTED_NS.set(COMPUTED_NS.get() + compute::computed_ns());
    looks.saturating_sub(free) * CLOCK_NS + COMPUTED_NS.get()
}

/// Simulated time in ns. Reading it takes time.
pub(super) fn now_ns() -> u64 {
    LOOKS.set(LOOKS.get() + 1);
    if spent_ns() >= UNTOLD_NS && is_single() && is_between_calls() {
        without_signals(|| pass(0, None));
    }
    TIME_NS.load(Ordering::Relaxed) + spent_ns()
}

/// Whether the process is in no call: a handler of signals may have interrupted one.
fn is_between_calls() -> bool {
    WORLD.try_lock().is_ok_and(|world| world.slots.is_empty())
}

/// Runs this with all signals blocked: a handler may call what waits, which cannot be within another wait of its thread.
fn without_signals(run: impl FnOnce() -> bool) {
    // SAFETY: the sets are this function's own, and any bytes are a set.
    unsafe {
        let (mut all, mut before) = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        run();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}
