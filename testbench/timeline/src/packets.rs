//! Writer of packets: interns repeated texts, and limits the file's size.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use prost::Message;

use super::proto::{
    BY_RANK, CLEARED, CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedText,
    NEEDS_INTERNED, ProcessDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
};

/// The only writer of a file.
const SEQUENCE: u32 = 1;
/// Largest size of a slice's end.
const END_BYTES: u64 = 48;
/// Largest size of a final remark, with its track.
const REMARK_BYTES: u64 = 512;
/// Size of the write buffer.
const BUFFER_BYTES: usize = 1 << 16;

/// Value of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationValue {
    /// A number shown in decimal.
    Number(u64),
    /// A number shown in hexadecimal.
    Address(u64),
}

/// Contents of a slice or an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Name shared by many slices: interned.
    pub name: Cow<'static, str>,
    /// Suffix of the name; may be empty.
    pub which: String,
    /// Category, for filters.
    pub category: &'static str,
    /// Annotations.
    pub notes: Vec<(&'static str, AnnotationValue)>,
    /// The flow through it.
    pub flow: Option<u64>,
}

impl Slice {
    /// A slice with a name only.
    pub fn new(category: &'static str, name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            which: String::new(),
            category,
            notes: Vec::new(),
            flow: None,
        }
    }

    /// Adds an annotation.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: AnnotationValue) -> Self {
        self.notes.push((name, value));
        self
    }
}

/// An event on a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrackEventKind {
    /// A slice begins.
    Begin(Slice),
    /// The innermost slice ends.
    End,
    /// An event without duration.
    Instant(Slice),
    /// A counter has a new value.
    Count(i64),
}

/// Description of a track.
#[derive(Debug, Clone, Default)]
pub struct Introduction {
    /// Name of the track.
    pub name: String,
    /// Parent track, and rank in it.
    pub parent: Option<(u64, i32)>,
    /// Process number of a process track.
    pub pid: Option<i32>,
    /// Unit of a counter track.
    pub unit: Option<i32>,
}

/// Interned texts with their numbers.
#[derive(Debug, Default)]
struct Texts(HashMap<String, u64>);

