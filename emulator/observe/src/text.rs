//! Trace as text: one line per event.

use std::io::{self, BufWriter, Write};

use super::event::{Details, TraceEvent};
use super::line::TextLine;
use super::stream::Observer;

/// Observer that writes each event as a line.
pub struct TextTrace {
    out: BufWriter<Box<dyn Write + Send>>,
    line: Vec<u8>,
    details: Details,
    error: Option<io::Error>,
}

/// Size of the write buffer.
const BUFFER_BYTES: usize = 1 << 16;

impl TextTrace {
    /// Writes to `out`; it need not be buffered.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            line: Vec::new(),
            details: Details::empty(),
            error: None,
        }
    }

    /// Adds details to the output.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = details;
        self
    }
}

impl Observer for TextTrace {
    fn details(&self) -> Details {
        self.details
    }

    /// Writes an event. The first error is reported at the end; nothing is written after it.
    fn event(&mut self, event: &TraceEvent) {
        let wanted = self.details.contains(event.kind.details());
        if wanted && self.error.is_none() {
            self.line.clear();
            event.write(&mut TextLine::new(&mut self.line));
            self.line.push(b'\n');
            self.error = self.out.write_all(&self.line).err();
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}
