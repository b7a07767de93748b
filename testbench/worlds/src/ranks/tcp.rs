//! Connections between ranks: TCP, one connection for each two ranks.
//!
//! A message is its length in four bytes, least significant first, and its bytes. Rounds are short, so a rank that waits for another one looks
//! for its message again and again for a while, and gives its processor to other processes in between. Only then it sleeps.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;

use emulator::sim::ranks::{MESSAGE_BYTES, RankError, Transport};

/// Bytes that are read at a time.
const READ_BYTES: usize = 2 * MESSAGE_BYTES;
/// So often a rank looks for a message before it sleeps until one comes.
const LOOKS: u32 = 400;

/// The connection to another rank.
#[derive(Debug)]
struct RankConnection {
    stream: TcpStream,
    /// Bytes that were read; those from `taken` on are not used yet.
    buffer: Vec<u8>,
    taken: usize,
}

/// The connections of a rank.
#[derive(Debug)]
pub struct Tcp {
    rank: usize,
    connections: Vec<Option<RankConnection>>,
    out: Vec<u8>,
}

impl Tcp {
    /// The connections to all ranks; none to itself.
    ///
    /// # Errors
    /// If a connection cannot be used.
    pub(super) fn new(rank: usize, streams: Vec<Option<TcpStream>>) -> io::Result<Self> {
        let connection = |stream: Option<TcpStream>| {
            let Some(stream) = stream else {
                return Ok(None);
            };
            // A small message must not wait for the answer to another one.
            stream.set_nodelay(true)?;
            stream.set_read_timeout(None)?;
            stream.set_nonblocking(true)?;
            Ok(Some(RankConnection {
                stream,
                buffer: Vec::new(),
                taken: 0,
            }))
        };
        let connections = streams.into_iter().map(connection);
        Ok(Self {
            rank,
            connections: connections.collect::<io::Result<_>>()?,
            out: Vec::new(),
        })
    }

    fn connection(&mut self, rank: usize) -> Result<&mut RankConnection, RankError> {
        let connection = self.connections.get_mut(rank).and_then(Option::as_mut);
        connection.ok_or(RankError::Gone(rank))
    }
}

/// The error of the connection to a rank.
fn failed(rank: usize, error: &io::Error) -> RankError {
    match error.kind() {
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => RankError::Gone(rank),
        _ => RankError::Failed {
            rank,
            reason: error.to_string(),
        },
    }
}

/// Reads what has come, or waits for it.
fn read(stream: &mut TcpStream, bytes: &mut [u8]) -> io::Result<usize> {
    for _ in 0..LOOKS {
        match stream.read(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
    asleep(stream, |stream| {
        loop {
            match stream.read(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    })
}

/// Writes all bytes, and waits if they do not fit into the buffers of the operating system.
fn write(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return asleep(stream, |stream| stream.write_all(bytes));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Lets the operating system wait for a connection.
fn asleep<T>(
    stream: &mut TcpStream,
    act: impl FnOnce(&mut TcpStream) -> io::Result<T>,
) -> io::Result<T> {
    stream.set_nonblocking(false)?;
    let done = act(stream);
    stream.set_nonblocking(true)?;
    done
}

impl RankConnection {
    /// Reads until this number of bytes is there.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        }
        while self.buffer.len() - self.taken < count {
            if self.taken > READ_BYTES {
                self.buffer.drain(..self.taken);
                self.taken = 0;
            }
            let length = self.buffer.len();
            self.buffer.resize(length + READ_BYTES, 0);
            let read = read(&mut self.stream, &mut self.buffer[length..]);
            self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, message: &mut Vec<u8>) -> io::Result<()> {
        self.fill(4)?;
        let bytes = &self.buffer[self.taken..];
        let length = bytes
            .first_chunk()
            .map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
        if length > MESSAGE_BYTES {
            let reason = format!("a message of {length} bytes");
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        self.fill(4 + length)?;
        let begin = self.taken + 4;
        message.extend_from_slice(&self.buffer[begin..begin + length]);
        self.taken = begin + length;
        Ok(())
    }
}

impl Transport for Tcp {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.connections.len()
    }

    /// The buffers of the operating system take a message that the other rank does not receive yet.
    fn send(&mut self, to: usize, message: &[u8]) -> Result<(), RankError> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        out.extend((message.len() as u32).to_le_bytes());
        out.extend_from_slice(message);
        let sent = write(&mut self.connection(to)?.stream, &out);
        self.out = out;
        sent.map_err(|error| failed(to, &error))
    }

    fn receive(&mut self, from: usize, message: &mut Vec<u8>) -> Result<(), RankError> {
        let received = self.connection(from)?.receive(message);
        received.map_err(|error| failed(from, &error))
    }
}
