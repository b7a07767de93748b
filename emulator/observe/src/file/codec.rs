//! Encoding of events. Every chunk is independent: texts are numbered within it, times and addresses are
//! relative to the previous event.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::bytes::{fold_sign, put_number, take, take_number, unfold_sign};
use super::header::PlaceNames;
use super::kinds::{kind_code, put_fields, take_fields};
use crate::event::{DropReason, FrameHead, Place, TraceEvent};
use emulator_base::digest::Digest;
use emulator_base::fault::FaultKind;
use emulator_base::initiator::Initiator;
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;

/// Flag in an event's second byte, which also holds the initiator's number if that is small: the event has a `pc`.
const HAS_PC: u8 = 0x10;
/// Flag: the event's place is that of the previous event.
const SAME_PLACE: u8 = 0x20;
/// The initiator's number, or [`LARGE`].
const INITIATOR: u8 = 0x0F;
/// In place of an initiator's number: the number follows.
const LARGE: u16 = 0x0F;

/// Values of the previous event, relative to which an event is encoded.
#[derive(Debug, Clone)]
struct Before {
    time_ps: u64,
    place: Place,
    /// The last `pc` of each CPU, by index.
    pc: Vec<u32>,
}

impl Before {
    const fn new(time: SimTime) -> Self {
        Self {
            time_ps: time.ps(),
            place: Place::Node(0),
            pc: Vec::new(),
        }
    }

    /// The last `pc` of an initiator; those that are no CPU share one.
    fn pc_of(&mut self, initiator: Initiator) -> &mut u32 {
        let index = initiator.cpu().map_or(0, |cpu| cpu + 1);
        if index >= self.pc.len() {
            self.pc.resize(index + 1, 0);
        }
        &mut self.pc[index]
    }
}

/// Cache of recent texts: a text with a cached address needs no hashing.
const RECENT_TEXTS: usize = 64;

/// Encodes events.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) bytes: Vec<u8>,
    before: Before,
    texts: HashMap<Arc<str>, u64>,
    recent: Vec<Option<(Arc<str>, u64)>>,
}

impl Sink {
    /// Starts a chunk whose first event has time `time`, in a reused buffer.
    pub(super) fn begin(&mut self, time: SimTime) {
        self.bytes.clear();
        self.before = Before::new(time);
        self.texts.clear();
        self.recent.fill(None);
    }

    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            before: Before::new(SimTime::ZERO),
            texts: HashMap::new(),
            recent: vec![None; RECENT_TEXTS],
        }
    }

    #[inline]
    fn number(&mut self, value: u64) {
        put_number(&mut self.bytes, value);
    }

    /// Writes a text's number; a new text follows in full.
    fn text(&mut self, text: &Arc<str>) {
        let slot = (text.as_ptr() as usize >> 4) % RECENT_TEXTS;
        if let Some((recent, number)) = &self.recent[slot]
            && Arc::ptr_eq(recent, text)
        {
            let number = *number;
            return self.number(number);
        }
        let number = match self.texts.get(text) {
            Some(&number) => {
                self.number(number);
                number
            }
            None => self.new_text(Arc::clone(text)),
        };
        self.recent[slot] = Some((Arc::clone(text), number));
    }

    /// Like [`text`](Self::text), for a borrowed text.
    fn borrowed_text(&mut self, text: &str) {
        match self.texts.get(text) {
            Some(&number) => self.number(number),
            None => {
                self.new_text(text.into());
            }
        }
    }

    fn new_text(&mut self, text: Arc<str>) -> u64 {
        self.number(0);
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
        let number = self.texts.len() as u64 + 1;
        self.texts.insert(text, number);
        number
    }

    /// Encodes an event.
    pub(super) fn event(&mut self, event: &TraceEvent) {
        let before = &mut self.before;
        let number = event.initiator.number();
        let mut second = number.min(LARGE) as u8;
        if event.pc.is_some() {
            second |= HAS_PC;
        }
        if event.place == before.place {
            second |= SAME_PLACE;
        }
        self.bytes.push(kind_code(&event.kind));
        self.bytes.push(second);
        if number >= LARGE {
            put_number(&mut self.bytes, number.into());
        }
        let span = event.time.ps().wrapping_sub(before.time_ps);
        before.time_ps = event.time.ps();
        put_number(&mut self.bytes, span);
        if event.place != before.place {
            before.place = event.place;
            put_number(&mut self.bytes, place_number(event.place));
        }
        if let Some(pc) = event.pc {
            let last = before.pc_of(event.initiator);
            put_number(&mut self.bytes, fold_sign(pc.wrapping_sub(*last)).into());
            *last = pc;
        }
        put_fields(&event.kind, self);
    }
}

