//! Resuming, forwards and backwards, for gdb.

use emulator::board::CpuId;
use emulator::debug::{DebugError, TimeDirection};
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use gdbstub::common::{Signal, Tid};
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::ext::base::multithread::{
    MultiThreadRangeStepping, MultiThreadRangeSteppingOps, MultiThreadResume,
    MultiThreadSchedulerLocking, MultiThreadSchedulerLockingOps, MultiThreadSingleStep,
    MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::reverse_exec::{
    ReplayLogPosition, ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};

use super::news::PendingStop;
use super::points::{GdbPoint, PointKind};
use super::slots;
use super::target::{Cpus, cpu_of, thread_of};
use crate::debug::Focus;
use crate::debug::motion::Stopped;
use crate::debug::report;
use emulator::board::FaultKind;
use lanigon_worlds::stopped::{Cause, Stopped as StoppedCpu};

/// Stop reason for gdb.
pub(super) type Reason = MultiThreadStopReason<u32>;

/// The signal that gdb's users expect when a CPU stops by itself.
const fn signal_of(stopped: &StoppedCpu) -> Signal {
    match stopped.cause {
        Cause::Panic => Signal::SIGABRT,
        Cause::Break | Cause::Abort => Signal::SIGTRAP,
        Cause::Fault(FaultKind::Instruction) => Signal::SIGILL,
        Cause::Fault(FaultKind::Access) => Signal::SIGBUS,
        Cause::Fault(FaultKind::Place | FaultKind::Stack) => Signal::SIGSEGV,
    }
}

/// An event with the numbers of the session's stops that it meets.
type Met = (Vec<u32>, TraceEvent);

/// A resume request of gdb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    /// Run until a stop.
    Continue,
    /// Step one instruction of a CPU.
    Step(CpuId),
    /// Step a CPU while it stays between two addresses.
    Range(CpuId, u32, u32),
    /// Run backwards until a stop.
    ContinueBack,
    /// Step one instruction of a CPU back.
    StepBack(CpuId),
}

impl Cpus {
    /// Executes the request; returns the stop reason.
    pub(super) fn go(&mut self) -> Result<Reason, DebugError> {
        if std::mem::take(&mut self.news.moved) {
            return Ok(self.signal(Signal::SIGINT));
        }
        if !matches!(self.motion, Motion::ContinueBack | Motion::StepBack(_)) {
            self.told = None;
        }
        let reason = match self.motion {
            Motion::Continue => self.resume_cpus(),
            Motion::Step(cpu) => self.step(cpu, TimeDirection::Forward),
            Motion::StepBack(cpu) => self.step(cpu, TimeDirection::Backward),
            Motion::Range(cpu, start, end) => self.step_within(cpu, start..end),
            Motion::ContinueBack => self.go_back(),
        };
        match reason {
            Err(DebugError::Interrupted) => {
                self.session.come_to_rest()?;
                Ok(self.signal(Signal::SIGINT))
            }
            Err(DebugError::Still { cpu, .. }) => {
                self.cpu = cpu;
                self.say("this CPU executes nothing");
                Ok(self.signal(Signal::SIGTRAP))
            }
            reason => reason,
        }
    }

    fn resume_cpus(&mut self) -> Result<Reason, DebugError> {
        let now = self.now();
        if let Some(waiting) = self.news.next_waiting(now, &self.points) {
            return Ok(self.report_stop(waiting));
        }
        let breakpoints = self.breakpoints();
        let blind = |&cpu: &CpuId| {
            let hidden = self.in_hidden_slot(cpu);
            slots::steps_blindly(self.board(), cpu, now, hidden, &breakpoints)
        };
        if let Some(cpu) = self.cpus().find(blind) {
            return self.step(cpu, TimeDirection::Forward);
        }
        match self.search(TimeDirection::Forward, self.session.last_time())? {
            Stopped::At(events) => Ok(self.stopped_at(&events)),
            Stopped::End(end) => self.beyond_end(report::ended(&end).trim_end()),
            _ => self.beyond_end("the scenario's time is over"),
        }
    }

    /// Handles the end of the run. The CPUs can still be stepped, also by gdb's software stepping: the next
    /// instruction is then where gdb waits.
    fn beyond_end(&mut self, reason: &str) -> Result<Reason, DebugError> {
        let end = self.now();
        if self.one_step(self.cpu, TimeDirection::Forward).is_ok() {
            let pc = self.shown_pc(self.cpu);
            if self.breakpoints().contains(&pc) {
                return Ok(MultiThreadStopReason::SwBreak(thread_of(self.cpu)));
            }
        }
        self.session.history.go_to(end)?;
        self.say(reason);
        Ok(self.replay(ReplayLogPosition::End))
    }

