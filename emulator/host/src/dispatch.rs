//! Requests of programs and events of the host: effects and costs.

use super::accounts::Phase;
use super::execution::Execution;
use super::program::Programs;
use super::request::{CallEvent, Request, lock};
use super::work::WakeEvent;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::events::{HostEvent, Read, Response};
use emulator_board::memory::{HostMemory, PAGE_BYTES};
use emulator_board::{Board, Context};
use emulator_observe::event::{Details, TraceKind};

pub(super) type HostContext<'a, E> = Context<'a, E>;

impl Programs {
    /// Begins the programs that have not begun.
    pub fn start_new<E>(&mut self, ctx: &mut HostContext<'_, E>) {
        for index in 0..self.programs.len() {
            if !self.programs[index].started {
                self.programs[index].started = true;
                self.begin(index, ctx);
            }
        }
        self.notice_writes(ctx);
        self.note_activity();
    }

    /// Handles an event at `ctx.now`.
    pub fn handle<B: Board>(
        &mut self,
        event: HostEvent,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        let concerns_programs =
            !matches!(event, HostEvent::Store { .. } | HostEvent::ReadStart { .. });
        self.act(event, board, ctx);
        if concerns_programs {
            self.note_activity();
        }
    }

    /// Carries out an event of the host.
    fn act<B: Board>(
        &mut self,
        event: HostEvent,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        match event {
            HostEvent::Resume {
                program,
                in_handler,
                response,
            } => self.work_over(program, in_handler, response, ctx),
            HostEvent::InterruptAwaited => self.interrupt_awaited(board, ctx),
            HostEvent::Interrupt => self.interrupted(board, ctx),
            HostEvent::InterruptHandled => self.wake_for_interrupt(ctx),
            HostEvent::Wake { program, response } => self.woken(program, response, ctx),
            HostEvent::Slice { cpu } => self.slice_over(cpu, ctx),
            HostEvent::MemoryPoll { program } => self.memory_poll_due(program, ctx),
            HostEvent::MemoryWritten => self.memory_written(ctx),
            HostEvent::Timeout { program } => self.timeout(program, ctx),
            HostEvent::Store { offset, values } => {
                board.window_store(offset, &values, ctx);
            }
            HostEvent::ReadStart {
                program,
                read,
                asked,
            } => self.read_start(program, read, asked, ctx),
            HostEvent::ReadSample {
                program,
                read,
                asked,
            } => self.sampled(program, read, asked, board, ctx),
            HostEvent::PollAgain { program, at } => self.poll_again(program, at, ctx),
            HostEvent::Prepare {
                program,
                write,
                poll,
                ready,
            } => {
                board.poll_write(write, ctx);
                self.poll_prepared(program, poll, ready, ctx);
            }
        }
    }

    /// Runs a program until its next request, and carries that out.
    pub(super) fn advance<E>(
        &mut self,
        index: usize,
        response: Option<Response>,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        if !program.is_at_work() {
            return;
        }
        program.signals.begun |= matches!(response, Some(Response::Signal));
        let tells_calls = ctx.trace.wants(Details::HOST);
        if tells_calls {
            lock(&program.port).calls = Some(Vec::new());
        }
        let ended = program.advance(ctx.now, response, &self.memory);
        if tells_calls {
            let calls = lock(&program.port).calls.take().unwrap_or_default();
            record_calls(&program.name, calls, ctx);
        }
        let said = std::mem::take(&mut lock(&program.port).said);
        for text in said {
            let kind = TraceKind::Log { text: text.into() };
            ctx.trace.record(ctx.now, Initiator::Host, kind);
        }
        let program = &mut self.programs[index];
        if ended && program.signals.handling {
            self.notice_writes(ctx);
            return self.end_handler(index, ctx);
        }
        if ended {
            let name = program.name.as_str().into();
            let kind = TraceKind::ProgramEnded { name };
            ctx.trace.record(ctx.now, Initiator::Host, kind);
            self.notice_writes(ctx);
            return self.release(index, Phase::Off, ctx);
        }
        let request = lock(&program.port).request.take();
        let lost = matches!(program.execution, Execution::Lost);
        self.notice_writes(ctx);
        match request {
            None if lost => {}
            Some(request) => self.execute_request(index, request, ctx),
            // It awaits something else than its machine: no event could resume it.
            None => {
                let text = "program awaits something outside the simulation".into();
                let kind = TraceKind::GuestMistake { text };
                ctx.trace.record(ctx.now, Initiator::Host, kind);
            }
        }
    }

