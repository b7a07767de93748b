//! Standard output: results, as text or as one JSON document, and nothing else.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use serde::Serialize;

/// The result could not be written. The request was right: exit code 1, not 2.
#[derive(Debug, thiserror::Error)]
#[error("{place}")]
pub struct WriteError {
    /// Where it was to go.
    place: String,
    source: io::Error,
}

impl WriteError {
    /// A result that was to go to `place`.
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

/// Prints a text that ends with a line break. A reader that has gone away (`| head`) has seen enough.
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

/// Prints a text on standard error, since standard output is taken.
pub fn print_aside(text: &str) {
    // Without a place for messages nobody can be told.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Standard output for much text, which is written while it comes into being.
#[derive(Debug)]
pub struct Lines(Option<BufWriter<StdoutLock<'static>>>);

/// Bytes that [`Lines`] writes at a time.
const LINES_BYTES: usize = 1 << 16;

impl Default for Lines {
    fn default() -> Self {
        Self(Some(BufWriter::with_capacity(
            LINES_BYTES,
            io::stdout().lock(),
        )))
    }
}

impl Lines {
    /// Writes some of it; `false` when the reader has gone away, and more is of no use.
    ///
    /// # Errors
    /// [`WriteError`], for example when the disk is full.
    pub fn write(&mut self, text: &[u8]) -> Result<bool, WriteError> {
        let written = self.0.as_mut().map(|out| out.write_all(text));
        self.outcome(written)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The same.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        let written = self.0.as_mut().map(BufWriter::flush);
        self.outcome(written).map(|_| ())
    }

    fn outcome(&mut self, written: Option<io::Result<()>>) -> Result<bool, WriteError> {
        match written {
            Some(Ok(())) => Ok(true),
            None => Ok(false),
            Some(Err(error)) => {
                // What is left in the buffer is written nowhere: not a second time either.
                if let Some(out) = self.0.take() {
                    let _ = out.into_parts();
                }
                match error.kind() {
                    ErrorKind::BrokenPipe => Ok(false),
                    _ => Err(error.into()),
                }
            }
        }
    }
}

/// Prints one JSON document.
///
/// # Errors
/// [`WriteError`].
pub fn print_json(document: &impl Serialize) -> Result<(), WriteError> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
    print(&(text + "\n"))
}

/// A count for people: `10_000_000` as "10 000 000".
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        let check = |count, expected: &str| assert_eq!(grouped(count), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1 000");
        check(10_000_000, "10 000 000");
    }
}
