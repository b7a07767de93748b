//! A timeline as decoded by Perfetto. Reading detects all errors of a file.

use std::collections::{BTreeMap, BTreeSet};

use lanigon_timeline::proto::{EventType, Trace, TrackEvent};
use prost::Message;

/// A slice, or an instant (duration 0).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// `node 0 / CPU A`.
    pub track: String,
    /// Name of the slice.
    pub name: String,
    /// Category of the slice.
    pub category: String,
    /// Start and end, in nanoseconds.
    pub span_ns: [u64; 2],
    /// Number of enclosing slices.
    pub depth: usize,
    /// Flow through it.
    pub flow: Option<u64>,
}

/// A complete timeline.
#[derive(Debug, Default)]
pub struct Timeline {
    /// All slices and instants, in file order.
    pub slices: Vec<Slice>,
    /// Values of counters: track, time, value.
    pub counts: Vec<(String, u64, i64)>,
    /// All tracks, in Perfetto's order within a process.
    pub tracks: BTreeMap<(String, i32), String>,
}

#[derive(Default)]
struct Reader {
    names: [BTreeMap<u64, String>; 3],
    tracks: BTreeMap<u64, String>,
    counters: BTreeSet<u64>,
    open: BTreeMap<u64, Vec<usize>>,
    last_ns: BTreeMap<u64, u64>,
    read: Timeline,
}

/// Reads a file.
pub fn read(bytes: &[u8]) -> Timeline {
    let trace = Trace::decode(bytes).unwrap();
    assert_eq!(
        trace.encode_to_vec(),
        bytes,
        "nothing but what the schema has"
    );
    let mut reader = Reader::default();
    for packet in trace.packet {
        if let Some(data) = packet.interned_data {
            let texts = [
                data.event_names,
                data.event_categories,
                data.debug_annotation_names,
            ];
            for (into, texts) in reader.names.iter_mut().zip(texts) {
                for text in texts {
                    let before = into.insert(text.iid(), text.name().to_owned());
                    assert_eq!(before, None);
                }
            }
        }
        if let Some(track) = packet.track_descriptor {
            let name = match &track.process {
                Some(process) => process.process_name().to_owned(),
                None => match track.parent_uuid {
                    Some(parent) => {
                        let process = reader.tracks[&parent].clone();
                        let place = (process.clone(), track.sibling_order_rank());
                        let other = reader.read.tracks.insert(place, track.name().to_owned());
                        assert_eq!(other, None, "two tracks in one place");
                        format!("{process} / {}", track.name())
                    }
                    None => track.name().to_owned(),
                },
            };
            if track.counter.is_some() {
                reader.counters.insert(track.uuid());
            }
            assert_eq!(reader.tracks.insert(track.uuid(), name), None);
        }
        if let Some(event) = packet.track_event {
            reader.event(packet.timestamp.unwrap(), &event);
        }
    }
    for (track, open) in &reader.open {
        assert!(open.is_empty(), "never ends on {}", reader.tracks[track]);
    }
    reader.read
}

impl Reader {
    fn event(&mut self, time_ns: u64, event: &TrackEvent) {
        let uuid = event.track_uuid();
        let track = self.tracks[&uuid].clone();
        let last = self.last_ns.insert(uuid, time_ns);
        assert!(last <= Some(time_ns), "time goes back on {track}");
        let kind = event.r#type();
        assert_eq!(kind == EventType::Counter, self.counters.contains(&uuid));
        match kind {
            EventType::Counter => {
                let value = event.counter_value.unwrap();
                self.read.counts.push((track, time_ns, value));
            }
            EventType::SliceBegin | EventType::Instant => {
                let open = self.open.entry(uuid).or_default();
                let depth = open.len();
                if kind == EventType::SliceBegin {
                    open.push(self.read.slices.len());
                }
                for note in &event.debug_annotations {
                    assert!(self.names[2].contains_key(&note.name_iid()));
                }
                self.read.slices.push(Slice {
                    track,
                    name: match &event.name {
                        Some(name) => name.clone(),
                        None => self.names[0][&event.name_iid()].clone(),
                    },
                    category: self.names[1][&event.category_iids[0]].clone(),
                    span_ns: [time_ns; 2],
                    depth,
                    flow: event.flow_ids.first().copied(),
                });
            }
            EventType::SliceEnd => {
                let slice = self.open.get_mut(&uuid).and_then(Vec::pop);
                let slice = slice.unwrap_or_else(|| panic!("an end without a begin on {track}"));
                self.read.slices[slice].span_ns[1] = time_ns;
            }
            EventType::Unspecified => panic!("an event without a type"),
        }
    }
}

impl Timeline {
    /// Slices and instants of a track.
    pub fn on<'a>(&'a self, track: &'a str) -> impl Iterator<Item = &'a Slice> {
        self.slices.iter().filter(move |slice| slice.track == track)
    }

    /// Tracks of a message's flow, in the order of time, without consecutive duplicates.
    pub fn way(&self, flow: u64) -> Vec<&str> {
        let mut steps: Vec<_> = self
            .slices
            .iter()
            .filter(|slice| slice.flow == Some(flow))
            .collect();
        steps.sort_by_key(|slice| slice.span_ns[0]);
        let mut way: Vec<_> = steps
            .into_iter()
            .map(|slice| slice.track.as_str())
            .collect();
        way.dedup();
        way
    }
}
