//! Opens trace files.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use emulator::boards::BOARD_NAMES;
use emulator::observe::file::{TraceFileError, TraceReader};

/// Input of a trace.
pub type TraceInput = BufReader<Box<dyn Read>>;

/// Size of the read buffer.
const BUFFER_BYTES: usize = 1 << 18;

/// Opens a trace file; `-` is standard input.
///
/// # Errors
/// If it cannot be read, or is no trace file.
pub fn open(path: &Path) -> anyhow::Result<TraceReader<TraceInput>> {
    let shown = || path.display().to_string();
    let source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).with_context(shown)?),
    };
    let source = BufReader::with_capacity(BUFFER_BYTES, source);
    let opened = TraceReader::new(source, BOARD_NAMES);
    let is_scenario = path.extension().is_some_and(|end| end == "toml");
    if is_scenario && matches!(opened, Err(TraceFileError::Foreign)) {
        let name = shown();
        bail!(
            "{name}: a scenario, and no trace: `lanigon run {name} --trace FILE` records one, and `--timeline FILE` draws a timeline"
        );
    }
    opened.with_context(shown)
}

/// End of the reading of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// At the end of the file.
    Whole,
    /// At a defect: everything before it was shown, with a warning.
    Broken,
}

/// Handles an error within a file: a warning, if the file is valid up to there.
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
