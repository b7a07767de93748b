//! Collection of trace events: always into a hash, and into sinks on request.

use std::sync::Arc;

use super::event::{Details, Place, TraceEvent, TraceKind};
use super::file::ProbeKind;
use super::file::kinds::{digest_event, digest_probe};
use super::instructions::InstructionLog;
use super::names::BoardNames;
use emulator_base::digest::Digest;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_state::state;

/// Receives every trace event as it happens.
pub trait Sink: Send {
    /// Called for each event.
    fn event(&mut self, event: &TraceEvent);
}

/// Number of guest mistakes logged as warnings. A defective firmware can make millions of mistakes.
const MISTAKES_SHOWN: u64 = 100;
/// Number of unmapped accesses that are recorded with a text.
const MISTAKES_TRACED: u64 = 100_000;

/// The trace of a node, of a switch, or of a line that leads away from one.
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Tracer {
    /// The requested details.
    details: Details,
    /// The instruction logs are still empty.
    fresh: bool,
    place: Place,
    /// Instruction logs of the board's CPUs, if requested.
    instructions: Option<Vec<InstructionLog>>,
    hash: Digest,
    count: u64,
    /// Number of guest mistakes so far.
    mistakes: u64,
    /// Events waiting for the [`Stream`](super::stream::Stream), if there is one.
    streamed: Option<Vec<TraceEvent>>,
    kept: Option<Vec<TraceEvent>>,
    sinks: Vec<Box<dyn Sink>>,
    /// Names of the board at the place.
    names: &'static BoardNames,
}

