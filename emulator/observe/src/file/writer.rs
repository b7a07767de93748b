//! Writer of trace files.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::chunk::{Chunk, ChunkKind, ChunkWriter};
use super::codec::Sink;
use super::header::Header;
use super::kinds::kind_code;
use crate::event::{Details, TraceEvent};
use crate::stream::Observer;

/// Size of a chunk of events: large enough for compression, small enough to lose at a sudden end.
const CHUNK_BYTES: usize = 1 << 17;

/// Results of a run: set during the run, written at its end.
#[derive(Debug, Clone, Default)]
pub struct Results(Arc<Mutex<BTreeMap<String, String>>>);

impl Results {
    /// Sets a result.
    pub fn set(&self, name: &str, value: impl ToString) {
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        results.insert(name.into(), value.to_string());
    }
}

/// Observer that writes each event into a trace file.
#[derive(Debug)]
pub struct BinaryTrace {
    /// `None` after the end or a failure.
    chunks: Option<ChunkWriter>,
    sink: Sink,
    /// Header of the chunk in the sink.
    chunk: Chunk,
    events: u64,
    details: Details,
    results: Results,
    error: Option<io::Error>,
}

impl BinaryTrace {
    /// A trace file on `out`, which need not be buffered, with these details in addition to the events that
    /// are always recorded.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: Box<dyn Write + Send>, header: &Header, details: Details) -> io::Result<Self> {
        Ok(Self::into_chunks(ChunkWriter::new(out, header)?, details))
    }

    /// A trace into a file that other observers may share.
    #[must_use]
    pub fn into_chunks(chunks: ChunkWriter, details: Details) -> Self {
        Self {
            chunks: Some(chunks),
            sink: Sink::new(),
            chunk: Self::empty_chunk(),
            events: 0,
            details,
            results: Results::default(),
            error: None,
        }
    }

    /// Handle for setting results.
    #[must_use]
    pub fn results(&self) -> Results {
        self.results.clone()
    }

    const fn empty_chunk() -> Chunk {
        let mut chunk = Chunk::new(ChunkKind::EVENTS);
        chunk.compressed = true;
        chunk
    }

    fn write_chunk(&mut self) {
        let chunk = std::mem::replace(&mut self.chunk, Self::empty_chunk());
        if chunk.count > 0
            && let Some(chunks) = &self.chunks
            && let Err(error) = chunks.chunk(&chunk, &self.sink.bytes)
        {
            self.error = Some(error);
            self.chunks = None;
        }
    }
}

impl Observer for BinaryTrace {
    fn details(&self) -> Details {
        self.details
    }

    /// Writes an event. The first error is reported at the end; nothing is written after it.
    fn event(&mut self, event: &TraceEvent) {
        let details = event.kind.details();
        if self.chunks.is_none() || !self.details.contains(details) {
            return;
        }
        if self.chunk.count == 0 {
            self.sink.begin(event.time);
            self.chunk.first = event.time;
        }
        self.sink.event(event);
        self.events += 1;
        let chunk = &mut self.chunk;
        chunk.count += 1;
        chunk.last = event.time;
        chunk.kinds |= 1 << kind_code(&event.kind);
        chunk.places |= Chunk::place_bit(event.place);
        chunk.initiators |= Chunk::initiator_bit(event.initiator);
        if self.sink.bytes.len() >= CHUNK_BYTES {
            self.write_chunk();
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_chunk();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Some(chunks) = self.chunks.take() else {
            return Ok(());
        };
        let results = self.results.0.lock();
        let results = std::mem::take(&mut *results.unwrap_or_else(PoisonError::into_inner));
        chunks.finish(|end| {
            end.events += self.events;
            end.results.extend(results);
        })
    }
}
