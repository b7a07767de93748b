//! Captures of frames (`--pcap FILE`), and the dissector for Wireshark.

pub mod dissector;
pub mod head;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use emulator::observe::pcapng::PcapNg;
use emulator::sim::world::World;

use crate::output::WriteError;

/// A capture in progress.
#[derive(Debug)]
pub struct Capture {
    place: String,
    to_stdout: bool,
}

/// Whether a path is standard output.
#[must_use]
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Capture {
    /// Starts writing the frames on all wires to the file `path`, or to standard output.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn start(path: &Path, world: &mut World) -> anyhow::Result<Self> {
        let to_stdout = is_stdout(path);
        let place = match to_stdout {
            true => "standard output".to_owned(),
            false => path.display().to_string(),
        };
        let out: Box<dyn Write + Send> = match to_stdout {
            true => Box::new(io::stdout()),
            false => Box::new(File::create(path).with_context(|| place.clone())?),
        };
        world.capture(Box::new(PcapNg::new(out)));
        Ok(Self { place, to_stdout })
    }

    /// Writes remaining frames.
    ///
    /// # Errors
    /// The first error. A reader that exits early (`| tshark -c 10 -r -`) is no error.
    pub fn finish(self, world: &mut World) -> Result<(), WriteError> {
        match world.finish_capturing().into_iter().next() {
            Some(error) if !(self.to_stdout && error.kind() == ErrorKind::BrokenPipe) => {
                Err(WriteError::new(self.place, error))
            }
            _ => Ok(()),
        }
    }
}
