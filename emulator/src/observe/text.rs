//! A trace as text: a line for each event, in the order of time over all nodes, written while the run
//! goes on.

use std::io::{self, BufWriter, Write};

use super::event::{Place as Source, TraceEvent};
use super::line::Line;
use super::tracer::Tracer;
use crate::sim::time::SimTime;

/// Where a line stands in its text, and its place in the order.
#[derive(Debug, Clone, Copy)]
struct Place {
    time: SimTime,
    source: Source,
    start: usize,
    end: usize,
}

/// Lines in the order of their times; those of the same time as they were recorded.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: Vec<u8>,
    places: Vec<Place>,
}

impl Lines {
    /// Adds the line of an event.
    pub(super) fn push(&mut self, event: &TraceEvent) {
        let start = self.text.len();
        event.write(&mut Line::new(&mut self.text));
        self.text.push(b'\n');
        let place = Place {
            time: event.time,
            source: event.place,
            start,
            end: self.text.len(),
        };
        // A few events are recorded ahead of their time.
        let earlier = |other: &Place| other.time <= place.time;
        let at = self.places.iter().rposition(earlier);
        self.places.insert(at.map_or(0, |at| at + 1), place);
    }

    /// Moves all lines of `other` to the end.
    fn append(&mut self, other: &mut Self) {
        let moved_by = self.text.len();
        self.text.extend_from_slice(&other.text);
        self.places.extend(other.places.iter().map(|line| Place {
            start: line.start + moved_by,
            end: line.end + moved_by,
            ..*line
        }));
        other.text.clear();
        other.places.clear();
    }
}

/// Writes the traces of nodes and switches to one file, ordered by time, then by place, then as recorded.
///
/// Nodes run apart, and some events are recorded ahead of their time: lines wait until no earlier
/// one can come.
pub struct TraceWriter {
    out: BufWriter<Box<dyn Write + Send>>,
    waiting: Lines,
    error: Option<io::Error>,
}

impl std::fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceWriter")
            .field("waiting", &self.waiting.places.len())
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 16;

impl TraceWriter {
    /// Writes to `out`; it need not be buffered.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            waiting: Lines::default(),
            error: None,
        }
    }

    /// Writes what `traces` have recorded of the time before `time`, when they all have come so far.
    /// Only traces with [`Tracer::keep_lines`] have lines. The first error is kept for
    /// [`TraceWriter::finish`]; nothing is written after it.
    pub fn write_before<'a>(
        &mut self,
        time: SimTime,
        traces: impl IntoIterator<Item = &'a mut Tracer>,
    ) {
        for lines in traces.into_iter().filter_map(Tracer::lines_mut) {
            self.waiting.append(lines);
        }
        // Stable: what a place has recorded for the same time keeps its order.
        self.waiting
            .places
            .sort_by_key(|line| (line.time, line.source));
        let due = self.waiting.places.partition_point(|line| line.time < time);
        let mut later = Lines::default();
        for (index, line) in self.waiting.places.iter().enumerate() {
            let text = &self.waiting.text[line.start..line.end];
            if index < due {
                if self.error.is_none() {
                    self.error = self.out.write_all(text).err();
                }
            } else {
                let start = later.text.len();
                later.text.extend_from_slice(text);
                let end = later.text.len();
                later.places.push(Place {
                    start,
                    end,
                    ..*line
                });
            }
        }
        self.waiting = later;
    }

    /// Writes everything that is left.
    ///
    /// # Errors
    /// The first error of all that was written.
    pub fn finish<'a>(
        mut self,
        traces: impl IntoIterator<Item = &'a mut Tracer>,
    ) -> io::Result<()> {
        self.write_before(SimTime::MAX, traces);
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}