impl Texts {
    /// Number of a text; a new text is appended to `added`.
    fn number(&mut self, text: &str, added: &mut Vec<InternedText>) -> u64 {
        if let Some(&number) = self.0.get(text) {
            return number;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(text.to_owned(), number);
        added.push(InternedText {
            iid: Some(number),
            name: Some(text.to_owned()),
        });
        number
    }
}

/// The file of a timeline.
pub struct Packets {
    out: BufWriter<Box<dyn Write + Send>>,
    error: Option<io::Error>,
    names: Texts,
    categories: Texts,
    notes: Texts,
    /// Descriptions of tracks that are not written yet, by number minus one.
    tracks: Vec<Option<Introduction>>,
    written_bytes: u64,
    limit_bytes: u64,
    /// Number of slices whose begin is written and whose end is not.
    open: u64,
    full: bool,
}

impl Packets {
    /// Writes to `out`, which need not be buffered, at most `limit_bytes`.
    pub fn new(out: Box<dyn Write + Send>, limit_bytes: u64) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            error: None,
            names: Texts::default(),
            categories: Texts::default(),
            notes: Texts::default(),
            tracks: Vec::new(),
            written_bytes: 0,
            limit_bytes,
            open: 0,
            full: false,
        }
    }

    /// Whether only ends of slices and a final remark may still be written.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// Adds a track; returns its number. Its description is written with its first event.
    pub fn add(&mut self, track: Introduction) -> u64 {
        self.tracks.push(Some(track));
        self.tracks.len() as u64
    }

    /// Writes the description of a track and of its parents, if not done yet.
    fn introduce(&mut self, uuid: u64) {
        let place = uuid.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let track = place.and_then(|place| self.tracks.get_mut(place));
        let Some(track) = track.and_then(Option::take) else {
            return;
        };
        if let Some((parent, _)) = track.parent {
            self.introduce(parent);
        }
        let process = track.pid.map(|pid| ProcessDescriptor {
            pid: Some(pid),
            process_name: Some(track.name.clone()),
        });
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            child_ordering: process.is_some().then_some(BY_RANK),
            name: process.is_none().then_some(track.name),
            process,
            parent_uuid: track.parent.map(|(uuid, _)| uuid),
            sibling_order_rank: track.parent.map(|(_, rank)| rank),
            counter: track
                .unit
                .map(|unit| CounterDescriptor { unit: Some(unit) }),
        };
        self.write(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
    }

    /// Writes an event of a track at a time in nanoseconds, unless the file is full; returns whether it was
    /// written.
    pub fn event(&mut self, track: u64, time_ns: u64, what: &TrackEventKind) -> bool {
        self.introduce(track);
        let mut interned = InternedData::default();
        let mut event = TrackEvent {
            track_uuid: Some(track),
            ..TrackEvent::default()
        };
        match what {
            TrackEventKind::Begin(slice) => {
                self.describe(slice, &mut event, &mut interned);
                event.set_type(EventType::SliceBegin);
            }
            TrackEventKind::Instant(slice) => {
                self.describe(slice, &mut event, &mut interned);
                event.set_type(EventType::Instant);
            }
            TrackEventKind::End => event.set_type(EventType::SliceEnd),
            TrackEventKind::Count(value) => {
                event.counter_value = Some(*value);
                event.set_type(EventType::Counter);
            }
        }
        let written = self.write(TracePacket {
            timestamp: Some(time_ns),
            track_event: Some(event),
            interned_data: (interned != InternedData::default()).then_some(interned),
            ..TracePacket::default()
        });
        match what {
            TrackEventKind::Begin(_) if written => self.open += 1,
            TrackEventKind::End => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        written
    }

    fn describe(&mut self, slice: &Slice, event: &mut TrackEvent, interned: &mut InternedData) {
        if slice.which.is_empty() {
            event.name_iid = Some(self.names.number(&slice.name, &mut interned.event_names));
        } else {
            event.name = Some(format!("{} {}", slice.name, slice.which));
        }
        let added = &mut interned.event_categories;
        event.category_iids = vec![self.categories.number(slice.category, added)];
        for (name, value) in &slice.notes {
            let added = &mut interned.debug_annotation_names;
            let mut note = DebugAnnotation {
                name_iid: Some(self.notes.number(name, added)),
                ..DebugAnnotation::default()
            };
            match value {
                AnnotationValue::Number(number) => note.uint_value = Some(*number),
                AnnotationValue::Address(address) => note.pointer_value = Some(*address),
            }
            event.debug_annotations.push(note);
        }
        event.flow_ids.extend(slice.flow);
    }

    /// Writes a packet if it fits; returns whether it did. Ends of slices always fit.
    fn write(&mut self, mut packet: TracePacket) -> bool {
        let first = self.written_bytes == 0;
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.sequence_flags = Some(NEEDS_INTERNED | if first { CLEARED } else { 0 });
        let ends = |event: &TrackEvent| event.r#type() == EventType::SliceEnd;
        let needed = !packet.track_event.as_ref().is_some_and(ends);
        let bytes = Trace {
            packet: vec![packet],
        }
        .encode_to_vec();
        let kept_free = (self.open + 1) * END_BYTES + REMARK_BYTES;
        let end = self.written_bytes + bytes.len() as u64;
        if needed && (self.full || end + kept_free > self.limit_bytes) {
            self.full = true;
            return false;
        }
        self.write_bytes(&bytes);
        true
    }

    /// The first error is reported at the end; nothing is written after it.
    fn write_bytes(&mut self, bytes: &[u8]) {
        self.written_bytes += bytes.len() as u64;
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
    }

    /// Writes a final remark, for which space is reserved.
    pub fn remark(&mut self, time_ns: u64, text: String) {
        self.full = false;
        self.limit_bytes = u64::MAX;
        let track = self.add(Introduction {
            name: "timeline".into(),
            ..Introduction::default()
        });
        self.event(
            track,
            time_ns,
            &TrackEventKind::Instant(Slice::new("timeline", text)),
        );
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// The first error.
    pub fn finish(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}
