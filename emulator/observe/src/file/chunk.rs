//! The container of a trace file: magic, version, chunks, end.
//!
//! A chunk has a fixed header, so that a reader can skip the chunk: kind, times, count, and the kinds of
//! events, initiators and places that occur in it. Its bytes may be compressed (LZ4). Header and bytes have
//! one checksum each.

use std::io::{self, BufWriter, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::codec::{numbered_place, place_number};
use super::error::TraceFileError;
use super::header::{End, Header};
use crate::event::Place;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;

/// Magic bytes of a trace file. They detect a transfer in text mode.
pub const MAGIC: [u8; 8] = *b"\x89LANTR\r\n";
/// The version of the format.
pub(super) const VERSION: u32 = 1;
/// Size of a chunk's fixed header.
pub(super) const FORM_BYTES: usize = 68;
/// Longest accepted chunk; a reader holds it in memory.
pub const MOST_CHUNK_BYTES: usize = 1 << 26;
/// Size of the write buffer.
const BUFFER_BYTES: usize = 1 << 18;

/// Flag of a chunk: its contents are compressed.
const COMPRESSED: u8 = 1;
/// CPU number of a chunk without a CPU.
const NO_CPU: u8 = 0xFF;

/// Kind of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkKind(pub [u8; 4]);

impl ChunkKind {
    /// The [`Header`]: the first chunk.
    pub const HEADER: Self = Self(*b"HEAD");
    /// Events.
    pub const EVENTS: Self = Self(*b"EVNT");
    /// Instructions that one CPU executed.
    pub const INSTRUCTIONS: Self = Self(*b"INST");
    /// The [`End`]: the last chunk.
    pub const END: Self = Self(*b"TAIL");
}

/// Header of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Kind of the chunk.
    pub kind: ChunkKind,
    /// Place, if the chunk belongs to one place.
    pub place: Option<Place>,
    /// CPU of the place (0 = A, 1 = B), if the chunk belongs to one CPU.
    pub cpu: Option<u8>,
    /// Time of the first entry.
    pub first: SimTime,
    /// Time of the last entry.
    pub last: SimTime,
    /// Number of entries.
    pub count: u64,
    /// Bit n: an event of kind n occurs.
    pub kinds: u64,
    /// Bit n: a place with number n modulo 64 occurs (nodes are even, switches odd).
    pub places: u64,
    /// Bit n: an event of initiator n occurs; bit 15: one with a larger number.
    pub initiators: u16,
    /// Whether the bytes are compressed, or are to be.
    pub compressed: bool,
}

impl Chunk {
    /// An empty chunk of this kind.
    #[must_use]
    pub const fn new(kind: ChunkKind) -> Self {
        Self {
            kind,
            place: None,
            cpu: None,
            first: SimTime::ZERO,
            last: SimTime::ZERO,
            count: 0,
            kinds: 0,
            places: 0,
            initiators: 0,
            compressed: false,
        }
    }

    /// The bit of a place in [`Chunk::places`].
    #[must_use]
    pub const fn place_bit(place: Place) -> u64 {
        1 << (place_number(place) % 64)
    }

    /// The bit of an initiator in [`Chunk::initiators`].
    #[must_use]
    pub const fn initiator_bit(initiator: Initiator) -> u16 {
        match initiator.number() {
            number @ 0..15 => 1 << number,
            _ => 1 << 15,
        }
    }

    fn form(&self, bytes: &[u8], length: usize) -> [u8; FORM_BYTES] {
        let mut form = Vec::with_capacity(FORM_BYTES);
        form.extend_from_slice(&self.kind.0);
        form.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        form.extend_from_slice(&(length as u32).to_le_bytes());
        form.push(if self.compressed { COMPRESSED } else { 0 });
        form.push(self.cpu.unwrap_or(NO_CPU));
        let place = self.place.map_or(0, |place| place_number(place) as u32 + 1);
        form.extend_from_slice(&place.to_le_bytes());
        form.extend_from_slice(&self.initiators.to_le_bytes());
        let (first, last) = (self.first.ps(), self.last.ps());
        for word in [first, last, self.count, self.kinds, self.places] {
            form.extend_from_slice(&word.to_le_bytes());
        }
        form.extend_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        let sum = crc32fast::hash(&form);
        form.extend_from_slice(&sum.to_le_bytes());
        let mut fixed = [0; FORM_BYTES];
        fixed.copy_from_slice(&form);
        fixed
    }
}

/// Lengths and checksum in a chunk header.
#[derive(Debug, Clone, Copy)]
struct Stored {
    stored_bytes: usize,
    bytes: usize,
    sum: u32,
}

