//! Captures of frames (`--pcap FILE`), and the dissector for Wireshark.

pub mod dissector;
pub mod head;

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use emulator::observe::pcapng::PcapNg;
use emulator::sim::world::World;

use lanigon_worlds::files::output::{self, Destination};

use crate::output::WriteError;

/// A capture in progress.
#[derive(Debug)]
pub struct Capture {
    place: String,
    /// The file; absent for standard output.
    destination: Option<Destination>,
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
        let (out, destination): (Box<dyn Write + Send>, _) = if to_stdout {
            (Box::new(io::stdout()), None)
        } else {
            let (file, destination) = output::create(path).with_context(|| place.clone())?;
            (Box::new(file), Some(destination))
        };
        world.capture(Box::new(PcapNg::new(out)));
        Ok(Self { place, destination })
    }

    /// Writes remaining frames.
    ///
    /// # Errors
    /// The first error. A reader that exits early (`| tshark -c 10 -r -`) is no error.
    pub fn finish(self, world: &mut World) -> Result<(), WriteError> {
        let error = world.finish_capturing().into_iter().next();
        let written = match (error, self.destination) {
            (Some(error), None) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (Some(error), _) => Err(error),
            (None, destination) => destination.map_or(Ok(()), Destination::finish),
        };
        written.map_err(|error| WriteError::new(self.place, error))
    }
}
