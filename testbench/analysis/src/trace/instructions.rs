//! Listing of the instructions in a trace file.

use std::collections::BTreeMap;
use std::io::Read;

use emulator::boards::BOARD_NAMES;
use emulator::image::Symbols;
use emulator::observe::event::Place;
use emulator::observe::file::{Chunk, ChunkKind, ChunkReader, Header, TraceFileError, TraceReader};
use emulator::observe::instructions::decode::{DecodeError, Decoder};
use emulator::observe::instructions::steps::{Action, Executed, Steps};
use emulator::observe::names::{BoardNames, NO_BOARD};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::{ClockDomain, SimTime};

/// Selection of instructions.
#[derive(Debug, Clone, Copy)]
pub struct InstructionSelection {
    /// This node only.
    pub place: Option<Place>,
    /// This CPU only (0 = A, 1 = B).
    pub cpu: Option<usize>,
    /// From this time on.
    pub from: SimTime,
    /// Before this time.
    pub until: SimTime,
}

/// A CPU of a node.
type CpuKey = (u16, usize);

/// State of one CPU's stream.
#[derive(Debug, Default)]
struct Core {
    decoder: Decoder,
    steps: Steps,
}

/// A line: time, CPU, and text.
type InstructionRow = (SimTime, CpuKey, String);

/// Lists the instructions of a file.
pub struct Listing<'a> {
    header: &'a Header,
    wanted: InstructionSelection,
    cores: BTreeMap<CpuKey, Core>,
    /// Lines of a part of the file at whose end all CPUs have reached one time.
    part: Vec<InstructionRow>,
    seen: Vec<CpuKey>,
}

impl<'a> Listing<'a> {
    /// Creates the listing of a file with this header.
    #[must_use]
    pub const fn new(header: &'a Header, wanted: InstructionSelection) -> Self {
        Self {
            header,
            wanted,
            cores: BTreeMap::new(),
            part: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Passes the lines of all selected instructions to `show`, sorted by time; stops when `show` returns
    /// `false`.
    ///
    /// # Errors
    /// If the file is cut off or damaged.
    pub fn show<R: Read>(
        &mut self,
        mut chunks: ChunkReader<R>,
        mut show: impl FnMut(&str) -> bool,
    ) -> Result<(), TraceFileError> {
        let read = self.read_all(&mut chunks, &mut show);
        self.end_part(&mut show);
        read
    }

    fn read_all<R: Read>(
        &mut self,
        chunks: &mut ChunkReader<R>,
        show: &mut impl FnMut(&str) -> bool,
    ) -> Result<(), TraceFileError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.next_chunk()? {
            let Some(key) = self.wanted_core(&chunk) else {
                continue;
            };
            if self.seen.contains(&key) && !self.end_part(show) {
                return Ok(());
            }
            self.seen.push(key);
            chunks.read_bytes(&mut bytes)?;
            self.read(key, &bytes)?;
        }
        Ok(())
    }

    fn wanted_core(&self, chunk: &Chunk) -> Option<CpuKey> {
        let (Some(Place::Node(node)), Some(cpu)) = (chunk.place, chunk.cpu) else {
            return None;
        };
        let key = (node, usize::from(cpu));
        let of_node = self
            .wanted
            .place
            .is_none_or(|wanted| chunk.place == Some(wanted));
        let of_cpu = self.wanted.cpu.is_none_or(|wanted| wanted == key.1);
        let in_time = chunk.first < self.wanted.until;
        (chunk.kind == ChunkKind::INSTRUCTIONS && of_node && of_cpu && in_time).then_some(key)
    }

    fn end_part(&mut self, show: &mut impl FnMut(&str) -> bool) -> bool {
        self.seen.clear();
        self.part.sort_by_key(|row| (row.0, row.1));
        self.part.drain(..).all(|(_, _, line)| show(&line))
    }

    /// Reads a chunk of a CPU.
    fn read(&mut self, key: CpuKey, bytes: &[u8]) -> Result<(), DecodeError> {
        let node = self.header.nodes.get(usize::from(key.0));
        let names = node.map_or(&NO_BOARD, |node| node.names(BOARD_NAMES));
        let image = node.and_then(|node| node.image(key.1));
        let image = image.and_then(|image| self.header.images.get(image));
        let symbols = image.map(|image| &image.table.symbols);
        let Self {
            cores,
            wanted,
            part,
            ..
        } = self;
        let Core { decoder, steps } = cores.entry(key).or_default();
        decoder.decode(bytes, |record| {
            let action = steps.follow(record);
            let start = match action {
                Some(Action::Executed(step)) => step.start,
                Some(Action::Rounds { start, .. }) => start,
                Some(Action::Probe { .. }) | None => return,
            };
            let time = ClockDomain::new(steps.ticks_per_second().max(1)).time_of(start);
            if (wanted.from..wanted.until).contains(&time) {
                let text = text(action, steps, key.1, names, symbols);
                part.push((time, key, line(time, key, names, &text)));
            }
        })
    }
}

fn line(time: SimTime, (node, cpu): CpuKey, names: &BoardNames, text: &str) -> String {
    let (us, rest) = (time.ps() / 1_000_000, time.ps() % 1_000_000);
    let block = names.initiator(Initiator::Cpu(cpu as u8));
    format!("{us:>10}.{rest:06} n{node} {block:<9} {text}\n")
}

fn text(
    action: Option<Action>,
    steps: &Steps,
    cpu: usize,
    names: &BoardNames,
    symbols: Option<&Symbols>,
) -> String {
    match action {
        Some(Action::Executed(Executed { pc, .. })) => {
            let word = steps.word(pc);
            let instruction = word.zip(names.architecture);
            let instruction = instruction.map_or("?".into(), |(word, architecture)| {
                architecture.disassemble(word, pc)
            });
            let who = Initiator::Cpu(cpu as u8);
            let place = symbols.map(|symbols| symbols.describe_for(who, pc));
            let place = place.unwrap_or_default();
            format!("{pc:#08x} {instruction:<28} {place}")
                .trim_end()
                .to_owned()
        }
        Some(Action::Rounds {
            instructions,
            rounds,
            ..
        }) => format!("(idle: {rounds} times the last {instructions} instructions)"),
        _ => String::new(),
    }
}

/// Separates the chunks of a file from its header.
#[must_use]
pub fn split<R: Read>(trace: TraceReader<R>) -> (Header, ChunkReader<R>) {
    (trace.header.clone(), trace.into_chunks())
}
