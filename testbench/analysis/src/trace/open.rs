//! Opens trace files.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::Context;
use emulator::observe::file::{TraceFileError, TraceReader};

/// Where a trace comes from.
pub type Source = BufReader<Box<dyn Read>>;

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Opens a trace file; `-` is standard input.
///
/// # Errors
/// If it cannot be read, or is none.
pub fn open(path: &Path) -> anyhow::Result<TraceReader<Source>> {
    let shown = || path.display().to_string();
    let source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).with_context(shown)?),
    };
    let source = BufReader::with_capacity(BUFFER_BYTES, source);
    TraceReader::new(source).with_context(shown)
}

/// How a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// At its end.
    Whole,
    /// Before: what there was has been shown, and a warning.
    Broken,
}

/// What an error within a file means: a warning, if the file is a trace up to there.
///
/// # Errors
/// If it cannot be read.
pub fn broken(path: &Path, error: TraceFileError) -> anyhow::Result<Ending> {
    if !error.leaves_events() {
        return Err(error).with_context(|| path.display().to_string());
    }
    log::warn!("{}: {error}", path.display());
    Ok(Ending::Broken)
}
