//! Programmed reads of the window, once or again and again until the word is as expected.
//!
//! A read has three times: the processor asks, the request reaches the PCI bus, and the board gives its
//! value. What nobody could notice is not simulated step by step: the request's arrival when nobody else
//! can ask for the bus before it, and polls of a word that nobody can change.

use super::program::{HostContext, Programs, schedule};
use super::request::{HostEvent, Read, Response};
use crate::observe::event::TraceKind;
use crate::sim::board::Board;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;

impl Programs {
    /// A program reads: its request is on its way to the bus.
    pub(super) fn ask<E>(
        &self,
        program: usize,
        read: Read,
        asked: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let start = asked + self.costs.pio_read_request;
        let alone = self.programs.len() == 1
            && ctx.queue.next_time() > start
            && ctx.now + ctx.bus_lead > start;
        if alone {
            return self.read_start(program, read, asked, start, ctx);
        }
        let event = HostEvent::ReadStart {
            program,
            read,
            asked,
        };
        schedule(ctx, start, event);
    }

    /// The request is at the bus.
    pub(super) fn read_start<E>(
        &self,
        program: usize,
        read: Read,
        asked: SimTime,
        start: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let clocks = u64::from(self.costs.pio_read_bus_clocks);
        let sample = ctx.pci.acquire(start, clocks);
        let event = HostEvent::ReadSample {
            program,
            read,
            asked,
        };
        schedule(ctx, sample, event);
    }

    /// A read has its value: the program has it when it is back at the processor, and reads again if
    /// that is not what it polls for.
    pub(super) fn sampled<B: Board>(
        &mut self,
        program: usize,
        read: Read,
        asked: SimTime,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        let value = board.window_read(read.offset, ctx);
        let back = self.back_at(asked, ctx.now);
        if let Some(poll) = read.until {
            if !poll.holds(value) {
                let asked = self.skip_polls(read.offset, back, board, ctx);
                return self.ask(program, read, asked, ctx);
            }
            self.programs[program].polling = None;
            let why = poll.why;
            let kind = TraceKind::PollSatisfied { why, value };
            ctx.trace.record(ctx.now, Initiator::Host, kind);
        }
        let response = Response::Word(value);
        schedule(ctx, back, HostEvent::Resume { program, response });
    }

    /// When a value that was sampled then is back at the processor.
    fn back_at(&self, asked: SimTime, sampled: SimTime) -> SimTime {
        (asked + self.costs.pio_read).max(sampled + self.costs.pio_read_return)
    }

    /// Skips the polls, the first of which the processor asks for at `asked`, that come before anything
    /// else can happen: they all read what the last one did. Gives the time at which it asks next.
    fn skip_polls<B: Board>(
        &self,
        offset: u32,
        asked: SimTime,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) -> SimTime {
        let start = asked + self.costs.pio_read_request;
        let quiet_until = ctx.queue.next_time().min(ctx.horizon);
        if quiet_until <= start || !board.idle_cores_ignore_read(offset) {
            return asked;
        }
        let quiet_until = quiet_until.min(board.next_activity(ctx.now));
        let span = ctx.pci.span_of(u64::from(self.costs.pio_read_bus_clocks));
        let sample = start + span;
        if quiet_until <= sample || ctx.pci.free_at() > start {
            return asked;
        }
        let period = (self.back_at(asked, sample) - asked).ps();
        let more = (quiet_until - sample).ps().saturating_sub(1) / period.max(1);
        let skipped = SimTime::from_ps(more * period);
        ctx.pci.repeat(start + skipped, more + 1, span);
        // The last one stands for all: what a read costs the board is over before the next one comes.
        let now = std::mem::replace(&mut ctx.now, sample + skipped);
        board.window_read(offset, ctx);
        ctx.now = now;
        asked + skipped + SimTime::from_ps(period)
    }
}
