//! Motion of a session through its history, forwards and backwards.

use emulator::board::CpuId;
use std::sync::{Arc, Mutex};

use emulator::debug::{DebugError, Found, TimeDirection};
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;

use super::session::{Focus, Session};
use super::stop::{self, Scope, Stop, StopCondition};
use lanigon_analysis::trace::filter::{Filter, FilterKey};

/// Time limit within which a CPU that stops by itself reaches its stop.
const SOON: SimTime = SimTime::from_ns(50);
/// So many times that span are waited for at most.
const SOON_LIMIT: u32 = 20;

/// Reason for which a session has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// These events are about to happen; with the numbers of their stops.
    At(Vec<(Vec<u32>, TraceEvent)>),
    /// The target time was reached.
    There,
    /// The time limit was reached.
    Limit,
    /// The run has ended, for this reason.
    End(RunEnd),
    /// The start of the history was reached.
    Begin,
}

impl Session {
    /// Runs to the next or previous stop: a set one, one of `also`, or a CPU that stops by itself. The
    /// motion ends at `limit`.
    ///
    /// # Errors
    /// If the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn run(
        &mut self,
        direction: TimeDirection,
        also: Vec<Stop>,
        limit: SimTime,
    ) -> Result<Stopped, DebugError> {
        let mut stops = self.stops().to_vec();
        stops.extend(also.into_iter().map(Arc::new));
        stops.push(Arc::new(self.core_stops()));
        self.arm(&stops);
        let stopped = self.run_armed(direction, &stops, limit);
        self.arm(&[]);
        let stopped = stopped?;
        if let Stopped::At(met) = &stopped
            && let Some((_, event)) = met.first()
        {
            self.look_at(event);
            let stops = matches!(event.kind, TraceKind::CoreStopped { .. });
            if stops && direction == TimeDirection::Forward && self.cpu().state.executes() {
                // It stops with the instruction that begins now.
                let next = self.now().saturating_add(SimTime::from_ps(1));
                self.history.go_to(next)?;
            }
        }
        Ok(stopped)
    }

    fn run_armed(
        &mut self,
        direction: TimeDirection,
        stops: &[Arc<Stop>],
        limit: SimTime,
    ) -> Result<Stopped, DebugError> {
        let search = stop::search(stops);
        loop {
            let found = match direction {
                TimeDirection::Forward => self.history.find(direction, &search, limit),
                TimeDirection::Backward => self.history.find_last(&search, limit),
            };
            let events = match found? {
                Found::Events(events) => events,
                Found::Limit => return Ok(Stopped::Limit),
                Found::End(end) => return Ok(Stopped::End(end)),
                Found::Begin if self.now() > self.history.begin() => return Ok(Stopped::Limit),
                Found::Begin => return Ok(Stopped::Begin),
            };
            let met = events.into_iter().filter_map(|event| {
                let met = stops.iter().filter(|stop| self.stops_at(stop, &event));
                let numbers: Vec<_> = met.map(|stop| stop.number).collect();
                (!numbers.is_empty()).then_some((numbers, event))
            });
            let met: Vec<_> = met.collect();
            if !met.is_empty() {
                return Ok(Stopped::At(met));
            }
        }
    }

    /// A stop for any CPU that stops by itself.
    fn core_stops(&self) -> Stop {
        let terms = [(FilterKey::Kind, "core-stop".into())];
        let filter = Filter::new(&terms, &self.header).unwrap_or_default();
        Stop {
            number: 0,
            text: String::new(),
            scope: Scope::default(),
            what: StopCondition::Event(Box::new(Mutex::new(filter))),
            condition: None,
        }
    }

    /// Whether an event meets a stop with its condition.
    fn stops_at(&self, stop: &Stop, event: &TraceEvent) -> bool {
        stop.is(event)
            && stop.condition.as_ref().is_none_or(|condition| {
                let focus = self.focus_of(event).unwrap_or(self.focus);
                condition.holds(self, focus)
            })
    }

    /// The CPU of an event: its initiator, or the first CPU of its node.
    fn focus_of(&self, event: &TraceEvent) -> Option<Focus> {
        let Place::Node(node) = event.place else {
            return None;
        };
        let node = usize::from(node);
        if let TraceKind::EventRaised { cpu, .. } = event.kind {
            let cpu = CpuId::new(cpu as usize & 1);
            return Some(Focus { node, cpu });
        }
        Some(match self.cpu_named(node, event.initiator) {
            Some(cpu) => Focus { node, cpu },
            None if node == self.focus.node => self.focus,
            None => Focus {
                node,
                ..Focus::default()
            },
        })
    }

    fn look_at(&mut self, event: &TraceEvent) {
        self.focus = self.focus_of(event).unwrap_or(self.focus);
    }

    /// Moves to the focused CPU's next or previous instruction, or to a stop before it.
    ///
    /// # Errors
    /// If the CPU executes nothing, the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn step(&mut self, direction: TimeDirection) -> Result<Stopped, DebugError> {
        let (node, cpu) = (self.focus.node, self.focus.cpu);
        let (focus, start) = (self.focus, self.now());
        match self.one_instruction(direction, node, cpu) {
            Err(DebugError::Still { .. }) => return self.cannot_step(direction),
            stepped => stepped?,
        }
        if self.stops().is_empty() {
            return Ok(Stopped::There);
        }
        let there = self.now();
        self.history.go_to(start)?;
        let stopped = match direction {
            TimeDirection::Forward => self.run(direction, Vec::new(), there)?,
            TimeDirection::Backward => self.run_back_to(there)?,
        };
        Ok(match stopped {
            Stopped::At(_) => stopped,
            _ => {
                self.focus = focus;
                self.history.go_to(there)?;
                Stopped::There
            }
        })
    }

    /// Moves back by `count` instructions of the focused CPU, or to the first one. For a session without
    /// stops.
    ///
    /// # Errors
    /// If the CPU has executed nothing, the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn steps_back(&mut self, count: u64) -> Result<Stopped, DebugError> {
        let Focus { node, cpu } = self.focus;
        match self.history.steps_back(node, cpu, count) {
            Ok(()) => Ok(Stopped::There),
            Err(DebugError::Still { .. }) if self.cpu().instructions > 0 => {
                let begin = self.history.begin();
                self.history.go_to(begin)?;
                Ok(Stopped::Begin)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves by one instruction of a CPU. If the current one has not begun, its start is not the end of the
    /// step.
    fn one_instruction(
        &mut self,
        direction: TimeDirection,
        node: usize,
        cpu: CpuId,
    ) -> Result<(), DebugError> {
        let executed = |session: &Self| session.cpu_of(Focus { node, cpu }).instructions;
        let before = executed(self);
        self.history.step(direction, node, cpu)?;
        if direction == TimeDirection::Forward && executed(self) == before {
            self.history.step(direction, node, cpu)?;
        }
        Ok(())
    }

    fn still(&self) -> DebugError {
        let Focus { node, cpu } = self.focus;
        let name = self.info(self.focus).name;
        DebugError::Still { node, cpu, name }
    }

    /// Reason for which the CPU has no next or previous instruction: it is stopped, or the history begins.
    fn cannot_step(&mut self, direction: TimeDirection) -> Result<Stopped, DebugError> {
        let ran = self.cpu().instructions > 0;
        match direction {
            TimeDirection::Backward if ran => Ok(Stopped::Begin),
            TimeDirection::Backward => Err(self.still()),
            TimeDirection::Forward => {
                let start = self.now();
                let had_stopped = self.cpu().state.stopped().is_some();
                // A fetch from SRAM waits for transfers.
                for _ in 0..SOON_LIMIT {
                    let soon = self.now().saturating_add(SOON);
                    self.history.go_to(soon)?;
                    if !had_stopped && self.cpu().state.stopped().is_some() {
                        return Ok(Stopped::There);
                    }
                }
                self.history.go_to(start)?;
                Err(self.still())
            }
        }
    }

    /// Moves back to the last stop at or after `time`, or to `time`.
    ///
    /// # Errors
    /// If the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn run_back_to(&mut self, time: SimTime) -> Result<Stopped, DebugError> {
        let focus = self.focus;
        match self.run(TimeDirection::Backward, Vec::new(), time)? {
            at @ Stopped::At(_) => Ok(at),
            _ => {
                self.focus = focus;
                self.go_to(time)
            }
        }
    }

    /// After an interrupted operation: clears the interrupt and moves all nodes to one time.
    ///
    /// # Errors
    /// If the operation is interrupted again, or a checkpoint cannot be loaded.
    pub fn come_to_rest(&mut self) -> Result<(), DebugError> {
        self.interrupt.clear();
        self.history.settle()
    }

    /// Moves to a time.
    ///
    /// # Errors
    /// If the operation is interrupted, or a checkpoint cannot be loaded.
    pub fn go_to(&mut self, time: SimTime) -> Result<Stopped, DebugError> {
        let begin = self.history.begin();
        self.history.go_to(time.max(begin))?;
        Ok(match time < begin {
            true => Stopped::Begin,
            false => Stopped::There,
        })
    }

    fn arm(&mut self, stops: &[Arc<Stop>]) {
        for node in 0..self.header.nodes.len() {
            // Every node of the header exists in the world.
            let _ = self.history.set_stops(node, stop::stops_of(node, stops));
        }
    }
}