    /// Begins what a program has asked for. Its answer comes with an event.
    fn execute_request<E>(
        &mut self,
        program: usize,
        request: Request,
        ctx: &mut HostContext<'_, E>,
    ) {
        self.programs[program]
            .accounts
            .enter(request.phase(), ctx.now);
        match request {
            Request::Read { offset } => {
                self.programs[program].work.accessing = true;
                let until = None;
                self.ask(program, Read { offset, until }, ctx.now, ctx);
            }
            Request::Write { offset, values } => {
                let words = values.len() as u64;
                let clocks = u64::from(self.costs.pio_write_setup_clocks) + words;
                let arrives = ctx.pci.acquire(ctx.now, clocks);
                ctx.schedule_host(arrives, HostEvent::Store { offset, values });
                self.programs[program].work.accessing = true;
                let span = SimTime::from_ps(self.costs.pio_write.ps() * words);
                self.resume_after(program, span, Response::Done, ctx);
            }
            Request::Poll { poll, timeout } => {
                let work = &mut self.programs[program].work;
                work.polling = Some(poll);
                work.deadline = deadline(timeout, ctx);
                let (offset, until) = (poll.offset, Some(poll));
                self.ask(program, Read { offset, until }, ctx.now, ctx);
            }
            Request::PollAny {
                words,
                timeout,
                why,
            } => {
                self.programs[program].work.deadline = deadline(timeout, ctx);
                self.begin_rotation(program, &words, why, ctx);
            }
            Request::PollMemory {
                words,
                timeout,
                why,
            } => {
                self.programs[program].work.deadline = deadline(timeout, ctx);
                self.begin_memory_poll(program, &words, why, ctx);
            }
            Request::Translate { address, length } => {
                let pages = ctx.with_memory(|memory| translate(memory, address, length));
                let count = pages.as_ref().map_or(1, Vec::len) as u64;
                let more = self.costs.translate_page.ps() * count.saturating_sub(1);
                let span = self.costs.translate + SimTime::from_ps(more);
                self.resume_after(program, span, Response::Pages(pages), ctx);
            }
            Request::Compute(span) => self.resume_after(program, span, Response::Done, ctx),
            Request::Sleep(span) => self.sleep(program, WakeEvent::Time, Some(span), ctx),
            Request::Interrupt { timeout } => self.wait_interrupt(program, timeout, ctx),
            Request::Signals { enabled } => self.set_signals(program, enabled, ctx),
        }
    }

    /// Schedules the answer to a program's request, whose work takes this CPU time from now on.
    pub(super) fn resume_after<E>(
        &mut self,
        program: usize,
        span: SimTime,
        response: Response,
        ctx: &mut HostContext<'_, E>,
    ) {
        self.resume_at(program, ctx.now.saturating_add(span), response, ctx);
    }

    /// Schedules the answer to a program's request, whose work ends at `time` if nothing takes its CPU before.
    pub(super) fn resume_at<E>(
        &mut self,
        program: usize,
        time: SimTime,
        response: Response,
        ctx: &mut HostContext<'_, E>,
    ) {
        self.programs[program].work.ends = time;
        let event = HostEvent::Resume {
            program,
            in_handler: self.programs[program].signals.handling,
            response,
        };
        ctx.schedule_host(time, event);
    }
}

/// The time at which a timeout that begins now is over; [`SimTime::MAX`] without one.
fn deadline<E>(timeout: Option<SimTime>, ctx: &HostContext<'_, E>) -> SimTime {
    timeout.map_or(SimTime::MAX, |span| ctx.now.saturating_add(span))
}

/// Records what a program has called, and what has returned to it.
fn record_calls<E>(program: &str, calls: Vec<CallEvent>, ctx: &mut HostContext<'_, E>) {
    for CallEvent { what, returned } in calls {
        let what = format!("{program}: {what}").into();
        let kind = match returned {
            false => TraceKind::HostCall { what },
            true => TraceKind::HostReturn { what },
        };
        ctx.trace
            .record_detail(ctx.now, Initiator::Host, None, kind);
    }
}

/// The physical addresses of the pages that hold a range: the first of `address` itself, the
/// others of page starts.
fn translate(memory: &HostMemory, address: u64, length: u64) -> Option<Vec<u64>> {
    let last = address.checked_add(length.saturating_sub(1))?;
    let page = PAGE_BYTES;
    let mut pages = vec![memory.translate(address)?];
    let mut next = (address / page + 1) * page;
    while next <= last {
        pages.push(memory.translate(next)?);
        next += page;
    }
    Some(pages)
}
