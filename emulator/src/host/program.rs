//! Host programs: `async` functions that run in simulated time.
//!
//! A program gives way only where it uses its [`Machine`]: each such call
//! leaves a [`Request`] in the program's port and waits. The node carries the request out (what it
//! does, and what it costs, stands here) and wakes the program with the [`Response`] at the time
//! when a real processor would have it. A program that polls costs one bus transaction a poll.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};

use super::costs::HostCosts;
use super::log::{Answers, Deeds, Life, Told};
use super::machine::Machine;
use super::request::{Call, HostEvent, PollRequest, Read, Request, Response, SharedPort, lock};
use super::rotation::Rotation;
use crate::observe::event::{Details, TraceKind};
use crate::sim::board::{Board, Context, NodeEvent, SharedMemory};
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;

type ProgramFuture = Pin<Box<dyn Future<Output = ()> + Send>>;
/// Makes a program's future for a machine, for the how-manieth time.
type Factory = Box<dyn Fn(Machine, u32) -> ProgramFuture + Send>;

/// How a program goes on.
pub(super) enum Course {
    /// It does what it does.
    Alive(ProgramFuture),
    /// It does what its log says that it did.
    Repeating,
    /// The log of one that repeated says no more: the program stands still.
    Lost,
    /// It has ended.
    Ended,
}

pub(super) struct Program {
    pub(super) name: String,
    pub(super) course: Course,
    /// How it begins anew after a reset, if it does.
    factory: Option<Factory>,
    /// How often it has been begun.
    pub(super) life: u32,
    /// What it was told in each life, if that is kept.
    pub(super) lives: Option<Vec<Life>>,
    /// What is known of its next lives, if it repeats.
    pub(super) next_lives: VecDeque<Life>,
    /// The machine was reset and will be on again.
    pub(super) awaits_power: bool,
    pub(super) port: SharedPort,
    /// The condition that it polls for.
    pub(super) polling: Option<PollRequest>,
    /// The words that it polls in turn.
    pub(super) rotation: Option<Rotation>,
    /// While it waits for an interrupt: until when.
    pub(super) interrupt_deadline: Option<SimTime>,
    /// When its pending timeout event is due. There is one at most: it moves on when it comes early.
    pub(super) timeout_at: Option<SimTime>,
    pub(super) started: bool,
}

impl Program {
    fn new(name: String, port: SharedPort, future: ProgramFuture) -> Self {
        Self {
            name,
            course: Course::Alive(future),
            factory: None,
            life: 1,
            lives: None,
            next_lives: VecDeque::new(),
            awaits_power: false,
            port,
            polling: None,
            rotation: None,
            interrupt_deadline: None,
            timeout_at: None,
            started: false,
        }
    }

    /// Lets it run until its next request, or its end, which it tells.
    pub(super) fn go_on(&mut self) -> bool {
        let mut task = TaskContext::from_waker(Waker::noop());
        let ended = match &mut self.course {
            Course::Alive(future) => future.as_mut().poll(&mut task).is_ready(),
            _ => false,
        };
        if ended {
            self.course = Course::Ended;
        }
        ended
    }

    /// Lets it run until its next request, or its end, which it tells.
    fn advance(&mut self, now: SimTime, response: Option<Response>, memory: &SharedMemory) -> bool {
        if matches!(self.course, Course::Repeating) {
            return self.repeat_next(now, response.as_ref(), memory);
        }
        let keeps = self.lives.is_some();
        {
            let mut port = lock(&self.port);
            port.now = now;
            port.response.clone_from(&response);
            if keeps {
                port.answers = Answers::Kept(Vec::new(), Vec::new());
            }
        }
        let ended = self.go_on();
        if let Some(life) = self.lives.as_mut().and_then(|lives| lives.last_mut()) {
            let mut port = lock(&self.port);
            if let Answers::Kept(memory, acts) = std::mem::take(&mut port.answers) {
                let told = Told {
                    now,
                    response,
                    memory,
                };
                let request = port.request.clone();
                life.push(
                    told,
                    Deeds {
                        memory: acts,
                        request,
                        ended,
                    },
                );
            }
        }
        ended
    }

