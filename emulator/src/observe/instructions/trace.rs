//! Writes every instruction into a trace file.

use std::collections::BTreeMap;
use std::io;

use super::encode::Encoder;
use super::{InstructionLog, Record};
use crate::observe::event::{Place, TraceEvent};
use crate::observe::file::{Chunk, ChunkKind, ChunkWriter};
use crate::observe::stream::Observer;
use crate::sim::time::{ClockDomain, SimTime};

/// Bytes of all CPUs that make a part of the file: one chunk for each CPU.
const PART_BYTES: usize = 1 << 18;

/// One CPU's part.
#[derive(Debug, Default)]
struct Core {
    encoder: Encoder,
    instructions: u64,
    first: SimTime,
    last: SimTime,
}

/// Writes what the CPUs of all nodes execute. The chunks of a CPU make one stream, to be read from the first on.
/// What stands between two chunks of the same CPU happened before what stands behind.
#[derive(Debug)]
pub struct InstructionTrace {
    /// `None` once it is finished, or has failed.
    chunks: Option<ChunkWriter>,
    cores: BTreeMap<(Place, usize), Core>,
    /// Whose records came last.
    last: Option<(Place, usize)>,
    bytes: usize,
    error: Option<io::Error>,
}

impl InstructionTrace {
    /// Writes into a file in which others may write too.
    #[must_use]
    pub const fn new(chunks: ChunkWriter) -> Self {
        Self {
            chunks: Some(chunks),
            cores: BTreeMap::new(),
            last: None,
            bytes: 0,
            error: None,
        }
    }

    fn write_part(&mut self) {
        for (&(place, cpu), core) in &mut self.cores {
            let bytes = core.encoder.bytes();
            if bytes.is_empty() {
                continue;
            }
            let chunk = Chunk {
                place: Some(place),
                cpu: Some(cpu as u8),
                first: core.first,
                last: core.last,
                count: core.instructions,
                places: Chunk::place_bit(place),
                compressed: true,
                ..Chunk::new(ChunkKind::INSTRUCTIONS)
            };
            if let Some(chunks) = &self.chunks
                && let Err(error) = chunks.chunk(&chunk, bytes)
            {
                self.error = Some(error);
                self.chunks = None;
            }
            core.encoder.clear();
            core.instructions = 0;
            core.first = core.last;
        }
        self.bytes = 0;
    }
}

impl Observer for InstructionTrace {
    fn event(&mut self, _: &TraceEvent) {}

    fn sees_instructions(&self) -> bool {
        true
    }

    /// The first error is kept for the end; nothing is written after it.
    fn instructions(&mut self, place: Place, cpu: usize, log: &InstructionLog) {
        let key = Some((place, cpu));
        // All have come equally far between two rounds through the CPUs.
        if key <= self.last && self.bytes >= PART_BYTES {
            self.write_part();
        }
        self.last = key;
        if self.chunks.is_none() {
            return;
        }
        let core = self.cores.entry((place, cpu)).or_default();
        let before = core.encoder.bytes().len();
        core.encoder.add(log.records());
        self.bytes += core.encoder.bytes().len() - before;
        let executed = |record: &&Record| matches!(record, Record::Executed { .. });
        core.instructions += log.records().iter().filter(executed).count() as u64;
        let clock = ClockDomain::new(log.ticks_per_second().max(1));
        core.last = clock.time_of(log.tick());
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_part();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match self.chunks.take() {
            Some(chunks) => chunks.finish(|_| ()),
            None => Ok(()),
        }
    }
}
