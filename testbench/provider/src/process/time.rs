//! Time of the process: how it reads simulated time, spends it, and waits for it.
//!
//! In `MPI_Finalize` a library waits for its starter: how often it polls and reads the clock then depends on the machine. So these take time of its
//! own, of which the world does not learn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lanigon_line::compute;
use lanigon_requests::{LONGEST_NS, Poll, Request};

use super::{PROCESS, Process, ask, lock};
use crate::endpoint::Endpoint;

/// A process that has read the clock since its last poll waits for so long at most, in ns: it may wait for a time. One that has waited for long waits
/// for a part of that, up to a limit: MPI libraries read the clock while they wait.
const QUANTUM_NS: u64 = 1000;
const QUANTUM_PARTS: u64 = 32;
const LONGEST_QUANTUM_NS: u64 = 20_000;
/// Reading the clock takes so long, in ns. Of a process that has done nothing else for long it takes a part of that time, up to a limit: loops that wait
/// for seconds end.
const CLOCK_NS: u64 = 25;
const CLOCK_PARTS: u64 = 4096;
const LONGEST_CLOCK_NS: u64 = 1000;
/// A process that only reads the clock tells the world after so long: what it does to others' memory, and their messages, go on. One that has done
/// nothing else for long tells after a part of that time, up to a limit.
const UNTOLD_NS: u64 = 10_000;
const LONGEST_UNTOLD_NS: u64 = 100_000;

/// The time that was read last, in ns.
static LAST_NS: AtomicU64 = AtomicU64::new(0);

/// Tells the world that the process has nothing to do.
pub fn poll() -> bool {
    {
        let process = &mut *lock();
        if process.skips > 0 && process.clock_reads == 0 {
            process.skips -= 1;
            thread::yield_now();
            return false;
        }
    }
    ask(|process| {
        let waited_ns = process.time_ns.saturating_sub(process.active_ns);
        let quantum_ns = (waited_ns / QUANTUM_PARTS).clamp(QUANTUM_NS, LONGEST_QUANTUM_NS);
        let may_wait_for_time = process.clock_reads > 0 && !process.is_finalizing;
        process.idle(may_wait_for_time.then_some(quantum_ns))
    })
}

/// Lets so much simulated time pass, in ns, or less if something comes. `false` if another thread waits for the world.
pub fn pass_ns(limit_ns: u64) -> bool {
    ask(|process| process.idle(Some(limit_ns.min(LONGEST_NS))))
}

/// Simulated time in ns. Reading it takes no time.
pub fn time_ns() -> u64 {
    let process = lock();
    process.time_ns + process.spent_ns
}

/// Simulated time in ns. Reading it takes time.
pub fn now_ns() -> u64 {
    // A handler of signals that reads the clock may have interrupted a call.
    let Ok(mut process) = PROCESS.try_lock() else {
        return LAST_NS.load(Ordering::Relaxed);
    };
    let idle_ns = (process.time_ns + process.spent_ns).saturating_sub(process.active_ns);
    process.spent_ns += (idle_ns / CLOCK_PARTS).clamp(CLOCK_NS, LONGEST_CLOCK_NS);
    process.spent_ns += compute::computed_ns();
    let untold_ns = (idle_ns / QUANTUM_PARTS).clamp(UNTOLD_NS, LONGEST_UNTOLD_NS);
    if process.spent_ns >= untold_ns && !process.is_finalizing {
        drop(process);
        ask(|process| process.idle(Some(0)));
        process = lock();
    } else if process.has_asked {
        drop(process);
        // Only the world knows what the requests since its last answer have taken.
        ask(|process| Request::Time {
            spent_ns: process.take_spent(),
        });
        process = lock();
    }
    process.clock_reads += 1;
    let now_ns = process.time_ns + process.spent_ns;
    LAST_NS.store(now_ns, Ordering::Relaxed);
    now_ns
}

/// Counts what this thread has computed, if computation takes time.
pub fn count_computed() {
    lock().spent_ns += compute::computed_ns();
}

/// The program wants its computation to take time from now on, or not.
pub fn count_computation(wanted: bool) {
    count_computed();
    compute::count(wanted);
}

impl Process {
    /// Takes the processor time since the last request, with that of the program's own computation if it takes any.
    pub(super) fn take_spent(&mut self) -> u64 {
        let spent_ns = std::mem::take(&mut self.spent_ns) + compute::computed_ns();
        if self.is_finalizing {
            self.time_ns += spent_ns;
            return 0;
        }
        spent_ns
    }

    /// A poll of a process that has nothing to do for so long, in ns.
    fn idle(&mut self, limit_ns: Option<u64>) -> Request {
        self.clock_reads = 0;
        let endpoints = self.endpoints.iter().flatten();
        let receives: usize = endpoints.map(Endpoint::waiting).sum();
        Request::Poll {
            spent_ns: self.take_spent(),
            poll: Poll {
                limit_ns,
                receives: receives as u32,
                sends: (self.unfinished.len() + self.running_collectives()) as u32,
            },
        }
    }
}