state!(Tracer { hash, count, mistakes } fixed {
    place,
    names,
    kept,
    streamed,
    details,
    sinks,
    instructions,
    fresh
});

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer")
            .field("place", &self.place)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Tracer {
    /// The trace of a place with a board of these names; it keeps no events.
    #[must_use]
    pub const fn new(place: Place, names: &'static BoardNames) -> Self {
        Self {
            place,
            names,
            hash: Digest::NEW,
            count: 0,
            mistakes: 0,
            kept: None,
            streamed: None,
            details: Details::empty(),
            sinks: Vec::new(),
            instructions: None,
            fresh: false,
        }
    }

    /// Starts or stops keeping every event in memory.
    pub fn keep(&mut self, keep: bool) {
        self.kept = keep.then(Vec::new);
    }

    /// Takes the events kept so far.
    pub fn take(&mut self) -> Vec<TraceEvent> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Starts keeping every event, and these details, until a [`Stream`](super::stream::Stream) fetches
    /// them; `None` stops it.
    pub(super) fn stream(&mut self, details: Option<Details>) {
        // Events that wait already belong to earlier observers.
        self.streamed = details.map(|_| self.streamed.take().unwrap_or_default());
        self.details = details.unwrap_or_default();
    }

    /// The events waiting for the stream.
    pub(super) const fn streamed_mut(&mut self) -> Option<&mut Vec<TraceEvent>> {
        self.streamed.as_mut()
    }

    /// Starts or stops keeping instruction logs.
    pub fn keep_instructions(&mut self, keep: bool) {
        if keep != self.instructions.is_some() {
            let logs = || self.names.cpus.iter().map(|_| InstructionLog::default());
            self.instructions = keep.then(|| logs().collect());
            self.fresh = keep;
        }
    }

    /// Whether instruction logs are kept.
    #[inline(always)]
    #[must_use]
    pub const fn keeps_instructions(&self) -> bool {
        self.instructions.is_some()
    }

    /// Whether anything is recorded beside the events of each run: details or instructions.
    #[must_use]
    pub const fn is_watched(&self) -> bool {
        !self.details.is_empty() || self.instructions.is_some()
    }

    /// Whether instruction logs are kept and this is the first call since their start.
    #[inline(always)]
    pub const fn begins_instructions(&mut self) -> bool {
        let fresh = self.fresh;
        if fresh {
            self.fresh = false;
        }
        fresh
    }

    /// The instruction log of a CPU, by index, if logs are kept.
    #[inline(always)]
    pub fn instructions_mut(&mut self, cpu: usize) -> Option<&mut InstructionLog> {
        self.instructions.as_mut()?.get_mut(cpu)
    }

    /// Lends the instruction logs of all CPUs to a run, which returns them with
    /// [`take_instructions_back`](Self::take_instructions_back).
    pub const fn lend_instructions(&mut self) -> Option<Vec<InstructionLog>> {
        self.instructions.take()
    }

    /// Takes back the logs that were lent.
    pub fn take_instructions_back(&mut self, logs: Option<Vec<InstructionLog>>) {
        self.instructions = logs;
    }

    /// The instruction logs of all CPUs; none if no logs are kept.
    pub fn instruction_logs(&mut self) -> &mut [InstructionLog] {
        self.instructions.as_deref_mut().unwrap_or_default()
    }

    /// Names of the board at the place.
    #[must_use]
    pub const fn names(&self) -> &'static BoardNames {
        self.names
    }

    /// Place of the trace.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Whether any of these details is requested.
    #[inline]
    #[must_use]
    pub const fn wants(&self, details: Details) -> bool {
        self.details.intersects(details)
    }

    /// Adds a sink.
    pub fn add_sink(&mut self, sink: Box<dyn Sink>) {
        self.sinks.push(sink);
    }

    /// Hash of all events so far: equal for equal runs.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash.value()
    }

    /// The number of events so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether an unmapped access should still be recorded: a defective guest must not fill memory and
    /// disks.
    #[must_use]
    pub const fn takes_mistakes(&self) -> bool {
        self.mistakes < MISTAKES_TRACED
    }

    /// Records a detail that [`Tracer::wants`] reports as requested.
    pub fn record_detail(
        &mut self,
        time: SimTime,
        initiator: Initiator,
        pc: Option<u32>,
        kind: TraceKind,
    ) {
        let event = TraceEvent {
            time,
            place: self.place,
            names: self.names,
            initiator,
            pc,
            kind,
        };
        if self.wants(event.kind.details())
            && let Some(streamed) = &mut self.streamed
        {
            streamed.push(event);
        }
    }

    /// Records an event.
    pub fn record(&mut self, time: SimTime, initiator: Initiator, kind: TraceKind) {
        self.record_at(time, initiator, None, kind);
    }

    /// Passes a mistake or a line of the firmware on to the log of this process.
    #[cold]
    fn log_event(&mut self, time: SimTime, initiator: Initiator, kind: &TraceKind) {
        let names = self.names;
        if let TraceKind::GuestMistake { text } = kind {
            self.mistakes += 1;
            let level = match self.mistakes {
                0..=MISTAKES_SHOWN => log::Level::Warn,
                _ => log::Level::Debug,
            };
            log::log!(target: "guest", level, "{} {} at {time}: {text}", self.place, names.initiator(initiator));
            if self.mistakes == MISTAKES_TRACED {
                log::warn!(target: "guest", "{}: {MISTAKES_TRACED} mistakes so far; further accesses to unmapped addresses are not recorded", self.place);
            }
            if self.mistakes == MISTAKES_SHOWN {
                log::warn!(target: "guest", "{}: {MISTAKES_SHOWN} mistakes so far; more are logged at level debug", self.place);
            }
        }
        if let TraceKind::Log { text } = kind {
            log::info!(target: "firmware", "{} {} at {time}: {text}", self.place, names.initiator(initiator));
        }
    }

    /// Records that a CPU passed a probe of the firmware at `pc`, with these arguments. The event is only made if it is kept.
    #[inline]
    pub fn record_probe(
        &mut self,
        (time, initiator, pc): (SimTime, Initiator, Option<u32>),
        kind: ProbeKind,
        (text, arguments): (&Arc<str>, impl ExactSizeIterator<Item = u32>),
    ) {
        if self.kept.is_some() || self.streamed.is_some() || !self.sinks.is_empty() {
            return self.record_at(time, initiator, pc, kind.of(text, arguments));
        }
        let origin = (time, self.place, initiator);
        digest_probe(origin, kind, (text, arguments), &mut self.hash);
        self.count += 1;
    }

    /// Records an event that the instruction at `pc` caused.
    pub fn record_at(
        &mut self,
        time: SimTime,
        initiator: Initiator,
        pc: Option<u32>,
        kind: TraceKind,
    ) {
        if matches!(kind, TraceKind::GuestMistake { .. } | TraceKind::Log { .. }) {
            self.log_event(time, initiator, &kind);
        }
        let event = TraceEvent {
            time,
            place: self.place,
            names: self.names,
            initiator,
            pc,
            kind,
        };
        digest_event(&event, &mut self.hash);
        self.count += 1;
        for sink in &mut self.sinks {
            sink.event(&event);
        }
        if let Some(kept) = &mut self.kept {
            kept.push(event.clone());
        }
        if let Some(streamed) = &mut self.streamed {
            streamed.push(event);
        }
    }
}
