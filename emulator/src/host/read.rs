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
        if let Some(sample) = self.request(program, read, asked, ctx) {
            schedule_sample(sample, program, read, asked, ctx);
        }
    }

    /// Sends a request on its way. Gives the time at which the board will have its value, if nobody
    /// else can ask for the bus before.
    fn request<E>(
        &self,
        program: usize,
        read: Read,
        asked: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) -> Option<SimTime> {
        let start = asked + self.costs.pio_read_request;
        let alone = self.programs.len() == 1
            && ctx.queue.next_time() > start
            && ctx.now + ctx.bus_lead > start;
        if alone {
            let clocks = u64::from(self.costs.pio_read_bus_clocks);
            return Some(ctx.pci.acquire(start, clocks));
        }
        let event = HostEvent::ReadStart {
            program,
            read,
            asked,
        };
        schedule(ctx, start, event);
        None
    }

    /// The request is at the bus.
    pub(super) fn read_start<E>(
        &self,
        program: usize,
        read: Read,
        asked: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let clocks = u64::from(self.costs.pio_read_bus_clocks);
        let sample = ctx.pci.acquire(ctx.now, clocks);
        schedule_sample(sample, program, read, asked, ctx);
    }

    /// A read has its value: the program has it when it is back at the processor, and reads again if
    /// that is not what it polls for.
    pub(super) fn sampled<B: Board>(
        &mut self,
        program: usize,
        read: Read,
        mut asked: SimTime,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        loop {
            let value = board.window_read(read.offset, ctx);
            let back = self.back_at(asked, ctx.now);
            if read.until.is_none_or(|poll| poll.holds(value)) {
                return self.answered(program, read, value, back, ctx);
            }
            if self.programs[program].rotation.is_some() {
                return self.watch_next(program, back, ctx);
            }
            // Until then nothing but a poll happens to the cores, if they idle.
            let idle_until = match board.next_activity(ctx.now) {
                time if time > ctx.now && board.idle_cores_ignore_read(read.offset) => time,
                _ => ctx.now,
            };
            asked = self.skip_polls(read.offset, back, idle_until, board, ctx);
            let Some(sample) = self.request(program, read, asked, ctx) else {
                return;
            };
            if !come_to(sample, idle_until, board, ctx) {
                return schedule_sample(sample, program, read, asked, ctx);
            }
        }
    }

    /// The program will have its value at `back`.
    fn answered<E>(
        &mut self,
        program: usize,
        read: Read,
        value: u32,
        back: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        if let Some(poll) = read.until {
            self.programs[program].polling = None;
            let why = poll.why;
            let kind = TraceKind::PollSatisfied { why, value };
            ctx.trace.record(ctx.now, Initiator::Host, kind);
        }
        let response = match self.programs[program].rotation.take() {
            Some(rotation) => Response::Found(rotation.index(), value),
            None => Response::Word(value),
        };
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
        idle_until: SimTime,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) -> SimTime {
        let start = asked + self.costs.pio_read_request;
        let quiet_until = ctx.queue.next_time().min(ctx.horizon).min(idle_until);
        if quiet_until <= start || ctx.pci.free_at() > start {
            return asked;
        }
        let span = ctx.pci.span_of(u64::from(self.costs.pio_read_bus_clocks));
        let sample = start + span;
        if quiet_until <= sample {
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

/// The board will have a read's value at `sample`.
fn schedule_sample<E>(
    sample: SimTime,
    program: usize,
    read: Read,
    asked: SimTime,
    ctx: &mut HostContext<'_, E>,
) {
    let event = HostEvent::ReadSample {
        program,
        read,
        asked,
    };
    schedule(ctx, sample, event);
}

/// Goes straight on to the next poll, at `sample`, if nothing else is due before and the cores come so far
/// without causing anything; while they idle they may stay behind. Polls are the most frequent events of
/// all: most of them never see the queue.
fn come_to<B: Board>(
    sample: SimTime,
    idle_until: SimTime,
    board: &mut B,
    ctx: &mut HostContext<'_, B::Event>,
) -> bool {
    if ctx.queue.next_time() <= sample || ctx.horizon <= sample {
        return false;
    }
    let now = ctx.now;
    let come = idle_until > sample || board.run_cores(sample, ctx);
    ctx.now = if come { sample } else { now };
    come
}