    /// Does what its log says that it did then.
    fn repeat_next(
        &mut self,
        now: SimTime,
        response: Option<&Response>,
        memory: &SharedMemory,
    ) -> bool {
        let life = self.lives.as_mut().and_then(|lives| lives.last_mut());
        let done = life.and_then(|life| {
            life.repeat_next(now, response, |deeds| {
                deeds.repeat(memory);
                (deeds.request.clone(), deeds.ended)
            })
        });
        let Some((request, ended)) = done else {
            self.course = Course::Lost;
            return false;
        };
        lock(&self.port).request = request;
        if ended {
            self.course = Course::Ended;
        }
        ended
    }

    /// Whether it goes on when its request is answered.
    pub(super) const fn is_at_work(&self) -> bool {
        !matches!(self.course, Course::Ended)
    }

    const fn has_ended(&self) -> bool {
        !self.is_at_work() && !self.awaits_power
    }

    /// Ends it wherever it is.
    fn cut_off(&mut self) {
        self.course = Course::Ended;
        self.polling = None;
        self.rotation = None;
        self.interrupt_deadline = None;
        self.timeout_at = None;
        self.started = true;
    }

    /// What it waits for, if it does nothing else.
    const fn waits_for(&self) -> Option<&'static str> {
        match (self.polling, self.interrupt_deadline) {
            (Some(poll), _) => Some(poll.why),
            (None, Some(_)) => Some("an interrupt"),
            (None, None) if self.awaits_power => Some("the machine to be on again"),
            (None, None) => None,
        }
    }
}

/// The programs of one host.
pub struct Programs {
    memory: SharedMemory,
    pub(super) costs: HostCosts,
    pub(super) programs: Vec<Program>,
    /// Whether what programs are told is kept.
    keeps_log: bool,
    /// Whether programs only repeat what is known of them.
    pub(super) repeats: bool,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.programs.iter().map(|program| &program.name))
            .finish()
    }
}

pub(super) type HostContext<'a, E> = Context<'a, E>;

pub(super) fn schedule<E>(ctx: &mut HostContext<'_, E>, time: SimTime, event: HostEvent) {
    ctx.queue
        .schedule(time, Initiator::Host, NodeEvent::Host(event));
}

impl Programs {
    /// No programs.
    #[must_use]
    pub const fn new(memory: SharedMemory, costs: &HostCosts) -> Self {
        Self {
            memory,
            costs: *costs,
            programs: Vec::new(),
            keeps_log: false,
            repeats: false,
        }
    }

    /// From now on keeps what programs are told, so that they can be saved. Those that have begun cannot.
    pub fn keep_log(&mut self) {
        self.keeps_log = true;
        for program in self.programs.iter_mut().filter(|program| !program.started) {
            program.lives.get_or_insert_with(|| vec![Life::default()]);
        }
    }

    fn add(&mut self, program: Program) {
        let lives = self.keeps_log.then(|| vec![Life::default()]);
        self.programs.push(Program { lives, ..program });
    }

    /// Adds a program; it begins when the node next runs. `start` is given the machine it runs on.
    pub fn spawn<F>(&mut self, name: impl Into<String>, start: impl FnOnce(Machine) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (port, machine) = self.machine();
        let future = Box::pin(start(machine));
        self.add(Program::new(name.into(), port, future));
    }

    /// Adds a program that begins anew whenever the machine is on again after a reset, even if it had
    /// ended before. `start` is given the machine, and how often the program has been begun: 1 for the
    /// first time.
    pub fn spawn_restartable<F>(
        &mut self,
        name: impl Into<String>,
        start: impl Fn(Machine, u32) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let factory: Factory = Box::new(move |machine, life| Box::pin(start(machine, life)));
        let (port, machine) = self.machine();
        let program = Program::new(name.into(), port, factory(machine, 1));
        self.add(Program {
            factory: Some(factory),
            ..program
        });
    }

    /// Begins a program's next life.
    pub(super) fn begin_life(&mut self, index: usize) {
        let (port, machine) = self.machine();
        let program = &mut self.programs[index];
        program.life += 1;
        program.port = port;
        program.course = match &program.factory {
            Some(begin) => Course::Alive(begin(machine, program.life)),
            None => Course::Ended,
        };
    }

    /// A machine for a program, and the port that it shares with its node.
    fn machine(&self) -> (SharedPort, Machine) {
        let port = SharedPort::default();
        let machine = Machine::new(Arc::clone(&port), Arc::clone(&self.memory));
        (port, machine)
    }

