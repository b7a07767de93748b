//! The part of Perfetto's trace format that a timeline needs: protocol buffers with the field numbers of
//! `perfetto_trace.proto`.

use prost::{Enumeration, Message};

/// A file. A concatenation of files is a file.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Packets of the file.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A packet: an event, or the description of a track.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Writer of the packet: interned texts belong to one writer.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Interned texts that this and later packets refer to by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`CLEARED`] or [`NEEDS_INTERNED`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// The description of a track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// [`TracePacket::sequence_flags`]: clears interned texts.
pub const CLEARED: u32 = 1;
/// [`TracePacket::sequence_flags`]: refers to interned texts.
pub const NEEDS_INTERNED: u32 = 2;

/// Type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// Not specified.
    Unspecified = 0,
    /// Begin of a slice.
    SliceBegin = 1,
    /// The innermost slice of the track ends.
    SliceEnd = 2,
    /// An event without duration.
    Instant = 3,
    /// A counter has a new value.
    Counter = 4,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Categories, by number.
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    /// Annotations.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Type of the event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Name, by number.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Name as text.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// A counter's value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Flows through the event.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
}

/// An annotation: name and value.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Name, by number.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// A number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// A number shown as an address.
    #[prost(uint64, optional, tag = "7")]
    pub pointer_value: Option<u64>,
}

/// Texts and their numbers.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Categories.
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedText>,
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedText>,
    /// Names of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedText>,
}

/// A text and its number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedText {
    /// The number.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name of the track.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process, for a process track.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// Parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// The counter, for a counter track.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// [`BY_RANK`]: children are sorted by rank.
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Rank among its siblings.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// [`TrackDescriptor::child_ordering`]: by rank.
pub const BY_RANK: i32 = 3;

/// A process: it represents a node or a switch.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Number.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// [`UNIT_COUNT`] or [`UNIT_BYTES`].
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
}

/// [`CounterDescriptor::unit`]: a count.
pub const UNIT_COUNT: i32 = 2;
/// [`CounterDescriptor::unit`]: bytes.
pub const UNIT_BYTES: i32 = 3;
