//! Interrupts of the board, and sleeps with their timeouts.

use super::accounts::Phase;
use super::dispatch::HostContext;
use super::program::Programs;
use super::work::{Sleep, WakeEvent};
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::Board;
use emulator_board::events::{HostEvent, Response};
use emulator_observe::event::TraceKind;

impl Programs {
    /// A program has begun to wait for the interrupt. If the line is asserted already, no other event would wake it, and
    /// a wait that is shorter than the time which the interrupt takes to CPU 0 and its handler there lasts until then: else a program that
    /// waits briefly again and again would never take it.
    pub(super) fn interrupt_awaited<B: Board>(
        &mut self,
        board: &B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        if !board.interrupt_line() {
            return;
        }
        let taken = ctx.now.saturating_add(self.costs.interrupt);
        ctx.schedule_host(taken, HostEvent::Interrupt);
        // After the handler: a timeout at that very time would come first.
        let handled = taken.saturating_add(self.costs.interrupt_work);
        let least = handled.saturating_add(SimTime::from_ps(1));
        for program in &mut self.programs {
            if let Some(sleep) = &mut program.work.sleep
                && sleep.event == WakeEvent::Interrupt
            {
                sleep.deadline = sleep.deadline.max(least);
            }
        }
    }

    /// The interrupt has reached CPU 0. If the line is still asserted, the kernel's handler takes its time there and then wakes
    /// the programs that wait for the interrupt.
    pub(super) fn interrupted<B: Board>(&mut self, board: &B, ctx: &mut HostContext<'_, B::Event>) {
        if !board.interrupt_line() {
            return;
        }
        let work = self.costs.interrupt_work;
        if work == SimTime::ZERO {
            return self.wake_for_interrupt(ctx);
        }
        self.steal(work, ctx);
        ctx.schedule_host(ctx.now + work, HostEvent::InterruptHandled);
    }

    /// Wakes the programs that wait for the interrupt, and signals those that have a handler for it instead.
    pub(super) fn wake_for_interrupt<E>(&mut self, ctx: &mut HostContext<'_, E>) {
        for index in 0..self.programs.len() {
            let sleep = self.programs[index].sleep();
            if sleep.is_some_and(|sleep| sleep.event == WakeEvent::Interrupt) {
                ctx.trace
                    .record(ctx.now, Initiator::Host, TraceKind::InterruptTaken);
                self.wake(index, Response::Interrupt(true), ctx);
            }
        }
        self.signal_all(ctx);
    }

    /// Begins a program's wait for an interrupt. The wait begins by an event: only events see the board and its interrupt line.
    pub(super) fn wait_interrupt<E>(
        &mut self,
        index: usize,
        timeout: Option<SimTime>,
        ctx: &mut HostContext<'_, E>,
    ) {
        ctx.schedule_host(ctx.now, HostEvent::InterruptAwaited);
        self.sleep(index, WakeEvent::Interrupt, timeout, ctx);
    }

    /// Lets a program sleep until an event, no longer than this.
    pub(super) fn sleep<E>(
        &mut self,
        index: usize,
        event: WakeEvent,
        timeout: Option<SimTime>,
        ctx: &mut HostContext<'_, E>,
    ) {
        let deadline = timeout.map_or(SimTime::MAX, |span| ctx.now.saturating_add(span));
        self.programs[index].work.sleep = Some(Sleep { event, deadline });
        self.arm_timeout(index, deadline, ctx);
        self.release(index, Phase::Blocked, ctx);
    }

    /// Makes sure that a timeout event is pending at `deadline` or before.
    pub(super) fn arm_timeout<E>(
        &mut self,
        index: usize,
        deadline: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let pending = &mut self.programs[index].timeout_at;
        if deadline != SimTime::MAX && pending.is_none_or(|at| at > deadline) {
            *pending = Some(deadline);
            ctx.schedule_host(deadline, HostEvent::Timeout { program: index });
        }
    }

    /// Handles a timeout event. One that is due before the deadline of the present sleep is scheduled again for that.
    pub(super) fn timeout<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        if program.timeout_at != Some(ctx.now) {
            return;
        }
        program.timeout_at = None;
        match program.sleep() {
            Some(sleep) if sleep.deadline <= ctx.now => {
                let response = match sleep.event {
                    WakeEvent::Interrupt => Response::Interrupt(false),
                    WakeEvent::Time => Response::Done,
                };
                self.wake(index, response, ctx);
            }
            Some(sleep) => self.arm_timeout(index, sleep.deadline, ctx),
            None => {}
        }
    }
}
