//! Waits for the board's interrupt, and their timeouts.

use super::dispatch::{HostContext, schedule};
use super::program::Programs;
use super::request::{HostEvent, Response};
use crate::board::Board;
use crate::observe::event::TraceKind;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;

impl Programs {
    /// The interrupt has reached the processor: resumes the programs that wait for it, if the line is still asserted.
    pub(super) fn interrupted<B: Board>(&mut self, board: &B, ctx: &mut HostContext<'_, B::Event>) {
        if !board.interrupt_line() {
            return;
        }
        for index in 0..self.programs.len() {
            if self.programs[index].interrupt_deadline.take().is_some() {
                ctx.trace
                    .record(ctx.now, Initiator::Host, TraceKind::InterruptTaken);
                self.advance(index, Some(Response::Interrupt(true)), ctx);
            }
        }
    }

    /// Begins a program's wait for an interrupt.
    pub(super) fn wait_interrupt<E>(
        &mut self,
        index: usize,
        timeout: Option<SimTime>,
        ctx: &mut HostContext<'_, E>,
    ) {
        // If the line is asserted already, nothing else would wake the program.
        schedule(
            ctx,
            ctx.now.saturating_add(self.costs.interrupt),
            HostEvent::Interrupt,
        );
        let deadline = timeout.map_or(SimTime::MAX, |span| ctx.now.saturating_add(span));
        self.programs[index].interrupt_deadline = Some(deadline);
        self.arm_timeout(index, deadline, ctx);
    }

    /// Makes sure that a timeout event is pending at `deadline` or before.
    fn arm_timeout<E>(&mut self, index: usize, deadline: SimTime, ctx: &mut HostContext<'_, E>) {
        let pending = &mut self.programs[index].timeout_at;
        if deadline != SimTime::MAX && pending.is_none_or(|at| at > deadline) {
            *pending = Some(deadline);
            schedule(ctx, deadline, HostEvent::Timeout { program: index });
        }
    }

    /// Handles a timeout event. One that is due before the deadline of the present wait is scheduled again for that.
    pub(super) fn timeout<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        if program.timeout_at != Some(ctx.now) {
            return;
        }
        program.timeout_at = None;
        match program.interrupt_deadline {
            Some(deadline) if deadline <= ctx.now => {
                program.interrupt_deadline = None;
                self.advance(index, Some(Response::Interrupt(false)), ctx);
            }
            Some(deadline) => self.arm_timeout(index, deadline, ctx),
            None => {}
        }
    }
}