    fn go_back(&mut self) -> Result<Reason, DebugError> {
        // gdb may have inspected a reported write from after it, and must not meet it again.
        if let Some(told) = self.told.take().filter(|&told| told < self.now()) {
            self.session.history.go_to(told)?;
        }
        let Stopped::At(events) = self.search(TimeDirection::Backward, SimTime::ZERO)? else {
            return Ok(self.replay(ReplayLogPosition::Begin));
        };
        let reason = self.stopped_at(&events);
        if matches!(reason, MultiThreadStopReason::Watch { .. }) {
            self.told = Some(self.now());
            // gdb itself steps back over a reported write to find the old value.
            self.one_step(self.cpu, TimeDirection::Forward)?;
        }
        Ok(reason)
    }

    fn breakpoints(&self) -> Vec<u32> {
        let software = self
            .points
            .iter()
            .filter(|point| point.kind == PointKind::Software);
        software.map(|point| point.address).collect()
    }

    /// Steps one instruction of a CPU, with its delay slot. A stop on the way ends the step.
    fn step(&mut self, cpu: CpuId, direction: TimeDirection) -> Result<Reason, DebugError> {
        let start = self.now();
        self.one_step(cpu, direction)?;
        let there = self.now();
        let on_the_way = match direction {
            TimeDirection::Forward => self.first_stop(start, there),
            TimeDirection::Backward => self.last_stop(there, start),
        };
        if let Some(reason) = on_the_way? {
            return Ok(reason);
        }
        self.session.history.go_to(there)?;
        self.news.waiting.clear();
        self.cpu = cpu;
        Ok(self.signal(Signal::SIGTRAP))
    }

    /// The first stop between two times.
    fn first_stop(&mut self, from: SimTime, to: SimTime) -> Result<Option<Reason>, DebugError> {
        self.session.history.go_to(from)?;
        Ok(match self.search(TimeDirection::Forward, to)? {
            Stopped::At(events) if self.now() < to => Some(self.stopped_at(&events)),
            _ => None,
        })
    }

    /// The last stop between two times.
    fn last_stop(&mut self, from: SimTime, to: SimTime) -> Result<Option<Reason>, DebugError> {
        self.session.history.go_to(from)?;
        let mut last = None;
        while let Stopped::At(events) = self.search(TimeDirection::Forward, to)? {
            if self.now() >= to {
                break;
            }
            last = Some((self.now(), events));
        }
        let Some((time, events)) = last else {
            return Ok(None);
        };
        self.session.history.go_to(time)?;
        Ok(Some(self.stopped_at(&events)))
    }

    fn one_step(&mut self, cpu: CpuId, direction: TimeDirection) -> Result<(), DebugError> {
        let executed = |cpus: &Self| cpus.board().cpu(cpu).map(|view| view.instructions);
        let hidden = |cpus: &Self| cpus.in_hidden_slot(cpu);
        let (before, was_hidden) = (executed(self), hidden(self));
        self.session.history.step(direction, self.node, cpu)?;
        let again = match direction {
            // The current instruction had not begun, and now has.
            TimeDirection::Forward => executed(self) == before,
            // From a slot back to its branch is no step: gdb was shown the branch.
            TimeDirection::Backward => was_hidden,
        };
        if again {
            self.session.history.step(direction, self.node, cpu)?;
        }
        if hidden(self) {
            self.session.history.step(direction, self.node, cpu)?;
        }
        Ok(())
    }

    /// Steps until a CPU leaves an address range, or a stop is met.
    fn step_within(
        &mut self,
        cpu: CpuId,
        range: std::ops::Range<u32>,
    ) -> Result<Reason, DebugError> {
        loop {
            let reason = self.step(cpu, TimeDirection::Forward)?;
            let stepped = reason == self.signal(Signal::SIGTRAP) && self.cpu == cpu;
            let pc = self.shown_pc(cpu);
            if !stepped || !range.contains(&pc) {
                return Ok(reason);
            }
            if self.session.interrupt.requested() {
                return Err(DebugError::Interrupted);
            }
        }
    }

    /// Runs to the next or previous stop.
    fn search(&mut self, direction: TimeDirection, limit: SimTime) -> Result<Stopped, DebugError> {
        self.news.waiting.clear();
        let points = self.points.iter();
        let stops = points.flat_map(|point| point.stops(self.node)).collect();
        self.session.run(direction, stops, limit)
    }

    /// Reports the first of simultaneous events; those of the other CPU wait.
    fn stopped_at(&mut self, events: &[Met]) -> Reason {
        let waiting: Vec<_> = events.iter().map(|met| self.waiting(met)).collect();
        let Some(&first) = waiting.first() else {
            return self.signal(Signal::SIGTRAP);
        };
        let others = waiting.into_iter().filter(|other| other.cpu != first.cpu);
        self.news.waiting = others.collect();
        self.report_stop(first)
    }

