//! Output of results to standard output, standard error and files; formatting of counts.

use std::io::{self, ErrorKind, Write};

pub use lanigon_worlds::text::grouped;

/// A result could not be written. The request was valid: exit code 1, not 2.
#[derive(Debug, thiserror::Error)]
#[error("{place}")]
pub struct WriteError {
    /// Destination.
    place: String,
    source: io::Error,
}

impl WriteError {
    /// A write error for `place`.
    pub fn new(place: impl ToString, source: io::Error) -> Self {
        let place = place.to_string();
        Self { place, source }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::new("standard output", error)
    }
}

/// Prints a text that ends with a line break. A closed reader (`| head`) is no error.
///
/// # Errors
/// [`WriteError`], for example when the disk is full.
pub fn print(text: &str) -> Result<(), WriteError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints a text on standard error, when standard output is used for data.
pub fn print_aside(text: &str) {
    // Without standard error there is no way to report.
    let _ = io::stderr().write_all(text.as_bytes());
}
