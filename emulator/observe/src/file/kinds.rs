//! Kinds of events in a file and in a trace's hash: number, name, fields. A new kind needs a line at the end here, and one in the
//! tests. This table is the file format: numbers are never reused, and a change of fields needs a new
//! version of the format.

use std::sync::Arc;

use defs::probe::Kind;
use serde_json::{Map, Value};

use super::codec::{Fields, Sink, Source, place_number};
use crate::event::{Place, TraceEvent, TraceKind};
use emulator_base::digest::Digest;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;

/// Defines encoder and decoder from one table.
macro_rules! kinds {
    ($($code:literal $name:literal $variant:ident { $($field:ident),* })*) => {
        /// Names of all kinds, by number.
        pub const KIND_NAMES: &[&str] = &[$($name),*];

        /// Number of a kind.
        #[must_use]
        pub const fn kind_code(kind: &TraceKind) -> u8 {
            match kind {
                $(TraceKind::$variant { .. } => $code,)*
            }
        }

        /// Encodes a kind's fields.
        pub(super) fn put_fields(kind: &TraceKind, sink: &mut Sink) {
            match kind {
                $(TraceKind::$variant { $($field),* } => { $($field.encode(sink);)* })*
            }
            // A kind without fields writes no bytes.
            let _ = sink;
        }

        /// Adds a kind, its number and its fields, to a trace's hash.
        fn digest_kind(kind: &TraceKind, digest: &mut Digest) {
            match kind {
                $(TraceKind::$variant { $($field),* } => {
                    digest.number($code);
                    $($field.digest(digest);)*
                })*
            }
        }

        /// The fields of an event by name, for JSON and comparisons.
        #[must_use]
        pub fn fields_by_name(kind: &TraceKind) -> Map<String, Value> {
            let mut fields = Map::new();
            match kind {
                $(TraceKind::$variant { $($field),* } => {
                    $(fields.insert(stringify!($field).into(), $field.value());)*
                })*
            }
            fields
        }

        /// Decodes the fields of the kind with this number.
        pub(super) fn take_fields(code: u8, source: &mut Source<'_>) -> Option<TraceKind> {
            Some(match code {
                $($code => TraceKind::$variant { $($field: Fields::decode(source)?),* },)*
                _ => return None,
            })
        }
    };
}

/// Adds an event to a trace's hash: time, place, initiator, kind and fields by the numbers that a file has for them.
pub(crate) fn digest_event(event: &TraceEvent, digest: &mut Digest) {
    digest_origin(event.time, event.place, event.initiator, digest);
    digest_kind(&event.kind, digest);
}

#[inline]
fn digest_origin(time: SimTime, place: Place, initiator: Initiator, digest: &mut Digest) {
    digest.number(time.ps());
    digest.number(place_number(place));
    digest.number(initiator.number().into());
}

/// As [`digest_event`] of an event that is not made: the firmware's probe of this kind with this text and these arguments.
pub(crate) fn digest_probe(
    (time, place, initiator): (SimTime, Place, Initiator),
    kind: ProbeKind,
    (text, arguments): (&str, impl ExactSizeIterator<Item = u32>),
    digest: &mut Digest,
) {
    digest_origin(time, place, initiator, digest);
    digest.number(kind as u64);
    digest.bytes(text.as_bytes());
    if kind == ProbeKind::Event {
        digest.number(arguments.len() as u64);
        arguments.for_each(|argument| digest.number(argument.into()));
    }
}

/// The kinds of events that probes make without a text of their own, with their numbers in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeKind {
    /// [`TraceKind::Probe`].
    Event = 5,
    /// [`TraceKind::StageEnter`].
    StageEnter = 6,
    /// [`TraceKind::StageExit`].
    StageExit = 7,
    /// [`TraceKind::WaitEnter`].
    WaitEnter = 8,
    /// [`TraceKind::WaitExit`].
    WaitExit = 9,
}

impl ProbeKind {
    /// The kind of event that a probe of the firmware makes; `None` for one that makes a text of its own, or nothing.
    #[must_use]
    pub const fn made_by(probe: Kind) -> Option<Self> {
        match probe {
            Kind::Event => Some(Self::Event),
            Kind::StageEnter => Some(Self::StageEnter),
            Kind::StageExit => Some(Self::StageExit),
            Kind::WaitEnter => Some(Self::WaitEnter),
            Kind::WaitExit => Some(Self::WaitExit),
            Kind::Boards
            | Kind::Published
            | Kind::Guarded
            | Kind::Sampled
            | Kind::Log
            | Kind::Panic => None,
        }
    }

    /// The kind of event of a probe with this text and these arguments.
    pub(crate) fn of(self, text: &Arc<str>, arguments: impl Iterator<Item = u32>) -> TraceKind {
        let text = Arc::clone(text);
        match self {
            Self::Event => TraceKind::Probe {
                name: text,
                arguments: arguments.collect(),
            },
            Self::StageEnter => TraceKind::StageEnter { stage: text },
            Self::StageExit => TraceKind::StageExit { stage: text },
            Self::WaitEnter => TraceKind::WaitEnter { what: text },
            Self::WaitExit => TraceKind::WaitExit { what: text },
        }
    }
}

kinds! {
    0 "host-call" HostCall { what }
    1 "mailbox-write" MailboxWrite { index, value }
    2 "poll-end" PollSatisfied { why, value }
    3 "core-start" CoreStarted { pc }
    4 "core-stop" CoreStopped { pc, reason }
    5 "probe" Probe { name, arguments }
    6 "stage-enter" StageEnter { stage }
    7 "stage-exit" StageExit { stage }
    8 "wait-enter" WaitEnter { what }
    9 "wait-exit" WaitExit { what }
    10 "log" Log { text }
    11 "dma-start" DmaStarted { host, local, length }
    12 "dma-done" DmaDone { local_end }
    13 "dma-failed" DmaFailed { host }
    14 "frame-sent" FrameSent { address, length }
    15 "frame-received" FrameReceived { address, length, status }
    16 "frame-dropped" FrameDropped { reason }
    17 "fault" Fault { port, fault, length, fcs }
    18 "frame-lost" FrameLost { port, reason, length, fcs }
    19 "interrupt" Interrupt { asserted }
    20 "interrupt-taken" InterruptTaken {}
    21 "signal" Signal { present }
    22 "mistake" GuestMistake { text }
    23 "reset" Reset {}
    24 "power-on" PowerOn {}
    25 "dma-rests" DmaRests { until }
    26 "register-read" RegisterRead { address, value }
    27 "register-write" RegisterWrite { address, value }
    28 "handler-enter" HandlerEnter { address, event }
    29 "handler-exit" HandlerExit {}
    30 "semaphore-taken" SemaphoreTaken {}
    31 "semaphore-refused" SemaphoreRefused {}
    32 "semaphore-released" SemaphoreReleased {}
    33 "ring-index" RingIndex { address, value }
    34 "host-return" HostReturn { what }
    35 "frame-head" FrameHead { fcs, head }
    36 "program-end" ProgramEnded { name }
    37 "breakpoint" Breakpoint {}
    38 "memory-write" MemoryWrite { address, length }
    39 "event-raised" EventRaised { cpu, bits }
    40 "further-semaphore" FurtherSemaphore { number, effect }
}
