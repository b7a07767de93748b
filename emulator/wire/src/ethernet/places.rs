//! Places of the nodes, lines and switches of an Ethernet in its segments.

/// The segment of a line or switch, if it has nodes, and its place there.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentPlace {
    pub(super) segment: Option<usize>,
    pub(super) index: usize,
}

/// The places of everything in a network.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// For each segment, its nodes.
    pub(super) nodes: Vec<Vec<usize>>,
    /// For each node with a cable, its place in its segment.
    pub(super) members: Vec<usize>,
    pub(super) lines: Vec<SegmentPlace>,
    pub(super) switches: Vec<SegmentPlace>,
}
