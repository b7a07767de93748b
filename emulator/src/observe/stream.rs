//! The events of all places as one stream, in the order of time, while the run goes on.

use std::io;

use super::event::{Details, Place, TraceEvent};
use super::instructions::InstructionLog;
use super::tracer::Tracer;
use crate::sim::time::SimTime;

/// Sees everything that happens in a world, in the order of time, then of place, then as recorded.
pub trait Observer: Send {
    /// The details that it wants to see beside what everybody sees. Others may ask for more: it must let pass
    /// what it does not know.
    fn details(&self) -> Details {
        Details::empty()
    }

    /// One event.
    fn event(&mut self, event: &TraceEvent);

    /// Whether it wants to see every instruction that is executed.
    fn sees_instructions(&self) -> bool {
        false
    }

    /// What a CPU (0 = A, 1 = B) of a node did since the last call, if it [sees](Self::sees_instructions) that.
    /// Between two rounds through all CPUs, these have come equally far.
    fn instructions(&mut self, _place: Place, _cpu: usize, _log: &InstructionLog) {}

    /// There are no more events.
    ///
    /// # Errors
    /// The first one of all that it could not write.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Merges what all places record.
///
/// Nodes run apart, and some events are recorded ahead of their time: events wait until no earlier one can
/// come.
#[derive(Default)]
pub struct Stream {
    observers: Vec<Box<dyn Observer>>,
    waiting: Vec<TraceEvent>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("observers", &self.observers.len())
            .field("waiting", &self.waiting.len())
            .finish()
    }
}

impl Stream {
    /// Adds somebody who sees all events of `traces` from now on.
    pub fn add<'a>(
        &mut self,
        observer: Box<dyn Observer>,
        traces: impl IntoIterator<Item = &'a mut Tracer>,
    ) {
        let details = self
            .observers
            .iter()
            .fold(observer.details(), |all, other| all | other.details());
        self.observers.push(observer);
        let instructions = self
            .observers
            .iter()
            .any(|observer| observer.sees_instructions());
        for trace in traces {
            trace.stream(Some(details));
            trace.keep_instructions(instructions);
        }
    }

    /// Hands on what `traces` have recorded of the time before `time`, when they all have come so far.
    pub fn pass_on_before<'a>(
        &mut self,
        time: SimTime,
        traces: impl IntoIterator<Item = &'a mut Tracer>,
    ) {
        if self.observers.is_empty() {
            return;
        }
        for trace in traces {
            self.pass_on_instructions(trace);
            if let Some(events) = trace.streamed_mut() {
                self.waiting.append(events);
            }
        }
        // Stable: what a place has recorded for the same time keeps its order.
        self.waiting.sort_by_key(|event| (event.time, event.place));
        let due = self.waiting.partition_point(|event| event.time < time);
        for event in self.waiting.drain(..due) {
            for observer in &mut self.observers {
                observer.event(&event);
            }
        }
    }

    fn pass_on_instructions(&mut self, trace: &mut Tracer) {
        let place = trace.place();
        for cpu in 0..2 {
            let Some(log) = trace.instructions_mut(cpu) else {
                return;
            };
            if log.records().is_empty() {
                continue;
            }
            for observer in &mut self.observers {
                if observer.sees_instructions() {
                    observer.instructions(place, cpu, log);
                }
            }
            log.clear();
        }
    }

    /// Hands on everything that is left, and lets all observers go; gives what they could not do, in the order
    /// in which they came.
    pub fn finish<'a>(
        &mut self,
        traces: impl IntoIterator<Item = &'a mut Tracer>,
    ) -> Vec<io::Error> {
        let mut traces: Vec<_> = traces.into_iter().collect();
        // Nothing happens at the end of time.
        self.pass_on_before(SimTime::MAX, traces.iter_mut().map(|trace| &mut **trace));
        for trace in traces {
            trace.stream(None);
            trace.keep_instructions(false);
        }
        let observers = std::mem::take(&mut self.observers);
        let finished = observers.into_iter().map(|mut observer| observer.finish());
        finished.filter_map(Result::err).collect()
    }
}
