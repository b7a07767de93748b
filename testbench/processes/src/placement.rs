//! The CPU of this machine on which a process waits for the world.
//!
//! The world and a process take turns. Many processes answer within microseconds, and to wake one on another CPU takes longer than that and than to
//! emulate a message. So one that answers soon again and again is told to wait on the CPU of the world's thread, which keeps to it meanwhile. The
//! process's own code has the CPUs that it had (`lanigon_line::placement`). That changes the speed only, never a result.

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// A process whose turn is shorter only exchanges messages.
const SHORT_TURN: Duration = Duration::from_micros(300);
/// A process whose turn is longer computes.
const LONG_TURN: Duration = Duration::from_millis(2);
/// A process comes after so many short turns in a row.
const TURNS: u32 = 32;
/// A thread of the world keeps to its CPU for so long ...
const STAY: Duration = Duration::from_millis(100);
/// ... and then may be moved for so long, since other work may have come to that CPU.
const MOVE: Duration = Duration::from_millis(4);

/// The CPUs of this emulator, before it keeps to one of them.
static ALL: OnceLock<Option<CpuSet>> = OnceLock::new();

/// All CPUs of this emulator, if there is a choice.
fn all_cpus() -> Option<&'static CpuSet> {
    let several = || sched_getaffinity(None).ok().filter(|all| all.count() > 1);
    ALL.get_or_init(several).as_ref()
}

thread_local! {
    /// Whether this thread keeps to its CPU, and since when.
    static STAYS: Cell<Option<(bool, Instant)>> = const { Cell::new(None) };
}

/// Lets the calling thread keep to its CPU, and gives its number; `None`: now it may be moved.
fn stay(all: &CpuSet) -> Option<u32> {
    let number = |cpu: usize| u32::try_from(cpu).ok();
    match STAYS.get() {
        Some((true, since)) if since.elapsed() < STAY => return number(sched_getcpu()),
        Some((true, _)) => move_freely(all),
        Some((false, since)) if since.elapsed() < MOVE => {}
        Some((false, _)) | None => {
            let cpu = sched_getcpu();
            let mut only = CpuSet::new();
            only.set(cpu);
            sched_setaffinity(None, &only).ok()?;
            STAYS.set(Some((true, Instant::now())));
            return number(cpu);
        }
    }
    None
}

/// Gives the calling thread all CPUs back.
fn move_freely(all: &CpuSet) {
    // It had them before: a thread that is refused them is only slower.
    let _ = sched_setaffinity(None, all);
    STAYS.set(Some((false, Instant::now())));
}

/// The turns of one process.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// Short turns in a row.
    short_turns: u32,
    /// The present turn's begin, and the thread of the world that waits for its end.
    turn: Option<(Instant, ThreadId)>,
    /// The thread of the world that waited last time.
    thread: Option<ThreadId>,
}

impl Placement {
    /// The process is answered: its turn begins. Gives the CPU on which it is to wait for the next answer.
    pub(crate) fn begin_turn(&mut self) -> Option<u32> {
        let all = all_cpus()?;
        let thread = thread::current().id();
        if self.thread.replace(thread) != Some(thread) {
            self.short_turns = 0;
        }
        self.turn = Some((Instant::now(), thread));
        match self.short_turns >= TURNS {
            true => stay(all),
            false => None,
        }
    }

    /// The process has a request.
    pub(crate) fn end_turn(&mut self) {
        let Some((begin, thread)) = self.turn.take() else {
            return;
        };
        let took = begin.elapsed();
        self.short_turns = match took < SHORT_TURN && thread == thread::current().id() {
            true => self.short_turns.saturating_add(1),
            false if took > LONG_TURN => 0,
            false => self.short_turns,
        };
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        if let (Some(all), Some((true, _))) = (all_cpus(), STAYS.get()) {
            move_freely(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After short turns this thread stays, and a process is told its CPU; after a long one it is not. At the end this thread has all CPUs.
    #[test]
    fn processes_come_and_leave() {
        let Some(all) = all_cpus() else { return };
        let mut placement = Placement::default();
        let mut turns = 0;
        let mut told = None;
        while told.is_none() && turns < 1000 {
            told = placement.begin_turn();
            placement.end_turn();
            turns += 1;
        }
        assert!(turns > TURNS, "{turns} turns");
        let own = sched_getaffinity(None).unwrap();
        assert_eq!(own.count(), 1);
        assert!(own.is_set(told.unwrap() as usize));
        placement.begin_turn();
        thread::sleep(2 * LONG_TURN);
        placement.end_turn();
        assert_eq!(placement.begin_turn(), None);
        drop(placement);
        assert_eq!(&sched_getaffinity(None).unwrap(), all);
    }

    /// A thread that stays on its CPU may be moved from time to time.
    #[test]
    fn threads_may_be_moved() {
        let Some(all) = all_cpus() else { return };
        assert!(stay(all).is_some());
        thread::sleep(STAY);
        assert_eq!(stay(all), None);
        assert_eq!(&sched_getaffinity(None).unwrap(), all);
        thread::sleep(MOVE);
        assert!(stay(all).is_some());
    }
}