/// Decodes the events of a chunk.
#[derive(Debug)]
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    state: &'a mut SourceState,
}

/// Decoder state between events.
#[derive(Debug)]
pub(super) struct SourceState {
    names: PlaceNames,
    before: Before,
    texts: Vec<Arc<str>>,
}

impl SourceState {
    /// State for the chunks of a file whose places have these names.
    pub(super) const fn new(names: PlaceNames) -> Self {
        Self {
            names,
            before: Before::new(SimTime::ZERO),
            texts: Vec::new(),
        }
    }

    /// Begins a chunk whose first event has time `time`.
    pub(super) fn begin(&mut self, time: SimTime) {
        self.before = Before::new(time);
        self.texts.clear();
    }

    /// Decodes the next event from the front of `bytes`; `None` if there is no valid one.
    pub(super) fn event<'a>(&'a mut self, bytes: &mut &'a [u8]) -> Option<TraceEvent> {
        let mut source = Source { bytes, state: self };
        let event = source.event()?;
        *bytes = source.bytes;
        Some(event)
    }
}

impl Source<'_> {
    #[inline]
    fn number(&mut self) -> Option<u64> {
        take_number(&mut self.bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let texts = &mut self.state.texts;
        match take_number(&mut self.bytes)? {
            0 => {
                let length = take_number(&mut self.bytes)?;
                let bytes = take(&mut self.bytes, usize::try_from(length).ok()?)?;
                let text: Arc<str> = std::str::from_utf8(bytes).ok()?.into();
                texts.push(Arc::clone(&text));
                Some(text)
            }
            number => texts.get(usize::try_from(number - 1).ok()?).cloned(),
        }
    }

    fn event(&mut self) -> Option<TraceEvent> {
        let code = self.byte()?;
        let second = self.byte()?;
        let number = match u16::from(second & INITIATOR) {
            LARGE => u16::try_from(self.number()?).ok()?,
            number => number,
        };
        let initiator = Initiator::from_number(number)?;
        let span = self.number()?;
        let before = &mut self.state.before;
        before.time_ps = before.time_ps.wrapping_add(span);
        let time = SimTime::from_ps(before.time_ps);
        if second & SAME_PLACE == 0 {
            before.place = numbered_place(take_number(&mut self.bytes)?)?;
        }
        let place = before.place;
        let mut pc = None;
        if second & HAS_PC != 0 {
            let folded = u32::try_from(take_number(&mut self.bytes)?).ok()?;
            let last = before.pc_of(initiator);
            *last = last.wrapping_add(unfold_sign(folded));
            pc = Some(*last);
        }
        Some(TraceEvent {
            time,
            place,
            names: self.state.names.at(place),
            initiator,
            pc,
            kind: take_fields(code, self)?,
        })
    }
}

/// Number of a place: nodes are even, switches odd.
pub(super) const fn place_number(place: Place) -> u64 {
    match place {
        Place::Node(node) => (node as u64) << 1,
        Place::Switch(switch) => (switch as u64) << 1 | 1,
    }
}

/// The inverse of [`place_number`].
pub(super) fn numbered_place(number: u64) -> Option<Place> {
    let index = u16::try_from(number >> 1).ok()?;
    Some(match number & 1 {
        0 => Place::Node(index),
        _ => Place::Switch(index),
    })
}