    /// Ends every program wherever it is. Those that can begin anew wait for that if the machine `comes_back`.
    pub(crate) fn reset(&mut self, comes_back: bool) {
        for program in &mut self.programs {
            program.cut_off();
            program.awaits_power = comes_back && program.factory.is_some();
        }
    }

    /// The machine is on again.
    pub(crate) fn power_on(&mut self) {
        for index in 0..self.programs.len() {
            if !self.programs[index].awaits_power {
                continue;
            }
            self.begin_life(index);
            let program = &mut self.programs[index];
            program.awaits_power = false;
            program.started = false;
            if self.repeats {
                program.course = Course::Repeating;
            }
            if let Some(lives) = &mut program.lives {
                lives.push(program.next_lives.pop_front().unwrap_or_default());
            }
        }
    }

    /// Whether every program has ended.
    #[must_use]
    pub fn all_ended(&self) -> bool {
        self.programs.iter().all(Program::has_ended)
    }

    /// `now` while a program has not begun.
    #[must_use]
    pub fn next_activity(&self, now: SimTime) -> SimTime {
        if self.programs.iter().all(|program| program.started) {
            SimTime::MAX
        } else {
            now
        }
    }

    /// The number of pending events that are polls.
    #[must_use]
    pub fn pending_polls(&self) -> usize {
        self.programs
            .iter()
            .filter(|program| program.polling.is_some())
            .count()
    }

    /// Whether a condition that is polled for already holds.
    #[must_use]
    pub fn poll_will_end<B: Board>(&self, board: &B, now: SimTime) -> bool {
        self.programs
            .iter()
            .any(|program| match (&program.rotation, program.polling) {
                (Some(rotation), _) => rotation.will_end(board, now),
                (None, Some(poll)) => poll.holds(board.window_peek(poll.offset, now)),
                (None, None) => false,
            })
    }

    /// Whether no condition that is polled for holds, or comes to hold by itself: every poll is one of
    /// memory.
    pub(crate) fn polls_in_vain<B: Board>(&self, board: &B, now: SimTime) -> bool {
        let of_memory = |program: &Program| match (&program.rotation, program.polling) {
            (Some(rotation), _) => rotation.is_of_memory(board),
            (None, Some(poll)) => board.is_memory(poll.offset),
            (None, None) => true,
        };
        self.programs.iter().all(of_memory) && !self.poll_will_end(board, now)
    }

