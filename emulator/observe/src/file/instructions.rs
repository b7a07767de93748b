//! Writer of instruction logs into a trace file.

use std::collections::BTreeMap;
use std::io;

use super::chunk::{Chunk, ChunkKind, ChunkWriter};
use crate::event::{Place, TraceEvent};
use crate::instructions::InstructionLog;
use crate::instructions::encode::Encoder;
use crate::stream::Observer;
use emulator_base::time::{ClockDomain, SimTime};

/// Size of all CPUs' data before it is written: one chunk per CPU.
const PART_BYTES: usize = 1 << 18;

/// Pending data of one CPU.
#[derive(Debug, Default)]
struct Core {
    encoder: Encoder,
    instructions: u64,
    first: SimTime,
    last: SimTime,
}

/// Writes the instruction logs of all nodes' CPUs. The chunks of a CPU form one stream, to be read from its
/// start. Data between two chunks of one CPU is older than the second one.
#[derive(Debug)]
pub struct InstructionTrace {
    /// `None` after the end or a failure.
    chunks: Option<ChunkWriter>,
    cores: BTreeMap<(Place, usize), Core>,
    /// CPU of the last call.
    last: Option<(Place, usize)>,
    bytes: usize,
    error: Option<io::Error>,
}

impl InstructionTrace {
    /// Writes into a file that other observers may share.
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

    /// The first error is reported at the end; nothing is written after it.
    fn instructions(&mut self, place: Place, cpu: usize, log: &InstructionLog) {
        let key = Some((place, cpu));
        // Between two rounds through the CPUs, all logs end at the same time.
        if key <= self.last && self.bytes >= PART_BYTES {
            self.write_part();
        }
        self.last = key;
        if self.chunks.is_none() {
            return;
        }
        let core = self.cores.entry((place, cpu)).or_default();
        let before = core.encoder.bytes().len();
        core.instructions += core.encoder.add(log);
        self.bytes += core.encoder.bytes().len() - before;
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
