//! The CPUs of this machine on which processes run.
//!
//! The world and a process take turns. Many processes answer within microseconds, and to wake a process on another CPU takes longer than that and than to emulate
//! a message. So one that answers soon again and again comes to the CPU of the world's thread, and one that computes for longer gets all CPUs
//! back. That changes the speed only, never a result.

use std::cell::Cell;
use std::fs;
use std::sync::OnceLock;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::process::{Pid, RawPid};
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
fn stay(all: &CpuSet) -> Option<usize> {
    let begin = STAYS.get();
    match begin {
        Some((true, since)) if since.elapsed() < STAY => return Some(sched_getcpu()),
        Some((true, _)) => move_freely(all),
        Some((false, since)) if since.elapsed() < MOVE => {}
        Some((false, _)) | None => {
            let cpu = sched_getcpu();
            let mut only = CpuSet::new();
            only.set(cpu);
            sched_setaffinity(None, &only).ok()?;
            STAYS.set(Some((true, Instant::now())));
            return Some(cpu);
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

/// Place of one process among the CPUs.
#[derive(Debug)]
pub(crate) struct Placement {
    /// Number of the process in the operating system; `None`: it stays where it is.
    process: Option<Pid>,
    /// The CPU to which it has come.
    cpu: Option<usize>,
    /// Short turns in a row.
    short_turns: u32,
    /// The present turn's begin, and the thread of the world that waits for its end.
    turn: Option<(Instant, ThreadId)>,
    /// The thread of the world that waited last time.
    thread: Option<ThreadId>,
}

impl Placement {
    /// The place of a process with this number in the operating system.
    pub(crate) fn new(process: u32) -> Self {
        let process = RawPid::try_from(process).ok().and_then(Pid::from_raw);
        // A process that was given CPUs by its starter keeps them.
        let has_all = |process: &Pid| {
            let own = sched_getaffinity(Some(*process)).ok();
            own.is_some() && own.as_ref() == all_cpus()
        };
        Self {
            process: process.filter(has_all),
            cpu: None,
            short_turns: 0,
            turn: None,
            thread: None,
        }
    }

    /// The process is answered: its turn begins.
    pub(crate) fn begin_turn(&mut self) {
        let (Some(process), Some(all)) = (self.process, all_cpus()) else {
            return;
        };
        let thread = thread::current().id();
        if self.thread.replace(thread) != Some(thread) {
            self.short_turns = 0;
        }
        if self.short_turns >= TURNS
            && let Some(cpu) = stay(all)
            && self.cpu != Some(cpu)
        {
            let mut only = CpuSet::new();
            only.set(cpu);
            let came = sched_setaffinity(Some(process), &only).is_ok();
            self.cpu = came.then_some(cpu);
        }
        self.turn = Some((Instant::now(), thread));
    }

    /// The process has a request.
    pub(crate) fn end_turn(&mut self) {
        let Some((begin, thread)) = self.turn.take() else {
            return;
        };
        let took = begin.elapsed();
        if took > LONG_TURN {
            self.leave();
        }
        self.short_turns = match took < SHORT_TURN && thread == thread::current().id() {
            true => self.short_turns.saturating_add(1),
            false if took > LONG_TURN => 0,
            false => self.short_turns,
        };
    }

    /// Gives the process, with all threads that it has begun meanwhile, all CPUs back.
    fn leave(&mut self) {
        let (Some(process), Some(all)) = (self.process, all_cpus()) else {
            return;
        };
        if self.cpu.take().is_none() {
            return;
        }
        let path = format!("/proc/{}/task", process.as_raw_nonzero());
        // A process that has ended has no threads.
        for thread in fs::read_dir(path).into_iter().flatten().flatten() {
            let number = thread
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let thread = number.and_then(Pid::from_raw);
            let _ = thread.map(|thread| sched_setaffinity(Some(thread), all));
        }
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        self.leave();
        if let (Some(all), Some((true, _))) = (all_cpus(), STAYS.get()) {
            move_freely(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A process comes to the CPU of this thread after short turns, and has all CPUs again after a long one; this thread has them at the end.
    #[test]
    fn processes_come_and_leave() {
        let Some(all) = all_cpus() else { return };
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Pid::from_child(&child);
        let cpus = |process| sched_getaffinity(process).unwrap();
        let mut placement = Placement::new(child.id());
        let mut turns = 0;
        while placement.cpu.is_none() && turns < 1000 {
            assert_eq!(&cpus(Some(process)), all);
            placement.begin_turn();
            placement.end_turn();
            turns += 1;
        }
        assert!(turns > TURNS, "{turns} turns");
        assert_eq!(cpus(Some(process)), cpus(None));
        assert_eq!(cpus(Some(process)).count(), 1);
        placement.begin_turn();
        thread::sleep(2 * LONG_TURN);
        placement.end_turn();
        assert_eq!(&cpus(Some(process)), all);
        drop(placement);
        assert_eq!(&cpus(None), all);
        child.kill().unwrap();
        child.wait().unwrap();
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