    /// Who waits for what: a line for each program that has not ended.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        self.programs
            .iter()
            .filter(|program| !program.has_ended())
            .map(|program| match program.waits_for() {
                Some(what) => format!("{} waits for {what}", program.name),
                None => format!("{} is at work", program.name),
            })
            .collect()
    }

    /// Begins the programs that have not begun.
    pub fn start_new<E>(&mut self, ctx: &mut HostContext<'_, E>) {
        for index in 0..self.programs.len() {
            if !self.programs[index].started {
                self.programs[index].started = true;
                self.advance(index, None, ctx);
            }
        }
    }

    /// Handles an event at `ctx.now`.
    pub fn handle<B: Board>(
        &mut self,
        event: HostEvent,
        board: &mut B,
        ctx: &mut HostContext<'_, B::Event>,
    ) {
        match event {
            HostEvent::Resume { program, response } => self.advance(program, Some(response), ctx),
            HostEvent::Interrupt => self.interrupted(board, ctx),
            HostEvent::Timeout { program } => self.timeout(program, ctx),
            HostEvent::Store { offset, values } => {
                for (offset, value) in (offset..).step_by(4).zip(values) {
                    board.window_write(offset, value, ctx);
                }
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
            HostEvent::Watch { program } => self.watch(program, ctx),
            HostEvent::Prepare {
                program,
                write,
                ready,
            } => {
                board.window_write(write.0, write.1, ctx);
                self.watch_prepared(program, ready, ctx);
            }
        }
    }

    /// The interrupt has made its way: whoever waits for it goes on, if it is still asserted.
    fn interrupted<B: Board>(&mut self, board: &B, ctx: &mut HostContext<'_, B::Event>) {
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

    /// A program waits for an interrupt.
    fn wait_interrupt<E>(
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

    /// Sees to a timeout event at `deadline` or before.
    fn arm_timeout<E>(&mut self, index: usize, deadline: SimTime, ctx: &mut HostContext<'_, E>) {
        let pending = &mut self.programs[index].timeout_at;
        if deadline != SimTime::MAX && pending.is_none_or(|at| at > deadline) {
            *pending = Some(deadline);
            schedule(ctx, deadline, HostEvent::Timeout { program: index });
        }
    }

    /// A timeout event is due: an early one moves on to the deadline of the present wait.
    fn timeout<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
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

    /// Lets a program run until its next request, and carries that out.
    fn advance<E>(
        &mut self,
        index: usize,
        response: Option<Response>,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        if !program.is_at_work() {
            return;
        }
        lock(&program.port).calls = ctx.trace.wants(Details::HOST).then(Vec::new);
        let ended = program.advance(ctx.now, response, &self.memory);
        let calls = lock(&program.port).calls.take().unwrap_or_default();
        record_calls(&program.name, calls, ctx);
        if ended {
            let name = program.name.as_str().into();
            let kind = TraceKind::ProgramEnded { name };
            ctx.trace.record(ctx.now, Initiator::Host, kind);
            return;
        }
        let request = lock(&program.port).request.take();
        match request {
            None if matches!(program.course, Course::Lost) => {}
            Some(request) => self.carry_out(index, request, ctx),
            // It awaits something that is not its machine: nobody could ever wake it.
            None => {
                let text = "program awaits something outside the simulation".into();
                let kind = TraceKind::GuestMistake { text };
                ctx.trace.record(ctx.now, Initiator::Host, kind);
            }
        }
    }

    fn carry_out<E>(&mut self, program: usize, request: Request, ctx: &mut HostContext<'_, E>) {
        match request {
            Request::Read { offset } => {
                let until = None;
                self.ask(program, Read { offset, until }, ctx.now, ctx);
            }
            Request::Write { offset, values } => {
                let words = values.len() as u64;
                let clocks = u64::from(self.costs.pio_write_setup_clocks) + words;
                let arrives = ctx.pci.acquire(ctx.now, clocks);
                schedule(ctx, arrives, HostEvent::Store { offset, values });
                let span = SimTime::from_ps(self.costs.pio_write.ps() * words);
                self.resume_after(program, span, Response::Done, ctx);
            }
            Request::Poll(poll) => {
                self.programs[program].polling = Some(poll);
                let (offset, until) = (poll.offset, Some(poll));
                self.ask(program, Read { offset, until }, ctx.now, ctx);
            }
            Request::PollAny { watches, why } => {
                self.programs[program].rotation = Some(Rotation::new(watches, why));
                self.watch(program, ctx);
            }
            Request::Translate { address, length } => {
                let pages = ctx.with_memory(|memory| translate(memory, address, length));
                let count = pages.as_ref().map_or(1, Vec::len) as u64;
                let more = self.costs.translate_page.ps() * count.saturating_sub(1);
                let span = self.costs.translate + SimTime::from_ps(more);
                self.resume_after(program, span, Response::Pages(pages), ctx);
            }
            Request::Compute(span) => self.resume_after(program, span, Response::Done, ctx),
            Request::Interrupt { timeout } => self.wait_interrupt(program, timeout, ctx),
        }
    }

    fn resume_after<E>(
        &self,
        program: usize,
        span: SimTime,
        response: Response,
        ctx: &mut HostContext<'_, E>,
    ) {
        let event = HostEvent::Resume { program, response };
        schedule(ctx, ctx.now.saturating_add(span), event);
    }
}

/// Records what a program has called, and what has returned to it.
fn record_calls<E>(program: &str, calls: Vec<Call>, ctx: &mut HostContext<'_, E>) {
    for Call { what, returned } in calls {
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
fn translate(memory: &super::memory::HostMemory, address: u64, length: u64) -> Option<Vec<u64>> {
    let last = address.checked_add(length.saturating_sub(1))?;
    let page = super::memory::PAGE_BYTES;
    let mut pages = vec![memory.translate(address)?];
    let mut next = (address / page + 1) * page;
    while next <= last {
        pages.push(memory.translate(next)?);
        next += page;
    }
    Some(pages)
}
