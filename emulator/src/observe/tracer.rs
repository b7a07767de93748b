//! Collects trace events: always into a hash, and into sinks where somebody wants to see them.

use std::hash::{Hash, Hasher};

use super::event::{Details, Place, TraceEvent, TraceKind};
use super::instructions::InstructionLog;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::state;
use crate::value_struct;

/// Takes every trace event as it happens.
pub trait Sink: Send {
    /// One event.
    fn event(&mut self, event: &TraceEvent);
}

/// A firmware that runs wild makes millions of mistakes: after so many they are no longer warnings.
const MISTAKES_SHOWN: u64 = 100;
/// ... and after so many nobody builds a text for each access to nowhere any more.
const MISTAKES_TRACED: u64 = 100_000;

/// A hash that is the same on every machine and in every release of the standard library: FNV-1a, with
/// whole numbers instead of bytes as its steps. It finds differences; it need not resist anybody.
#[derive(Debug, Clone)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self::NEW
    }
}

value_struct!(Fnv { 0: hash });

impl Fnv {
    const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    const fn step(&mut self, value: u64) {
        // The rotation brings the high bits back, which the product alone would only lose.
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.step(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.step(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.step(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.step(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.step(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.step(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.step(value as u64);
    }
}

/// The trace of a node, of a switch, or of a line that leads away from one.
pub struct Tracer {
    place: Place,
    hash: Fnv,
    count: u64,
    /// Guests' mistakes so far.
    mistakes: u64,
    kept: Option<Vec<TraceEvent>>,
    /// Events that wait for the [`Stream`](super::stream::Stream), if there is one.
    streamed: Option<Vec<TraceEvent>>,
    /// The details that somebody asked for.
    details: Details,
    sinks: Vec<Box<dyn Sink>>,
    /// What a board's cores execute, if somebody looks.
    instructions: Option<Box<[InstructionLog; 2]>>,
    /// Nothing was recorded of that yet.
    fresh: bool,
}

state!(Tracer { hash, count, mistakes } fixed {
    place,
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
    /// The trace of a place, which keeps no events.
    #[must_use]
    pub const fn new(place: Place) -> Self {
        Self {
            place,
            hash: Fnv::NEW,
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

    /// From now on keep every event in memory (or stop doing so).
    pub fn keep(&mut self, keep: bool) {
        self.kept = keep.then(Vec::new);
    }

    /// The events kept so far; leaves none.
    pub fn take(&mut self) -> Vec<TraceEvent> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// From now on keep every event, and these details, until a [`Stream`](super::stream::Stream) fetches
    /// them; `None`: stop doing so.
    pub(super) fn stream(&mut self, details: Option<Details>) {
        // What waits already is for those who looked before.
        self.streamed = details.map(|_| self.streamed.take().unwrap_or_default());
        self.details = details.unwrap_or_default();
    }

    /// The events that wait for the stream.
    pub(super) const fn streamed_mut(&mut self) -> Option<&mut Vec<TraceEvent>> {
        self.streamed.as_mut()
    }

    /// From now on keep what a board's cores execute until it is fetched, or stop doing so.
    pub fn keep_instructions(&mut self, keep: bool) {
        if keep != self.instructions.is_some() {
            self.instructions = keep.then(Box::default);
            self.fresh = keep;
        }
    }

    /// Whether somebody looks at what the cores execute.
    #[inline(always)]
    #[must_use]
    pub const fn keeps_instructions(&self) -> bool {
        self.instructions.is_some()
    }

    /// Whether somebody looks at what the cores execute, and this is the first question for it.
    #[inline(always)]
    pub(crate) const fn begins_instructions(&mut self) -> bool {
        let fresh = self.fresh;
        if fresh {
            self.fresh = false;
        }
        fresh
    }

    /// What a core (0 = A, 1 = B) executes, if somebody looks.
    #[inline(always)]
    pub fn instructions_mut(&mut self, cpu: usize) -> Option<&mut InstructionLog> {
        self.instructions.as_mut()?.get_mut(cpu)
    }

    /// The place.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Whether somebody asked for any of these details.
    #[inline]
    #[must_use]
    pub const fn wants(&self, details: Details) -> bool {
        self.details.intersects(details)
    }

    /// Adds a sink.
    pub fn add_sink(&mut self, sink: Box<dyn Sink>) {
        self.sinks.push(sink);
    }

    /// The hash over all events so far: equal for equal runs.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash.finish()
    }

    /// The number of events so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether an access to nowhere is still worth a trace event: a guest that makes nothing but mistakes
    /// must not fill memory and disks.
    #[must_use]
    pub const fn takes_mistakes(&self) -> bool {
        self.mistakes < MISTAKES_TRACED
    }

    /// Records a detail, which [`Tracer::wants`].
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

    /// Records an event that the instruction at `pc` caused.
    pub fn record_at(
        &mut self,
        time: SimTime,
        initiator: Initiator,
        pc: Option<u32>,
        kind: TraceKind,
    ) {
        if let TraceKind::GuestMistake { text } = &kind {
            self.mistakes += 1;
            let level = match self.mistakes {
                0..=MISTAKES_SHOWN => log::Level::Warn,
                _ => log::Level::Debug,
            };
            log::log!(target: "guest", level, "{} {initiator} at {time}: {text}", self.place);
            if self.mistakes == MISTAKES_TRACED {
                log::warn!(target: "guest", "{}: {MISTAKES_TRACED} mistakes so far; further accesses to nowhere leave no trace", self.place);
            }
            if self.mistakes == MISTAKES_SHOWN {
                log::warn!(target: "guest", "{}: {MISTAKES_SHOWN} mistakes so far; more are logged at level debug", self.place);
            }
        }
        if let TraceKind::Log { text } = &kind {
            log::info!(target: "firmware", "{} {initiator} at {time}: {text}", self.place);
        }
        let event = TraceEvent {
            time,
            place: self.place,
            initiator,
            pc,
            kind,
        };
        event.hash(&mut self.hash);
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
