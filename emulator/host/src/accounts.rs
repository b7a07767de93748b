//! CPU time of host programs.

use std::fmt;

use emulator_base::time::SimTime;
use emulator_state::value_struct;

/// A program's times since it began, by use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// On a CPU: computation, system calls, single accesses to the board's window.
    pub computing: SimTime,
    /// On a CPU: polls of window and memory.
    pub polling: SimTime,
    /// On a CPU, which served an interrupt or a signal's delivery instead of the program.
    pub stolen: SimTime,
    /// Runnable, without a CPU; includes context switches.
    pub ready: SimTime,
    /// Blocked: asleep until an interrupt, a signal, or a time.
    pub blocked: SimTime,
}

value_struct!(CpuTime {
    computing: computing,
    polling: polling,
    stolen: stolen,
    ready: ready,
    blocked: blocked
});

impl CpuTime {
    /// The time for which the program kept a CPU from others: computing, polling, stolen.
    #[must_use]
    pub fn on_cpu(&self) -> SimTime {
        self.computing + self.polling + self.stolen
    }
}

impl fmt::Display for CpuTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("computing", self.computing),
            ("polling", self.polling),
            ("stolen by interrupts", self.stolen),
            ("ready", self.ready),
            ("blocked", self.blocked),
        ];
        for (number, (name, time)) in parts.into_iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {:.3} us", time.us())?;
        }
        Ok(())
    }
}

/// Current use of a program's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The program has not begun, or has ended.
    #[default]
    Off,
    /// The program computes, or accesses the window.
    Computing,
    /// The program polls.
    Polling,
    /// The program waits for a CPU.
    Ready,
    /// The program is blocked.
    Blocked,
}

emulator_state::value_enum!(Phase {
    Off {},
    Computing {},
    Polling {},
    Ready {},
    Blocked {}
});

/// Adds up the time of one program, phase by phase.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Accounts {
    phase: Phase,
    /// Time at which the phase began.
    since: SimTime,
    /// Time stolen in this phase.
    stolen: SimTime,
    total: CpuTime,
}

value_struct!(Accounts {
    phase: phase,
    since: since,
    stolen: stolen,
    total: total
});

impl Accounts {
    /// Begins the next phase at `time`.
    #[inline]
    pub(super) fn enter(&mut self, phase: Phase, time: SimTime) {
        self.total = self.until(time);
        self.since = self.since.max(time);
        self.stolen = SimTime::ZERO;
        self.phase = phase;
    }

    /// The time at which the present phase began.
    pub(super) const fn since(&self) -> SimTime {
        self.since
    }

    /// Accounts a part of the present phase to an interrupt.
    pub(super) fn steal(&mut self, span: SimTime) {
        self.stolen += span;
    }

    /// The sums up to `time`.
    #[inline]
    pub(super) fn until(&self, time: SimTime) -> CpuTime {
        let mut total = self.total;
        let span = time.saturating_sub(self.since);
        let stolen = self.stolen.min(span);
        let own = span.saturating_sub(stolen);
        match self.phase {
            Phase::Off => return total,
            Phase::Computing => total.computing += own,
            Phase::Polling => total.polling += own,
            Phase::Ready => total.ready += own,
            Phase::Blocked => total.blocked += own,
        }
        total.stolen += stolen;
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_belongs_to_no_phase() {
        let us = SimTime::from_us;
        let mut accounts = Accounts::default();
        accounts.enter(Phase::Computing, us(10));
        accounts.steal(us(3));
        accounts.enter(Phase::Polling, us(20));
        accounts.enter(Phase::Blocked, us(24));
        let now = accounts.until(us(30));
        assert_eq!((now.computing, now.polling), (us(7), us(4)));
        assert_eq!((now.stolen, now.blocked), (us(3), us(6)));
        assert_eq!(now.on_cpu(), us(14));
        accounts.enter(Phase::Off, us(31));
        assert_eq!(accounts.until(us(90)).blocked, us(7));
    }
}
