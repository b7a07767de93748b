//! Reader of trace files.

use std::io::Read;

use super::chunk::{Chunk, ChunkKind, ChunkReader};
use super::codec::SourceState;
use super::error::TraceFileError;
use super::header::{End, Header};
use crate::event::TraceEvent;
use crate::names::Boards;

/// A trace file whose header has been read.
#[derive(Debug)]
pub struct TraceReader<R> {
    /// Description of the run.
    pub header: Header,
    boards: Boards,
    chunks: ChunkReader<R>,
}

impl<R: Read> TraceReader<R> {
    /// Starts reading; `source` should be buffered. It may be a pipe. `boards` has the names of all types of boards.
    ///
    /// # Errors
    /// If it is no trace file, has another version, or its header is cut off or damaged.
    pub fn new(source: R, boards: Boards) -> Result<Self, TraceFileError> {
        let mut chunks = ChunkReader::new(source)?;
        let first = chunks.next_chunk()?;
        if first.is_none_or(|chunk| chunk.kind != ChunkKind::HEADER) {
            return Err(chunks.damaged("no header"));
        }
        let header = json(&mut chunks)?;
        Ok(Self {
            header,
            boards,
            chunks,
        })
    }

    /// Iterates over all events.
    pub fn into_events(self) -> Events<R> {
        Events {
            chunks: self.chunks,
            bytes: Vec::new(),
            at: 0,
            left: 0,
            state: SourceState::new(self.header.place_names(self.boards)),
            end: None,
            over: false,
        }
    }

    /// The chunks, for data other than events.
    pub fn into_chunks(self) -> ChunkReader<R> {
        self.chunks
    }
}

fn json<R: Read, T: serde::de::DeserializeOwned>(
    chunks: &mut ChunkReader<R>,
) -> Result<T, TraceFileError> {
    let mut bytes = Vec::new();
    chunks.read_bytes(&mut bytes)?;
    serde_json::from_slice(&bytes).map_err(|_| chunks.damaged("a text that says nothing"))
}

/// The events of a file, in file order. No events follow an error.
pub struct Events<R> {
    chunks: ChunkReader<R>,
    bytes: Vec<u8>,
    at: usize,
    /// Events of the current chunk that were not read yet.
    left: u64,
    state: SourceState,
    end: Option<End>,
    over: bool,
}

impl<R> std::fmt::Debug for Events<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events")
            .field("left", &self.left)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl<R: Read> Events<R> {
    /// The end chunk, after all events have been read.
    #[must_use]
    pub const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Moves to the next selected chunk; `false` at the end.
    fn next_chunk(&mut self, wants: impl Fn(&Chunk) -> bool) -> Result<bool, TraceFileError> {
        while let Some(chunk) = self.chunks.next_chunk()? {
            match chunk.kind {
                ChunkKind::EVENTS if wants(&chunk) => {
                    self.chunks.read_bytes(&mut self.bytes)?;
                    self.state.begin(chunk.first);
                    (self.at, self.left) = (0, chunk.count);
                    return Ok(true);
                }
                ChunkKind::END => self.end = Some(json(&mut self.chunks)?),
                // Chunks of other tools.
                _ => {}
            }
        }
        Ok(false)
    }

    /// The next event in a chunk that `wants` selects; `None` at the end.
    ///
    /// # Errors
    /// If the file is cut off or damaged there. No events follow the error.
    pub fn next_of(
        &mut self,
        wants: impl Fn(&Chunk) -> bool,
    ) -> Result<Option<TraceEvent>, TraceFileError> {
        if self.over {
            return Ok(None);
        }
        let read = self.read(wants);
        self.over = !matches!(read, Ok(Some(_)));
        read
    }

    fn read(
        &mut self,
        wants: impl Fn(&Chunk) -> bool,
    ) -> Result<Option<TraceEvent>, TraceFileError> {
        while self.left == 0 {
            if !self.next_chunk(&wants)? {
                return Ok(None);
            }
        }
        let mut rest = &self.bytes[self.at..];
        let event = self.state.event(&mut rest);
        let event = event.ok_or_else(|| self.chunks.damaged("an event that cannot be"))?;
        self.at = self.bytes.len() - rest.len();
        self.left -= 1;
        if self.left == 0 && !rest.is_empty() {
            return Err(self.chunks.damaged("more bytes than events"));
        }
        Ok(Some(event))
    }
}

impl<R: Read> Iterator for Events<R> {
    type Item = Result<TraceEvent, TraceFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_of(|_| true).transpose()
    }
}
