//! The socket of one process.

use std::hint;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use lanigon_requests::{Answer, Decoder, Request, RequestError};
use rustix::net::{RecvFlags, recv};

use crate::turns::{SHORT_TURN, Turns};

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
    turns: Turns,
}

impl ProcessConnection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            decoder: Decoder::default(),
            limits: (None, None),
            process: 0,
            turns: Turns::default(),
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
            let looked = match self.turns.are_short() {
                true => self.look(&mut bytes),
                false => None,
            };
            match looked.map_or_else(|| self.stream.read(&mut bytes), Ok) {
                Ok(0) => return Ok(Incoming::Closed),
                Ok(count) => {
                    self.decoder.extend(&bytes[..count]);
                    self.turns.end();
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(Incoming::Nothing),
                    _ => return Ok(Incoming::Closed),
                },
            }
        }
    }

    /// Looks for bytes for a while, and gives their number. What else there is the next read tells.
    fn look(&self, bytes: &mut [u8]) -> Option<usize> {
        let begin = Instant::now();
        while begin.elapsed() < SHORT_TURN {
            match recv(&self.stream, &mut *bytes, RecvFlags::DONTWAIT) {
                Ok((_, count)) => return Some(count),
                Err(_) => hint::spin_loop(),
            }
        }
        None
    }

    /// Answers.
    pub(crate) fn answer(&mut self, answers: &[Answer]) -> io::Result<()> {
        self.turns.begin();
        let mut bytes = Vec::new();
        answers.iter().for_each(|answer| answer.write(&mut bytes));
        if self.limits.1.is_none() {
            self.stream.set_write_timeout(Some(WRITE_LIMIT))?;
            self.limits.1 = Some(WRITE_LIMIT);
        }
        self.stream.write_all(&bytes)
    }
}
