//! The socket of one process.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lanigon_requests::{Answer, Decoder, Request, RequestError};

/// Bytes that are read at once at least.
const STEP_BYTES: usize = 64 << 10;

/// Result of a read.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A request of the process.
    Request(Request),
    /// No request in time.
    Nothing,
    /// The process has closed the socket.
    Closed,
}

/// The socket of one process.
#[derive(Debug)]
pub(crate) struct ProcessConnection {
    stream: UnixStream,
    decoder: Decoder,
    /// The process's number in the operating system.
    pub(crate) process: u32,
}

impl ProcessConnection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            decoder: Decoder::default(),
            process: 0,
        }
    }

    /// Waits for the next request for so long at most.
    pub(crate) fn next(&mut self, limit: Duration) -> Result<Incoming, RequestError> {
        loop {
            if let Some(request) = Request::next(&mut self.decoder)? {
                return Ok(Incoming::Request(request));
            }
            // A socket whose time limit cannot be set is closed.
            if self.stream.set_read_timeout(Some(limit)).is_err() {
                return Ok(Incoming::Closed);
            }
            let mut bytes = vec![0; self.decoder.lacks().clamp(STEP_BYTES, 16 * STEP_BYTES)];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(Incoming::Closed),
                Ok(count) => self.decoder.extend(&bytes[..count]),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(Incoming::Nothing),
                    _ => return Ok(Incoming::Closed),
                },
            }
        }
    }

    /// Answers. A process that does not read its answers within this time is as if it had closed the socket.
    pub(crate) fn answer(&mut self, answers: &[Answer]) -> io::Result<()> {
        let mut bytes = Vec::new();
        answers.iter().for_each(|answer| answer.write(&mut bytes));
        self.stream
            .set_write_timeout(Some(Duration::from_secs(10)))?;
        self.stream.write_all(&bytes)
    }
}
