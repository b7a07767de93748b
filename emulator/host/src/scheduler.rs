//! The CPUs of a host, and which program has which.
//!
//! A program that becomes runnable takes a free CPU: the one that it had last, one that no program had yet, or the first.
//! If none is free it queues.
//! A program keeps its CPU while it computes or polls, and gives it up when it sleeps. When more programs are runnable than there are
//! CPUs, each gives way at the end of its time slice (round robin). A program that wakes from a sleep takes the place of one
//! that has computed since its own last sleep for a whole slice or more; that one is the first to go on. What the CPU cannot
//! interrupt, an access to the window, is over before a program gives way.
//!
//! Interrupts of the board go to CPU 0. They take it for the time that the kernel needs from whatever program has it.
//!
//! An interrupt or a signal that comes while the value of a poll of the window is on its way back counts after the next poll.
//!
//! Costs arise only where there is competition: a CPU that takes up a program other than its last one needs a context switch.

use std::collections::VecDeque;

use super::accounts::{CpuTime, Phase};
use super::dispatch::HostContext;
use super::program::Programs;
use emulator_base::time::SimTime;
use emulator_board::events::{HostEvent, Response};
use emulator_board::poller;
use emulator_state::{value_enum, value_struct};

/// The CPU that takes interrupts.
const INTERRUPT_CPU: usize = 0;

/// Whether a program has a CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// The program is blocked, has not begun, or has ended.
    #[default]
    Off,
    /// The program waits for a CPU.
    Ready,
    /// The program has this CPU.
    Running(usize),
}

value_enum!(Scheduling {
    Off {},
    Ready {},
    Running { 0: cpu }
});

/// Reason why a program gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preemption {
    /// The time slice of the program is over.
    Slice,
    /// Another one has woken.
    Wake,
}

value_enum!(Preemption {
    Slice {},
    Wake {}
});

/// A CPU.
#[derive(Debug, Clone, Copy, Default)]
struct HostCpu {
    /// The program that has it.
    running: Option<usize>,
    /// The last program that had it.
    last: Option<usize>,
    /// Time until which the kernel has the CPU: a context switch, interrupts.
    kernel_until: SimTime,
    /// Time at which the time slice of the CPU's program ends.
    slice_ends: SimTime,
    /// Time at which the CPU's slice event is due, if one is pending.
    slice_event: Option<SimTime>,
    /// The reason why the running program gives way as soon as it can.
    preemption: Option<Preemption>,
}

value_struct!(HostCpu {
    running: running,
    last: last,
    kernel_until: kernel_until,
    slice_ends: slice_ends,
    slice_event: slice_event,
    preemption: preemption
});

/// The CPUs of a host, and the programs that wait for one.
#[derive(Debug, Default)]
pub(super) struct Cpus {
    cpus: Vec<HostCpu>,
    /// Programs that have woken stand before the others.
    ready: VecDeque<usize>,
}

value_struct!(Cpus {
    cpus: cpus,
    ready: ready
});

impl Cpus {
    pub(super) fn new(count: u32) -> Self {
        Self {
            cpus: vec![HostCpu::default(); count.max(1) as usize],
            ready: VecDeque::new(),
        }
    }

    /// Frees every CPU.
    pub(super) fn reset(&mut self) {
        self.cpus.fill(HostCpu::default());
        self.ready.clear();
    }

    /// Whether a loaded state is of a host with `count` CPUs and names no program beyond the first `programs`.
    pub(super) fn fit(&self, count: u32, programs: usize) -> bool {
        let named = self.cpus.iter().flat_map(|cpu| [cpu.running, cpu.last]);
        let mut named = named.flatten().chain(self.ready.iter().copied());
        self.cpus.len() == count.max(1) as usize && named.all(|index| index < programs)
    }

    /// Whether a program of any CPU gives way at the end of its present poll or access.
    #[inline]
    pub(super) fn will_switch(&self) -> bool {
        self.cpus.iter().any(|cpu| cpu.preemption.is_some())
    }

    /// The free CPU for a program: the one that it had last, one that no program had, or the first.
    fn free_cpu(&self, program: usize) -> Option<usize> {
        let rank = |cpu: &HostCpu| match cpu.last {
            Some(last) if last == program => 0,
            None => 1,
            Some(_) => 2,
        };
        let free = self.cpus.iter().enumerate();
        let free = free.filter(|(_, cpu)| cpu.running.is_none());
        let best = free.min_by_key(|(_, cpu)| rank(cpu));
        best.map(|(index, _)| index)
    }
}