    fn waiting(&mut self, (numbers, event): &Met) -> PendingStop {
        let here = event.place == Place::Node(self.node as u16);
        let by = match event.initiator {
            who if here => who.cpu().map(CpuId::new),
            _ => None,
        };
        let cpu = by.unwrap_or_else(|| self.some_cpu());
        let thread = thread_of(cpu);
        let point = self
            .points
            .iter()
            .copied()
            .find(|point| point.is(self.node, event));
        let trap = MultiThreadStopReason::SignalWithThread {
            tid: thread,
            signal: Signal::SIGTRAP,
        };
        if let Some(stopped) = self.stopped_cpu(cpu, event) {
            self.say(&stopped.lines());
            return PendingStop {
                time: event.time,
                point: None,
                cpu,
                reason: MultiThreadStopReason::SignalWithThread {
                    tid: thread,
                    signal: signal_of(&stopped),
                },
            };
        }
        let reason = match point.map(|point| (point.kind, point)) {
            Some((PointKind::Software, _)) => MultiThreadStopReason::SwBreak(thread),
            Some((PointKind::Hardware, _)) => MultiThreadStopReason::HwBreak(thread),
            Some((PointKind::Watch(kind), GdbPoint { address, .. })) => {
                MultiThreadStopReason::Watch {
                    tid: thread,
                    kind,
                    addr: address,
                }
            }
            None => trap,
        };
        if by.is_none() || point.is_none() {
            let set = self.session.stops().iter();
            let met = set.filter(|stop| numbers.contains(&stop.number));
            let met: String = met
                .map(|stop| format!("stop {}: {}\n", stop.number, stop.text))
                .collect();
            self.say(&format!("{met}{}", event.to_string().trim()));
        }
        PendingStop {
            time: event.time,
            point,
            cpu,
            reason,
        }
    }

    /// The report on a CPU of this node, if an event says that it stopped by itself.
    fn stopped_cpu(&self, cpu: CpuId, event: &TraceEvent) -> Option<StoppedCpu> {
        let stops = matches!(event.kind, TraceKind::CoreStopped { .. });
        let here = event.place == Place::Node(self.node as u16);
        let focus = Focus {
            node: self.node,
            cpu,
        };
        (stops && here).then(|| StoppedCpu::examine(&self.session.code_of(focus)))?
    }

    fn report_stop(&mut self, waiting: PendingStop) -> Reason {
        self.cpu = waiting.cpu;
        let at_a_breakpoint = waiting.point.is_some_and(|point| {
            let real = self.board().cpu(waiting.cpu).map(|view| view.pc);
            matches!(point.kind, PointKind::Software | PointKind::Hardware)
                && real == Some(point.address)
        });
        self.in_slot = at_a_breakpoint.then_some((self.now(), waiting.cpu));
        waiting.reason
    }

    /// The CPU that represents events without a CPU: gdb's current one, if it runs.
    fn some_cpu(&self) -> CpuId {
        let executes = |cpu: &CpuId| {
            let view = self.board().cpu(*cpu);
            view.is_some_and(|view| view.state.executes())
        };
        let cpus = [self.cpu].into_iter().chain(self.cpus());
        { cpus }.find(executes).unwrap_or(self.cpu)
    }

    fn signal(&self, signal: Signal) -> Reason {
        MultiThreadStopReason::SignalWithThread {
            tid: thread_of(self.cpu),
            signal,
        }
    }

    fn replay(&self, pos: ReplayLogPosition) -> Reason {
        let tid = Some(thread_of(self.cpu));
        MultiThreadStopReason::ReplayLog { tid, pos }
    }

    /// Queues a text for the user.
    pub(super) fn say(&mut self, text: &str) {
        self.news.text.push_str(text);
        self.news.text.push('\n');
    }
}

impl MultiThreadResume for Cpus {
    /// The request is stored; the server executes it.
    fn resume(&mut self) -> Result<(), DebugError> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), DebugError> {
        self.motion = Motion::Continue;
        Ok(())
    }

    fn set_resume_action_continue(
        &mut self,
        _thread: Tid,
        _signal: Option<Signal>,
    ) -> Result<(), DebugError> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_range_step(&mut self) -> Option<MultiThreadRangeSteppingOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSingleStep for Cpus {
    fn set_resume_action_step(
        &mut self,
        thread: Tid,
        _signal: Option<Signal>,
    ) -> Result<(), DebugError> {
        self.motion = cpu_of(thread).map_or(Motion::Continue, Motion::Step);
        Ok(())
    }
}

impl MultiThreadRangeStepping for Cpus {
    fn set_resume_action_range_step(
        &mut self,
        thread: Tid,
        start: u32,
        end: u32,
    ) -> Result<(), DebugError> {
        let range = |cpu| Motion::Range(cpu, start, end);
        self.motion = cpu_of(thread).map_or(Motion::Continue, range);
        Ok(())
    }
}

impl MultiThreadSchedulerLocking for Cpus {
    /// gdb wants to move one CPU alone. Time passes for all: the other one moves too.
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), DebugError> {
        Ok(())
    }
}

impl ReverseCont<Tid> for Cpus {
    fn reverse_cont(&mut self) -> Result<(), DebugError> {
        self.motion = Motion::ContinueBack;
        Ok(())
    }
}

impl ReverseStep<Tid> for Cpus {
    fn reverse_step(&mut self, _thread: Tid) -> Result<(), DebugError> {
        self.motion = Motion::StepBack(self.chosen.cpu().unwrap_or(self.cpu));
        Ok(())
    }
}
