//! The trace file: the events of a run in a compact binary form, with a description of the run.
//!
//! A file is a [container](chunk) of independent chunks with checksums: a [`Header`], chunks of events (and
//! of other tools' data), and an [`End`]. A file without an end is valid up to its last chunk.
//! [`BinaryTrace`] writes it, [`TraceReader`] reads it.
//!
//! # Every byte
//!
//! All numbers of fixed size are little-endian. The file is
//!
//! ```text
//! 89 4c 41 4e 54 52 0d 0a    magic
//! u32                        version: 1
//! chunk, chunk, ...
//! ```
//!
//! The head of a chunk has 68 bytes:
//!
//! | bytes | meaning |
//! |--|--|
//! | 0..4 | kind: `HEAD` first, `EVNT` events, `INST` instructions of one CPU, `TAIL` last |
//! | 4..8, 8..12 | bytes that follow; bytes when decompressed (at most 64 MiB) |
//! | 12 | 1: compressed (a block of LZ4), 0: uncompressed |
//! | 13 | CPU (0 A, 1 B), 255: none |
//! | 14..18 | place's number + 1, 0: none. A place's number is twice that of the node, or twice that of the switch and one |
//! | 18..20 | bit n: an event of initiator n occurs |
//! | 20..28, 28..36 | time of the first and of the last, in ps |
//! | 36..44 | count |
//! | 44..52 | bit n: an event of kind n occurs |
//! | 52..60 | bit n: a place whose number modulo 64 is n occurs |
//! | 60..64 | CRC-32 of the bytes that follow |
//! | 64..68 | CRC-32 of bytes 0 to 63 |
//!
//! Readers skip unknown kinds of chunks. `HEAD` is JSON: writer, run, seed, start of the programs, nodes with their images, symbols,
//! probes and stages, details, and the span excluded by the trigger. `TAIL` is JSON: events, and results by name. A file without
//! `TAIL` is truncated.
//!
//! A chunk of events can be read by itself. A *number* has seven bits per byte, the lowest first; the top bit is set if more follow.
//! An event is
//!
//! | part | meaning |
//! |--|--|
//! | byte | kind (`emulator/observe/src/file/kinds.rs` lists numbers and fields; a number is never reused) |
//! | byte | bits 0..3 initiator; 0x10: has a `pc`; 0x20: at the place of the previous event |
//! | number | ps since the previous event, or since the chunk's first time |
//! | number | the place, unless it is that of the previous event |
//! | number | `pc`, if it has one: the difference to that initiator's previous one, its sign in the lowest bit |
//! | fields | numbers; one byte for a boolean or for a name from a list; a text |
//!
//! A text is its number in this chunk, counted from 1; a new text is 0, its length and its bytes, and gets the next number.
//!
//! The chunks of instructions of one CPU form one stream: decode all of them up to the wanted time. Times are *ticks* of the CPU's
//! clock, 1024 per cycle (more while a profile stretches a stage); the records before an instruction add up to its start. A chunk's
//! count is that of its instructions.
//!
//! | byte | followed by | meaning |
//! |--|--|--|
//! | 0x80 + n | | n + 1 instructions in sequence, each of the current duration |
//! | 0x40 + n | | additional time: cause and ticks of slot n |
//! | 0 | numbers: ticks per second, bytes of SRAM | the CPU's description; first record |
//! | 1 | number: tick | the clock advances to this tick: the CPU did not run |
//! | 2 | number: address; 4 bytes | this word is an instruction from now on |
//! | 3 | byte: cause; number: ticks | additional time of an instruction (0 branch, 1 fetch, 2 contention, 3 SRAM, 4 scratchpad, 5 register); stored in slot ((ticks xor ticks / 1024) * 7 + cause) mod 64 |
//! | 4 | number: ticks | duration of the following instructions |
//! | 5 | number: words, the sign in the lowest bit | jump: distance of the next instruction from the sequential address |
//! | 6 | number: words, the sign in the lowest bit | the CPU passes the probes at that distance |
//! | 7 | number: instructions | the last instructions were a round of an idle loop |
//! | 8 | numbers: instructions, rounds | such a round is repeated this many times |

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