impl Programs {
    /// The CPU time of each program up to `now`, which the host's node has reached.
    pub fn cpu_times(&self, now: SimTime) -> impl Iterator<Item = (&str, CpuTime)> {
        let programs = self.programs.iter();
        programs.map(move |program| (program.name.as_str(), program.accounts.until(now)))
    }

    /// Begins a program: it runs, or is queued.
    pub(super) fn begin<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        self.run_or_queue(index, None, ctx);
    }

    /// Wakes a program that sleeps, with this answer.
    pub(super) fn wake<E>(
        &mut self,
        index: usize,
        response: Response,
        ctx: &mut HostContext<'_, E>,
    ) {
        self.programs[index].work.sleep = None;
        if self.costs.wake_up == SimTime::ZERO {
            return self.woken(index, response, ctx);
        }
        let event = HostEvent::Wake {
            program: index,
            response,
        };
        ctx.schedule_host(ctx.now.saturating_add(self.costs.wake_up), event);
    }

    /// Makes a program that sleeps runnable for its signal handler.
    pub(super) fn rouse<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        program.woken = true;
        match self.cpus.free_cpu(index) {
            Some(cpu) => {
                let start = self.take_cpu(index, cpu, ctx.now);
                self.begin_handler(index, start, ctx);
            }
            None => self.queue_woken(index, ctx),
        }
    }

    /// Makes a program runnable that has slept.
    pub(super) fn woken<E>(
        &mut self,
        index: usize,
        response: Response,
        ctx: &mut HostContext<'_, E>,
    ) {
        self.programs[index].woken = true;
        self.run_or_queue(index, Some(response), ctx);
    }

    /// Runs a program that has become runnable, or queues it.
    fn run_or_queue<E>(
        &mut self,
        index: usize,
        response: Option<Response>,
        ctx: &mut HostContext<'_, E>,
    ) {
        let Some(cpu) = self.cpus.free_cpu(index) else {
            let program = &mut self.programs[index];
            program.work.parked = Some(response.unwrap_or_default());
            program.work.left = SimTime::ZERO;
            return self.queue_woken(index, ctx);
        };
        let start = self.take_cpu(index, cpu, ctx.now);
        if self.programs[index].has_signal() {
            self.programs[index].work.parked = Some(response.unwrap_or_default());
            return self.begin_handler(index, start, ctx);
        }
        if start == ctx.now {
            return self.advance(index, response, ctx);
        }
        self.resume_at(index, start, response.unwrap_or_default(), ctx);
    }

    /// Queues a program that has become runnable; another one may have to give way.
    fn queue_woken<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        let first = self.programs[index].woken;
        self.queue(index, first, ctx.now);
        self.preempt_for(index, ctx);
        self.arm_slices(ctx);
    }

    /// Queues a program, behind those that have woken if it is `first`, else at the end.
    fn queue(&mut self, index: usize, first: bool, time: SimTime) {
        let program = &mut self.programs[index];
        program.scheduling = Scheduling::Ready;
        program.accounts.enter(Phase::Ready, time);
        let ready = &self.cpus.ready;
        let woken = |other: &usize| self.programs[*other].woken;
        let at = match first {
            true => ready.iter().take_while(|other| woken(other)).count(),
            false => ready.len(),
        };
        self.cpus.ready.insert(at, index);
    }

    /// Gives a free CPU to a program; tells from when on the program has it.
    fn take_cpu(&mut self, index: usize, cpu: usize, now: SimTime) -> SimTime {
        let program = &mut self.programs[index];
        let slice = program.slice_left.take().unwrap_or(self.costs.time_slice);
        let state = &mut self.cpus.cpus[cpu];
        let switches = state.last.is_some_and(|last| last != index);
        let mut start = now.max(state.kernel_until);
        if switches {
            start = start.saturating_add(self.costs.context_switch);
        }
        state.running = Some(index);
        state.last = Some(index);
        state.kernel_until = start;
        state.slice_ends = start.saturating_add(slice);
        state.preemption = None;
        program.scheduling = Scheduling::Running(cpu);
        let polls = program.work.polls_window() || program.work.memory_poll.is_some();
        program.accounts.enter(Phase::Ready, now);
        program.accounts.enter(running_phase(polls), start);
        start
    }

    /// Takes the CPU of a program that sleeps or has ended, and gives it to the next one.
    pub(super) fn release<E>(&mut self, index: usize, phase: Phase, ctx: &mut HostContext<'_, E>) {
        let program = &mut self.programs[index];
        program.accounts.enter(phase, ctx.now);
        let scheduling = std::mem::take(&mut program.scheduling);
        if let Scheduling::Running(cpu) = scheduling {
            let cpu_state = &mut self.cpus.cpus[cpu];
            cpu_state.running = None;
            cpu_state.preemption = None;
            if let Some(next) = self.cpus.ready.pop_front() {
                self.resume_queued(next, cpu, ctx);
                self.arm_slices(ctx);
            }
        }
    }

    /// Resumes a program that was queued, where it stopped.
    fn resume_queued<E>(&mut self, index: usize, cpu: usize, ctx: &mut HostContext<'_, E>) {
        let start = self.take_cpu(index, cpu, ctx.now);
        match self.programs[index].has_signal() {
            true => self.begin_handler(index, start, ctx),
            false => self.continue_work(index, start, ctx),
        }
    }

    /// Resumes the work of a program at `start`, where it stood still.
    pub(super) fn continue_work<E>(
        &mut self,
        index: usize,
        start: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        let polls = program.work.polls_window() || program.work.memory_poll.is_some();
        program.accounts.enter(running_phase(polls), start);
        let work = &mut program.work;
        let ends = start.saturating_add(std::mem::take(&mut work.left));
        if let Some(response) = work.parked.take() {
            self.resume_at(index, ends, response, ctx);
        } else if let Some(poll) = &mut work.memory_poll {
            poll.resume(start);
            self.arm_memory_poll(index, ctx);
        } else if work.polls_window() {
            let event = HostEvent::PollAgain {
                program: index,
                at: None,
            };
            ctx.schedule_host(start, event);
        } else {
            // The event at the old end of its work is pending: it finds that the end has moved, and schedules another one.
            work.ends = ends;
        }
    }

    /// A program has woken and found no free CPU: another one gives way, if it has not woken itself.
    fn preempt_for<E>(&mut self, index: usize, ctx: &mut HostContext<'_, E>) {
        if !self.programs[index].woken {
            return;
        }
        let gives_way = |cpu: &HostCpu| {
            let running = cpu.running.filter(|_| cpu.preemption.is_none());
            running.is_some_and(|other| !self.programs[other].woken)
        };
        if let Some(cpu) = self.cpus.cpus.iter().position(gives_way) {
            self.preempt(cpu, Preemption::Wake, ctx);
        }
    }

    /// Makes the program on a CPU give way, now or at the end of what it cannot interrupt.
    fn preempt<E>(&mut self, cpu: usize, why: Preemption, ctx: &mut HostContext<'_, E>) {
        let Some(index) = self.cpus.cpus[cpu].running else {
            return;
        };
        self.cpus.cpus[cpu].preemption = Some(why);
        if self.can_stop(index) {
            self.give_way(index, None, ctx);
        }
    }

    /// Whether the work of a program can stop at any time: it computes, or polls memory.
    pub(super) fn can_stop(&self, index: usize) -> bool {
        let work = &self.programs[index].work;
        work.memory_poll.is_some() || !(work.accessing || work.polls_window())
    }

    /// Whether a program stops at the end of its present poll or access: for another one, or for a signal.
    #[inline]
    pub(super) fn stops_soon(&self, index: usize) -> bool {
        self.cpus.will_switch() || self.programs[index].has_signal()
    }

    /// Stops the work of a program that has a CPU; tells when, since the kernel may have the CPU now.
    pub(super) fn stop_work(&mut self, index: usize, now: SimTime) -> SimTime {
        let program = &mut self.programs[index];
        let time = match program.scheduling {
            Scheduling::Running(cpu) => now.max(self.cpus.cpus[cpu].kernel_until),
            Scheduling::Off | Scheduling::Ready => now,
        };
        program.work.suspend(time, self.costs.memory_poll);
        time
    }

    /// A program has come to a point where it can give way: tells whether it does. `response` is its answer, if it has it.
    pub(super) fn give_way<E>(
        &mut self,
        index: usize,
        response: Option<Response>,
        ctx: &mut HostContext<'_, E>,
    ) -> bool {
        let Scheduling::Running(cpu) = self.programs[index].scheduling else {
            return false;
        };
        let Some(why) = self.cpus.cpus[cpu].preemption.take() else {
            return false;
        };
        let next = self.cpus.ready.front().copied();
        let wanted = |next: &usize| why == Preemption::Slice || self.programs[*next].woken;
        let Some(next) = next.filter(wanted) else {
            self.arm_slices(ctx);
            return false;
        };
        self.cpus.ready.pop_front();
        let time = self.stop_work(index, ctx.now);
        let left = self.cpus.cpus[cpu].slice_ends.saturating_sub(time);
        self.cpus.cpus[cpu].running = None;
        let program = &mut self.programs[index];
        program.work.parked = response;
        match why {
            Preemption::Slice => program.woken = false,
            Preemption::Wake => program.slice_left = Some(left),
        }
        self.queue(index, why == Preemption::Wake, time);
        self.resume_queued(next, cpu, ctx);
        self.arm_slices(ctx);
        true
    }

    /// Schedules an event at the end of each slice, while programs wait for a CPU.
    fn arm_slices<E>(&mut self, ctx: &mut HostContext<'_, E>) {
        if self.cpus.ready.is_empty() {
            return;
        }
        for (cpu, state) in self.cpus.cpus.iter_mut().enumerate() {
            let at = state.slice_ends.max(ctx.now);
            let pending = state.slice_event.is_some_and(|pending| pending <= at);
            if state.running.is_some() && state.preemption.is_none() && !pending {
                state.slice_event = Some(at);
                ctx.schedule_host(at, HostEvent::Slice { cpu });
            }
        }
    }

    /// Handles the event at the end of a slice, which may have moved.
    pub(super) fn slice_over<E>(&mut self, cpu: usize, ctx: &mut HostContext<'_, E>) {
        let state = &mut self.cpus.cpus[cpu];
        if state.slice_event != Some(ctx.now) {
            return;
        }
        state.slice_event = None;
        if self.cpus.ready.is_empty() || state.slice_ends > ctx.now {
            return self.arm_slices(ctx);
        }
        self.preempt(cpu, Preemption::Slice, ctx);
    }

    /// The event that ends a program's work is due: the program goes on unless it has no CPU, or the end has moved.
    pub(super) fn work_over<E>(
        &mut self,
        index: usize,
        in_handler: bool,
        response: Response,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        if !in_handler && let Some(suspended) = &mut program.suspended {
            suspended.parked = Some(response);
            return;
        }
        match program.scheduling {
            Scheduling::Running(_) => {
                let work = &mut program.work;
                let ends = work.ends.max(ctx.now) + std::mem::take(&mut work.stolen);
                if ends > ctx.now {
                    return self.resume_at(index, ends, response, ctx);
                }
                work.accessing = false;
                work.polling = None;
                work.rotation = None;
                if self.stops_soon(index)
                    && (self.deliver(index, Some(response.clone()), ctx)
                        || self.give_way(index, Some(response.clone()), ctx))
                {
                    return;
                }
                self.advance(index, Some(response), ctx);
            }
            Scheduling::Ready => program.work.parked = Some(response),
            Scheduling::Off => {}
        }
    }

    /// Takes CPU 0 for `span`, from whatever program has it.
    pub(super) fn steal<E>(&mut self, span: SimTime, ctx: &mut HostContext<'_, E>) {
        if span == SimTime::ZERO {
            return;
        }
        let cpu = &mut self.cpus.cpus[INTERRUPT_CPU];
        cpu.kernel_until = cpu.kernel_until.max(ctx.now) + span;
        if let Some(index) = cpu.running {
            self.steal_from(index, span, ctx);
        }
    }

    /// Takes the CPU of a program for `span`.
    pub(super) fn steal_from<E>(
        &mut self,
        index: usize,
        span: SimTime,
        ctx: &mut HostContext<'_, E>,
    ) {
        let program = &mut self.programs[index];
        program.accounts.steal(span);
        if let Some(poll) = &mut program.work.memory_poll {
            poll.delay(ctx.now, span, self.costs.memory_poll);
            return self.arm_memory_poll(index, ctx);
        }
        program.work.stolen += span;
        if program.work.polls_window() {
            poller::hand_over(ctx);
        }
    }
}

/// Phase of a program that has a CPU.
const fn running_phase(polls: bool) -> Phase {
    match polls {
        true => Phase::Polling,
        false => Phase::Computing,
    }
}
