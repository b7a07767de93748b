//! Signals: a handler of a program that runs when the board interrupts.
//!
//! A program that has a handler gets a signal when the kernel has handled an interrupt of the board. The handler runs in the
//! program's place: what the program computes or polls stands still meanwhile, and a sleep is interrupted and taken up again. The
//! kernel needs time to deliver the signal and to return from the handler. A signal that comes while the handler runs, or
//! while the program has no CPU or accesses the window, is delivered as soon as it can be; signals that wait are one.

use super::accounts::Phase;
use super::dispatch::HostContext;
use super::program::Programs;
use super::scheduler::Scheduling;
use super::work::WakeEvent;
use emulator_base::time::SimTime;
use emulator_board::events::{HostEvent, Response};
use emulator_board::poller;
use emulator_state::value_struct;

/// State of a program's interrupt handling.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signals {
    /// The program has a handler for interrupts.
    pub(super) enabled: bool,
    /// A signal waits for its delivery.
    pub(super) pending: bool,
    /// The handler runs, or is about to.
    pub(super) handling: bool,
    /// The handler has begun.
    pub(super) begun: bool,
}

value_struct!(Signals {
    enabled: enabled,
    pending: pending,
    handling: handling,
    begun: begun
});

impl Programs {
    /// Sets whether a program has a handler from now on. That takes a system call.
    pub(super) fn set_signals<E>(
        &mut self,
        index: usize,
        enabled: bool,
        ctx: &mut HostContext<'_, E>,
    ) {
        let signals = &mut self.programs[index].signals;
        signals.enabled = enabled;
        signals.pending &= enabled;
        self.resume_after(index, self.costs.system_call, Response::Done, ctx);
    }

    /// Sends a signal to every program that has a handler for interrupts.
    pub(super) fn signal_all<E>(&mut self, ctx: &mut HostContext<'_, E>) {
        for index in 0..self.programs.len() {
            if self.programs[index].signals.enabled && self.programs[index].is_at_work() {
                self.signal(index, ctx);
            }
        }
    }

    /// Delivers a signal to a program, now or as soon as it can be interrupted.
    fn signal<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        program.signals.pending = true;
        if program.signals.handling {
            return;
        }
        let (asleep, scheduling) = (program.work.sleep.is_some(), program.scheduling);
        match scheduling {
            // The sleep stays: it goes on after the handler.
            Scheduling::Off if asleep => self.rouse(index, ctx),
            Scheduling::Running(_) if self.can_stop(index) => {
                let time = self.stop_work(index, ctx.now);
                self.begin_handler(index, time, ctx);
            }
            // It is delivered when the access is over.
            Scheduling::Running(_) if self.programs[index].work.polls_window() => {
                poller::hand_over(ctx)
            }
            // It is delivered when the access is over, or the program has a CPU.
            Scheduling::Off | Scheduling::Ready | Scheduling::Running(_) => {}
        }
    }

    /// Delivers the signal that waits, if the program's work is one that has just stopped; tells whether one did.
    pub(super) fn deliver<E>(
        &mut self,
        index: usize,
        response: Option<Response>,
        ctx: &mut HostContext<'_, E>,
    ) -> bool {
        if !self.programs[index].has_signal() {
            return false;
        }
        let time = self.stop_work(index, ctx.now);
        self.programs[index].work.parked = response;
        self.begin_handler(index, time, ctx);
        true
    }

    /// The handler of a program whose work stands still begins: the kernel delivers the signal from `time` on.
    pub(super) fn begin_handler<E>(
        &mut self,
        index: usize,
        time: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        let work = std::mem::take(&mut program.work);
        program.suspended = Some(Box::new(work));
        program.signals.pending = false;
        program.signals.handling = true;
        program.accounts.enter(Phase::Computing, time);
        let begin = time.saturating_add(self.costs.signal);
        self.resume_at(index, begin, Response::Signal, ctx);
    }

    /// The handler has ended: the program's work goes on, after the next signal that waits.
    pub(super) fn end_handler<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        program.signals.handling = false;
        program.signals.begun = false;
        if let Some(work) = program.suspended.take() {
            program.work = *work;
        }
        let time = ctx.now.saturating_add(self.costs.signal_return);
        if program.signals.pending {
            return self.begin_handler(index, time, ctx);
        }
        let Some(sleep) = program.work.sleep else {
            return self.continue_work(index, time, ctx);
        };
        if sleep.event == WakeEvent::Interrupt {
            ctx.schedule_host(ctx.now, HostEvent::InterruptAwaited);
        }
        self.arm_timeout(index, sleep.deadline.max(ctx.now), ctx);
        self.release(index, Phase::Blocked, ctx);
    }
}
