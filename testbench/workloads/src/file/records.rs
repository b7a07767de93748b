//! Records of a node.

use emulator::value_struct;

/// Data of a region with a version, as one client wrote or read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// Number of the region.
    pub region: u32,
    /// Version of the region, even.
    pub version: u32,
    /// Name of the write whose data it is, 0 before the first one.
    pub tag: u32,
}

/// Number and time of the operations of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operations {
    /// Number of operations.
    pub count: u64,
    /// Sum of their times, in ps.
    pub total_ps: u64,
}

impl Operations {
    /// Adds an operation.
    pub(super) const fn add(&mut self, time_ps: u64) {
        self.count += 1;
        self.total_ps += time_ps;
    }
}

/// The records of a node: of a client, or of the server.
#[derive(Debug, Clone, Default)]
pub struct FileRecords {
    /// Begin of the first operation and end of the last one, in ps.
    pub span_ps: Option<(u64, u64)>,
    /// Reads.
    pub reads: Operations,
    /// Writes.
    pub writes: Operations,
    /// Reads that the client's cache has served.
    pub hits: u64,
    /// Reads that began again, since a write went on or came between.
    pub retries: u64,
    /// Attempts to take a lock that another client had.
    pub busy: u64,
    /// Data that the client wrote.
    pub written: Vec<Sighting>,
    /// Data that the client fetched.
    pub fetched: Vec<Sighting>,
    /// Defects that the node has seen: their number and the first one.
    pub defects: (u64, String),
    /// Requests that the server's process has served.
    pub served: u64,
    /// Time of the server's process for them, without its waits, in ps.
    pub served_ps: u64,
    /// The file at the end, at the server: each region's version and the write whose data it has.
    pub file: Vec<Sighting>,
}

impl FileRecords {
    /// Notes a defect.
    pub(super) fn defect(&mut self, text: String) {
        if self.defects.0 == 0 {
            self.defects.1 = text;
        }
        self.defects.0 += 1;
    }
}

value_struct!(Sighting {
    region: region,
    version: version,
    tag: tag
});
value_struct!(Operations {
    count: count,
    total_ps: total_ps
});
value_struct!(FileRecords {
    span_ps: span_ps,
    reads: reads,
    writes: writes,
    hits: hits,
    retries: retries,
    busy: busy,
    written: written,
    fetched: fetched,
    defects: defects,
    served: served,
    served_ps: served_ps,
    file: file
});
