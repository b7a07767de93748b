//! The events of all places as one stream, in the order of time, during a run.

use std::io;

use super::event::{Details, Place, TraceEvent};
use super::instructions::InstructionLog;
use super::tracer::Tracer;
use emulator_base::time::SimTime;

/// Observer of all events of a world, sorted by time, then by place, then in order of recording.
pub trait Observer: Send {
    /// Details to record for this observer. Other observers may request more: an observer must ignore
    /// unknown details.
    fn details(&self) -> Details {
        Details::empty()
    }

    /// Called for each event.
    fn event(&mut self, event: &TraceEvent);

    /// Whether the observer receives every executed instruction.
    fn sees_instructions(&self) -> bool {
        false
    }

    /// Called with a CPU's instruction log since the last call, if the observer
    /// [requests](Self::sees_instructions) it. After each round of calls through all CPUs, the logs end at
    /// the same time.
    fn instructions(&mut self, _place: Place, _cpu: usize, _log: &InstructionLog) {}

    /// Called after the last event.
    ///
    /// # Errors
    /// The observer's first write error.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Merges the events of all places.
///
/// Nodes run independently, and some events are recorded ahead of their time. So events wait until no
/// earlier one can come.
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
    /// Adds an observer of all events of `traces` from now on.
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

    /// Passes on events of `traces` from before `time`, once all of them have reached that time.
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
        // Stable: events of one place and time keep their order.
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
        for (cpu, log) in trace.instruction_logs().iter_mut().enumerate() {
            let tells = !log.is_empty();
            for observer in &mut self.observers {
                if tells && observer.sees_instructions() {
                    observer.instructions(place, cpu, log);
                }
            }
            log.clear();
        }
    }

    /// Passes on all remaining events and ends all observers; returns their errors, in the order in which
    /// observers were added.
    pub fn finish<'a>(
        &mut self,
        traces: impl IntoIterator<Item = &'a mut Tracer>,
    ) -> Vec<io::Error> {
        let mut traces: Vec<_> = traces.into_iter().collect();
        // No event has this time.
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
