//! The trace file: the events of a run in a compact binary form, with a description of the run.
//!
//! A file is a [container](chunk) of independent chunks with checksums: a [`Header`], chunks of events (and
//! of other tools' data), and an [`End`]. A file without an end is valid up to its last chunk.
//! [`BinaryTrace`] writes it, [`TraceReader`] reads it; `docs/trace.md` describes every byte.

mod bytes;
pub mod chunk;
mod codec;
mod error;
mod header;
mod instructions;
pub(crate) mod kinds;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use chunk::{Chunk, ChunkKind, ChunkReader, ChunkWriter};
pub use error::TraceFileError;
pub use header::{End, Header, ImageInfo, NodeInfo};
pub use instructions::InstructionTrace;
pub use kinds::{KIND_NAMES, ProbeKind, fields_by_name, kind_code};
pub use reader::{Events, TraceReader};
pub use writer::{BinaryTrace, Results};
