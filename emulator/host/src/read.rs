//! Programmed reads of the window, once or again and again until the word is as expected.
//!
//! A read has three times: the processor asks, the request reaches the PCI bus, and the board gives its
//! value. The request's arrival is no event of its own when no other request can reach the bus before it. The idle
//! polls of the only program of a host are carried out by the [`poller`].

use std::iter::once;

use super::dispatch::HostContext;
use super::program::Programs;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::Board;
use emulator_board::events::{HostEvent, Read, Response};
use emulator_board::poller::{self, Polled};
use emulator_observe::event::TraceKind;

impl Programs {
    /// Begins a read of a program: its request is on its way to the bus.
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

    /// Sends a request to the bus. Gives the time at which the board will have its value, if no other request
    /// can reach the bus before.
    fn request<E>(
        &self,
        program: usize,
        read: Read,
        asked: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) -> Option<SimTime> {
        let start = asked + self.costs.pio_read_request;
        // If no other request can reach the bus before, this one takes it at once, which saves an event.
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
        ctx.schedule_host(start, event);
        None
    }

    /// Puts the request of a read on the bus.
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

    /// The board gives the value of a read. The program has it when it is back at the processor; after a fruitless poll it
    /// polls again.
    pub(super) fn sampled<B: Board>(
        &mut self,
        program: usize,
        read: Read,
        asked: SimTime,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        let value = board.window_read(read.offset, ctx);
        let sampled = self.costs.back_at(asked, ctx.now);
        if let (Some(rotation), Some(poll)) =
            (&mut self.programs[program].work.rotation, read.until)
        {
            rotation.come_to(poll.at as usize);
        }
        match read.until {
            Some(poll) if !poll.holds(value) => {
                let work = &mut self.programs[program].work;
                let stolen = std::mem::take(&mut work.stolen);
                let (back, deadline) = (sampled + stolen, work.deadline);
                if back >= deadline {
                    self.timed_out(program, back, ctx);
                } else if work.rotation.is_some() {
                    if stolen > SimTime::ZERO || !self.poll_idly(program, back, board, ctx) {
                        self.poll_next(program, back, ctx);
                    }
                } else if stolen > SimTime::ZERO || self.stops_soon(program) {
                    let at = None;
                    ctx.schedule_host(back, HostEvent::PollAgain { program, at });
                } else if self.programs.len() == 1 && board.is_memory(read.offset) {
                    let who = (program, self.programs[program].signals.handling);
                    let word = Polled { before: None, poll };
                    poller::begin(who, (once(word), 0), back, deadline, ctx);
                } else {
                    self.ask(program, read, back, ctx);
                }
            }
            _ => self.answered(program, read, value, sampled, ctx),
        }
    }

    /// Schedules the answer to a read: the program has its value at `back`.
    fn answered<E>(
        &mut self,
        program: usize,
        read: Read,
        value: u32,
        back: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        if let Some(poll) = read.until {
            let why = poll.why.into();
            let kind = TraceKind::PollSatisfied { why, value };
            ctx.trace.record(ctx.now, Initiator::Host, kind);
        }
        let work = &mut self.programs[program].work;
        work.polling = None;
        work.accessing = true;
        let response = match work.rotation.take() {
            Some(rotation) => Response::Found(rotation.index(), value),
            None => Response::Word(value),
        };
        self.resume_at(program, back, response, ctx);
    }
}

/// Schedules the sample of a read: the board gives the value at `sample`.
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
    ctx.schedule_host(sample, event);
}
