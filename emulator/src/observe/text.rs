//! A trace as text: a line for each event.

use std::io::{self, BufWriter, Write};

use super::event::TraceEvent;
use super::line::Line;
use super::stream::Observer;

/// Writes each event as a line.
pub struct TextTrace {
    out: BufWriter<Box<dyn Write + Send>>,
    line: Vec<u8>,
    error: Option<io::Error>,
}

/// Bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 16;

impl TextTrace {
    /// Writes to `out`; it need not be buffered.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            line: Vec::new(),
            error: None,
        }
    }
}

impl Observer for TextTrace {
    /// The first error is kept for the end; nothing is written after it.
    fn event(&mut self, event: &TraceEvent) {
        if self.error.is_none() {
            self.line.clear();
            event.write(&mut Line::new(&mut self.line));
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