/// Encoding of an event's field.
pub(super) trait Fields: Sized {
    /// Appends the field.
    fn encode(&self, sink: &mut Sink);
    /// Takes the field from the front; `None` if the bytes are invalid.
    fn decode(source: &mut Source<'_>) -> Option<Self>;
    /// The field as JSON.
    fn value(&self) -> Value;
    /// Adds it to a trace's hash.
    fn digest(&self, digest: &mut Digest);
}

impl Fields for u64 {
    fn encode(&self, sink: &mut Sink) {
        sink.number(*self);
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        source.number()
    }

    fn value(&self) -> Value {
        (*self).into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number(*self);
    }
}

impl Fields for u32 {
    fn encode(&self, sink: &mut Sink) {
        sink.number((*self).into());
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        source.number()?.try_into().ok()
    }

    fn value(&self) -> Value {
        (*self).into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number((*self).into());
    }
}

impl Fields for bool {
    fn encode(&self, sink: &mut Sink) {
        sink.bytes.push((*self).into());
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        match source.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        (*self).into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number((*self).into());
    }
}

impl Fields for SimTime {
    fn encode(&self, sink: &mut Sink) {
        sink.number(self.ps());
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        source.number().map(Self::from_ps)
    }

    fn value(&self) -> Value {
        self.ps().into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number(self.ps());
    }
}

/// 0 for `None`, else the number plus one.
impl Fields for Option<u16> {
    fn encode(&self, sink: &mut Sink) {
        sink.number(self.map_or(0, |value| u64::from(value) + 1));
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        match source.number()? {
            0 => Some(None),
            number => u16::try_from(number - 1).ok().map(Some),
        }
    }

    fn value(&self) -> Value {
        (*self).into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number(self.map_or(0, |value| u64::from(value) + 1));
    }
}

impl Fields for Arc<str> {
    fn encode(&self, sink: &mut Sink) {
        sink.text(self);
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        source.text()
    }

    fn value(&self) -> Value {
        (**self).into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(self.as_bytes());
    }
}

impl Fields for Cow<'static, str> {
    fn encode(&self, sink: &mut Sink) {
        sink.borrowed_text(self);
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        Some(Cow::Owned(source.text()?.to_string()))
    }

    fn value(&self) -> Value {
        (**self).into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.bytes(self.as_bytes());
    }
}

/// The count, then the numbers.
impl Fields for Vec<u32> {
    fn encode(&self, sink: &mut Sink) {
        sink.number(self.len() as u64);
        for value in self {
            value.encode(sink);
        }
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        let count = source.number()?;
        // Each number has at least one byte: a damaged count cannot cause a large allocation.
        if count > source.bytes.len() as u64 {
            return None;
        }
        (0..count).map(|_| Fields::decode(source)).collect()
    }

    fn value(&self) -> Value {
        self.as_slice().into()
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number(self.len() as u64);
        for value in self {
            value.digest(digest);
        }
    }
}

/// All four bytes of each word: head words are rarely small.
impl Fields for FrameHead {
    fn encode(&self, sink: &mut Sink) {
        for word in self {
            sink.bytes.extend_from_slice(&word.to_be_bytes());
        }
    }

    fn decode(source: &mut Source<'_>) -> Option<Self> {
        let mut head = Self::default();
        for word in &mut head {
            let bytes = take(&mut source.bytes, 4)?;
            *word = bytes.try_into().map(u32::from_be_bytes).ok()?;
        }
        Some(head)
    }

    fn value(&self) -> Value {
        self.as_slice().into()
    }

    fn digest(&self, digest: &mut Digest) {
        for word in self {
            word.digest(digest);
        }
    }
}

/// Types that are encoded as a number and shown by name.
macro_rules! named {
    ($($type:ty),*) => {$(
        impl Fields for $type {
            fn encode(&self, sink: &mut Sink) {
                sink.bytes.push(*self as u8);
            }

            fn decode(source: &mut Source<'_>) -> Option<Self> {
                Self::ALL.get(usize::from(source.byte()?)).copied()
            }

            fn value(&self) -> Value {
                self.name().into()
            }

            fn digest(&self, digest: &mut Digest) {
                digest.number(*self as u64);
            }
        }
    )*};
}

named!(DropReason, FaultKind, LossReason);
