//! The socket of one process.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use lanigon_requests::{Answer, Decoder, End, Request, RequestError};

use crate::placement::Placement;

/// Bytes that are read at once at least: most requests are short.
const LEAST_BYTES: usize = 4 << 10;
/// Bytes that are read at once at most.
const MOST_BYTES: usize = 1 << 20;
/// A process that does not read its answers within this time is as if it had closed the socket.
const WRITE_LIMIT: Duration = Duration::from_secs(10);

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
    /// Time limits of reads and writes that the socket has.
    limits: (Option<Duration>, Option<Duration>),
    /// The process's number in the operating system.
    pub(crate) process: u32,
    placement: Placement,
}

impl ProcessConnection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            decoder: Decoder::default(),
            limits: (None, None),
            process: 0,
            placement: Placement::default(),
        }
    }

    /// Waits for the next request for so long at most.
    pub(crate) fn next(&mut self, limit: Duration) -> Result<Incoming, RequestError> {
        loop {
            if let Some(request) = Request::next(&mut self.decoder)? {
                return Ok(Incoming::Request(request));
            }
            if self.limits.0 != Some(limit) {
                // A socket whose time limit cannot be set is closed.
                if self.stream.set_read_timeout(Some(limit)).is_err() {
                    return Ok(Incoming::Closed);
                }
                self.limits.0 = Some(limit);
            }
            let mut bytes = vec![0; self.decoder.lacks().clamp(LEAST_BYTES, MOST_BYTES)];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(Incoming::Closed),
                Ok(count) => {
                    self.decoder.extend(&bytes[..count]);
                    self.placement.end_turn();
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(Incoming::Nothing),
                    _ => return Ok(Incoming::Closed),
                },
            }
        }
    }

    /// Answers.
    pub(crate) fn answer(&mut self, answers: &[Answer]) -> io::Result<()> {
        let cpu = self.placement.begin_turn();
        let mut bytes = Vec::new();
        for answer in answers {
            match answer {
                Answer::End(end) => Answer::End(End { cpu, ..*end }).write(&mut bytes),
                other => other.write(&mut bytes),
            }
        }
        if self.limits.1.is_none() {
            self.stream.set_write_timeout(Some(WRITE_LIMIT))?;
            self.limits.1 = Some(WRITE_LIMIT);
        }
        self.stream.write_all(&bytes)
    }
}