/// Parses a header with a correct checksum; `None` if it is invalid nevertheless.
fn parse(form: &[u8; FORM_BYTES]) -> Option<(Chunk, Stored)> {
    let half = |at: usize| form[at..at + 2].try_into().ok().map(u16::from_le_bytes);
    let word = |at: usize| form[at..at + 4].try_into().ok().map(u32::from_le_bytes);
    let double = |at: usize| form[at..at + 8].try_into().ok().map(u64::from_le_bytes);
    let stored = Stored {
        stored_bytes: word(4)? as usize,
        bytes: word(8)? as usize,
        sum: word(60)?,
    };
    let most = stored.stored_bytes.max(stored.bytes);
    if most > MOST_CHUNK_BYTES || form[12] > COMPRESSED {
        return None;
    }
    let chunk = Chunk {
        kind: ChunkKind(form[..4].try_into().ok()?),
        place: match word(14)? {
            0 => None,
            number => Some(numbered_place(u64::from(number) - 1)?),
        },
        cpu: Some(form[13]).filter(|&cpu| cpu != NO_CPU),
        first: SimTime::from_ps(double(20)?),
        last: SimTime::from_ps(double(28)?),
        count: double(36)?,
        kinds: double(44)?,
        places: double(52)?,
        initiators: half(18)?,
        compressed: form[12] == COMPRESSED,
    };
    Some((chunk, stored))
}

/// Output file, and the number of its writers.
struct Shared {
    out: BufWriter<Box<dyn Write + Send>>,
    writers: usize,
    end: End,
    buffer: Vec<u8>,
    /// A write failed: nothing more is written, because data after a gap is useless.
    failed: bool,
}

/// Writes chunks. Several observers can write into one file ([`ChunkWriter::share`]); the last one to
/// finish writes the end.
pub struct ChunkWriter(Arc<Mutex<Shared>>);

impl std::fmt::Debug for ChunkWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkWriter").finish_non_exhaustive()
    }
}

impl ChunkWriter {
    /// Starts a file on `out`, which need not be buffered.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: Box<dyn Write + Send>, header: &Header) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        let writer = Self(Arc::new(Mutex::new(Shared {
            out,
            writers: 1,
            end: End::default(),
            buffer: Vec::new(),
            failed: false,
        })));
        let chunk = Chunk {
            compressed: true,
            ..Chunk::new(ChunkKind::HEADER)
        };
        writer.chunk(&chunk, &serde_json::to_vec(header)?)?;
        Ok(writer)
    }

    /// Creates another writer for the file. Both must [`finish`](Self::finish).
    #[must_use]
    pub fn share(&self) -> Self {
        self.with(|shared| shared.writers += 1);
        Self(Arc::clone(&self.0))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes a chunk atomically, from any thread; chunks are in the order of the calls.
    ///
    /// # Errors
    /// If this or an earlier write failed.
    pub fn chunk(&self, chunk: &Chunk, bytes: &[u8]) -> io::Result<()> {
        self.with(|shared| shared.chunk(chunk, bytes))
    }

    /// Ends this writer; `add` contributes to the end chunk.
    ///
    /// # Errors
    /// If the end cannot be written.
    pub fn finish(self, add: impl FnOnce(&mut End)) -> io::Result<()> {
        self.with(|shared| {
            add(&mut shared.end);
            shared.writers -= 1;
            if shared.writers > 0 {
                return Ok(());
            }
            let end = serde_json::to_vec(&shared.end)?;
            shared.chunk(&Chunk::new(ChunkKind::END), &end)?;
            shared.out.flush()
        })
    }
}

impl Shared {
    fn chunk(&mut self, chunk: &Chunk, bytes: &[u8]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier part could not be written"));
        }
        if bytes.len() > MOST_CHUNK_BYTES {
            return Err(io::Error::other("a chunk that is too long"));
        }
        let mut chunk = *chunk;
        if chunk.compressed {
            let most = lz4_flex::block::get_maximum_output_size(bytes.len());
            self.buffer.resize(most, 0);
            let length = lz4_flex::block::compress_into(bytes, &mut self.buffer);
            let length = length.map_err(io::Error::other)?;
            self.buffer.truncate(length);
            chunk.compressed = length < bytes.len();
        }
        let stored = match chunk.compressed {
            true => &self.buffer[..],
            false => bytes,
        };
        let form = chunk.form(stored, bytes.len());
        let written = self.out.write_all(&form);
        let written = written.and_then(|()| self.out.write_all(stored));
        self.failed = written.is_err();
        written
    }
}

