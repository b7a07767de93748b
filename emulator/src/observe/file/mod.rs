//! The trace file: what happened in a run, in a compact form that says what was run.
//!
//! A file is a [container](chunk) of chunks, each complete in itself and with a checksum: a [`Header`], chunks
//! of events (and of what other tools record), and an [`End`]. A file without an end is whole up to its last
//! chunk. [`BinaryTrace`] writes it, [`TraceReader`] reads it; `docs/trace.md` describes every byte.

mod bytes;
pub mod chunk;
mod codec;
mod error;
mod header;
mod kinds;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use chunk::{Chunk, ChunkKind, ChunkReader, ChunkWriter};
pub use error::TraceFileError;
pub use header::{End, Header, ImageInfo, NodeInfo};
pub use kinds::{KIND_NAMES, fields_by_name, kind_code};
pub use reader::{Events, TraceReader};
pub use writer::{BinaryTrace, Results};
