//! Files with checksums: inputs are changes of their contents, under checksums that are right, so that changes reach the parsers behind them.

use std::io::BufReader;
use std::path::Path;

use emulator::boards::BOARD_NAMES;
use emulator::observe::file::TraceReader;
use lanigon_worlds::replay::Replay;
use lanigon_worlds::simulation::Simulation;

/// Bytes of a trace before its first chunk: magic bytes and version.
const TRACE_START: usize = 12;
/// Bytes of a chunk's header; the head of `emulator/observe/src/file/mod.rs` has its fields.
const CHUNK_FORM: usize = 68;
/// Bytes of magic and version of snapshots and recordings.
const MAGIC_AND_VERSION: usize = 12;

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(word) as usize)
}

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

/// A trace whose chunks are not compressed.
pub fn plain_trace(file: &[u8]) -> Vec<u8> {
    let mut plain = file[..TRACE_START].to_vec();
    let mut at = TRACE_START;
    while let Some(form) = file.get(at..at + CHUNK_FORM) {
        let (stored, length) = (word(form, 4).unwrap(), word(form, 8).unwrap());
        let bytes = &file[at + CHUNK_FORM..at + CHUNK_FORM + stored];
        let mut form = form.to_vec();
        put(&mut form, 4, length as u32);
        let content = match std::mem::replace(&mut form[12], 0) {
            0 => bytes.to_vec(),
            _ => lz4_flex::block::decompress(bytes, length).unwrap(),
        };
        plain.extend(form);
        plain.extend(content);
        at += CHUNK_FORM + stored;
    }
    with_sums(&mut plain);
    plain
}

/// Puts the checksums and lengths of a trace's chunks right.
fn with_sums(trace: &mut [u8]) {
    let mut at = TRACE_START;
    while trace.len() >= at + CHUNK_FORM {
        let begin = at + CHUNK_FORM;
        let left = trace.len() - begin;
        let stored = word(trace, at + 4).unwrap().min(left);
        put(trace, at + 4, stored as u32);
        if trace[at + 12] == 0 {
            put(trace, at + 8, stored as u32);
        }
        let sum = crc32fast::hash(&trace[begin..begin + stored]);
        put(trace, begin - 8, sum);
        let sum = crc32fast::hash(&trace[at..begin - 4]);
        put(trace, begin - 4, sum);
        at = begin + stored;
    }
}

/// Reads the events of a trace, as text too.
pub fn trace(bytes: &[u8]) -> Option<String> {
    let mut bytes = bytes.to_vec();
    if bytes.len() > TRACE_START {
        with_sums(&mut bytes);
    }
    let reader = match TraceReader::new(BufReader::new(&bytes[..]), BOARD_NAMES) {
        Ok(reader) => reader,
        Err(error) => return Some(error.to_string()),
    };
    for event in reader.into_events() {
        match event {
            Ok(event) => drop(event.to_string()),
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}

/// A snapshot's label and state, with the label's length before them.
pub fn plain_snapshot(file: &[u8]) -> Vec<u8> {
    let label = word(file, MAGIC_AND_VERSION).unwrap();
    let state = MAGIC_AND_VERSION + 4 + label;
    let mut plain = file[..state].to_vec();
    plain.extend(lz4_flex::decompress_size_prepended(&file[state + 4..]).unwrap());
    plain
}

/// Loads a snapshot of these contents.
pub fn snapshot(plain: &[u8]) -> Option<String> {
    let head = plain.get(..MAGIC_AND_VERSION + 4)?;
    let rest = &plain[head.len()..];
    let label = word(head, MAGIC_AND_VERSION)?.min(rest.len());
    let (label, state) = rest.split_at(label);
    let mut sum = crc32fast::Hasher::new();
    sum.update(label);
    sum.update(state);
    let mut file = head.to_vec();
    put(&mut file, MAGIC_AND_VERSION, label.len() as u32);
    file.extend(label);
    file.extend(sum.finalize().to_le_bytes());
    file.extend(lz4_flex::compress_prepend_size(state));
    let loaded = Simulation::load(lanigon_workloads::ALL, &file, Path::new(""));
    loaded.err().map(|error| error.to_string())
}

/// A recording's content after magic bytes and version.
pub fn plain_replay(file: &[u8]) -> Vec<u8> {
    let mut plain = file[..MAGIC_AND_VERSION].to_vec();
    let content = &file[MAGIC_AND_VERSION + 4..];
    plain.extend(lz4_flex::decompress_size_prepended(content).unwrap());
    plain
}

/// Parses a recording of this content.
pub fn replay(plain: &[u8]) -> Option<String> {
    let (head, content) = plain.split_at_checked(MAGIC_AND_VERSION)?;
    let mut file = head.to_vec();
    file.extend(crc32fast::hash(content).to_le_bytes());
    file.extend(lz4_flex::compress_prepend_size(content));
    Replay::parse(&file).err().map(|error| error.to_string())
}