/// Reads chunks, from a file or a pipe.
#[derive(Debug)]
pub struct ChunkReader<R> {
    source: R,
    /// Position of the last chunk that was read.
    at: u64,
    /// Bytes of that chunk that were not read yet.
    pending: Option<(Chunk, Stored)>,
    ended: bool,
    whole_until: SimTime,
    events: u64,
    buffer: Vec<u8>,
}

impl<R: Read> ChunkReader<R> {
    /// Starts reading; `source` should be buffered.
    ///
    /// # Errors
    /// If it is no trace file, or has another version.
    pub fn new(source: R) -> Result<Self, TraceFileError> {
        let mut reader = Self {
            source,
            at: 0,
            pending: None,
            ended: false,
            whole_until: SimTime::ZERO,
            events: 0,
            buffer: Vec::new(),
        };
        let mut start = [0; MAGIC.len() + 4];
        let length = reader.fill(&mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        let marked = length.min(MAGIC.len());
        if magic[..marked] != MAGIC[..marked] {
            return Err(TraceFileError::Foreign);
        }
        if length < start.len() {
            return Err(reader.truncated());
        }
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(TraceFileError::Version(version));
        }
        reader.at = start.len() as u64;
        Ok(reader)
    }

    /// Reads up to the end of `bytes` or of the source.
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while length < bytes.len() {
            match self.source.read(&mut bytes[length..]) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }

    const fn truncated(&self) -> TraceFileError {
        TraceFileError::Truncated {
            whole_until: self.whole_until,
            events: self.events,
        }
    }

    /// An error for damaged data.
    pub(super) const fn damaged(&self, what: &'static str) -> TraceFileError {
        TraceFileError::Damaged {
            at: self.at,
            what,
            whole_until: self.whole_until,
            events: self.events,
        }
    }

    /// The header of the next chunk; `None` after the end. Unread bytes of the previous chunk are skipped.
    ///
    /// # Errors
    /// If the file is cut off or damaged there.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, TraceFileError> {
        self.pass_by()?;
        let mut form = [0; FORM_BYTES];
        let length = self.fill(&mut form)?;
        match (length, self.ended) {
            (0, true) => return Ok(None),
            (_, true) => return Err(self.damaged("something follows the end")),
            (FORM_BYTES, false) => {}
            _ => return Err(self.truncated()),
        }
        let (said, sum) = form.split_at(FORM_BYTES - 4);
        if crc32fast::hash(said).to_le_bytes() != sum {
            return Err(self.damaged("a wrong checksum"));
        }
        let parsed = parse(&form).ok_or_else(|| self.damaged("a chunk that cannot be"))?;
        self.ended = parsed.0.kind == ChunkKind::END;
        self.pending = Some(parsed);
        Ok(Some(parsed.0))
    }

    fn pass_by(&mut self) -> Result<(), TraceFileError> {
        let Some((chunk, stored)) = self.pending.take() else {
            return Ok(());
        };
        let length = stored.stored_bytes as u64;
        let passed = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
        if passed < length {
            return Err(self.truncated());
        }
        self.passed(&chunk, stored);
        Ok(())
    }

    fn passed(&mut self, chunk: &Chunk, stored: Stored) {
        self.at += (FORM_BYTES + stored.stored_bytes) as u64;
        if chunk.kind == ChunkKind::EVENTS {
            self.events += chunk.count;
            self.whole_until = self.whole_until.max(chunk.last);
        }
    }

    /// Reads the bytes of the chunk whose header was read last.
    ///
    /// # Errors
    /// If the file is cut off or damaged there.
    pub fn read_bytes(&mut self, bytes: &mut Vec<u8>) -> Result<(), TraceFileError> {
        bytes.clear();
        let Some((chunk, stored)) = self.pending.take() else {
            return Ok(());
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let length = stored.stored_bytes;
        let mut limited = self.source.by_ref().take(length as u64);
        if limited.read_to_end(&mut buffer)? < length {
            return Err(self.truncated());
        }
        if crc32fast::hash(&buffer) != stored.sum {
            return Err(self.damaged("a wrong checksum"));
        }
        if chunk.compressed {
            bytes.resize(stored.bytes, 0);
            let unpacked = lz4_flex::block::decompress_into(&buffer, bytes);
            if unpacked.ok() != Some(stored.bytes) {
                return Err(self.damaged("compressed bytes that are none"));
            }
            self.buffer = buffer;
        } else {
            self.buffer = std::mem::replace(bytes, buffer);
        }
        self.passed(&chunk, stored);
        Ok(())
    }
}
