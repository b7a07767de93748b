//! Output of results to standard output, standard error and files; formatting of counts.

use std::io::{self, ErrorKind, Write};

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

/// Formats a count: `10_000_000` as "10 000 000".
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
