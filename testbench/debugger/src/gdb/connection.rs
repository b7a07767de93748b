//! Connection to gdb. A thread reads ahead, so that an interrupt is detected while the world runs.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gdbstub::conn::Connection;

use lanigon_worlds::interrupt::Interrupt;

/// Interrupt byte of gdb. It occurs between packets, which are text.
const INTERRUPT: u8 = 3;
/// Interval at which the reader checks for the end of the server.
const LOOK: Duration = Duration::from_millis(100);
/// Timeout of a write; then the peer is considered gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest number of pieces read ahead.
const READ_AHEAD: usize = 16;

/// A connected stream.
#[derive(Debug)]
pub enum GdbStream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl GdbStream {
    fn prepare(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(LOOK))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Self::Tcp(stream.try_clone()?)
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(LOOK))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Self::Unix(stream.try_clone()?)
            }
        })
    }

    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        }
    }

    fn shut_down(&self) {
        // The peer may be gone already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// Input from gdb.
#[derive(Debug)]
pub(super) enum Input {
    /// A byte of a packet.
    Byte(u8),
    /// Interrupt of the running world.
    Interrupt,
    /// gdb has disconnected, or the server ends.
    Gone,
}

/// Part of the input, as read from the connection.
#[derive(Debug)]
enum ReadPiece {
    Bytes(Vec<u8>),
    Interrupt,
}

/// Queue of inputs.
#[derive(Debug)]
pub(super) struct Inputs {
    pieces: Receiver<ReadPiece>,
    ready: VecDeque<Input>,
    /// Set when gdb interrupts or disconnects: ends the running operation early.
    interrupt: Interrupt,
    reader: JoinHandle<()>,
}

impl Inputs {
    /// Waits for the next input.
    pub fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return input;
            }
            match self.pieces.recv() {
                Ok(piece) => self.take_piece(piece),
                Err(_) => return Input::Gone,
            }
        }
    }

    fn take_piece(&mut self, piece: ReadPiece) {
        match piece {
            ReadPiece::Bytes(bytes) => self.ready.extend(bytes.into_iter().map(Input::Byte)),
            ReadPiece::Interrupt => self.ready.push_back(Input::Interrupt),
        }
    }

    /// Prepares an operation that an interrupt may end. Returns whether an interrupt is pending already.
    pub fn begin_run(&mut self) -> bool {
        self.interrupt.flag().store(false, Ordering::Relaxed);
        loop {
            match self.pieces.try_recv() {
                Ok(piece) => self.take_piece(piece),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
        let interrupt = |input: &Input| matches!(input, Input::Interrupt);
        self.ready.iter().any(interrupt)
    }

    /// Disconnects; clears a pending interrupt.
    pub fn end(self) {
        drop(self.pieces);
        // The reader has ended, whatever its result.
        let _ = self.reader.join();
        self.interrupt.flag().store(false, Ordering::Relaxed);
    }

    /// Clears the interrupt after an interrupted operation.
    pub fn end_run(&mut self) {
        self.begin_run();
        self.ready
            .retain(|input| !matches!(input, Input::Interrupt));
    }
}

/// Output to gdb, buffered until a flush.
#[derive(Debug)]
pub(super) struct Output {
    stream: GdbStream,
    buffer: Vec<u8>,
}

impl Connection for Output {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.buffer.push(byte);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.stream.writer().write_all(&self.buffer);
        self.buffer.clear();
        done
    }
}

impl Output {
    /// Lets gdb display a text while it waits.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        for part in text.as_bytes().chunks(1000) {
            let hex = part.iter().map(|byte| format!("{byte:02x}"));
            let body: String = std::iter::once("O".to_owned()).chain(hex).collect();
            self.send(&body)?;
        }
        Ok(())
    }

    /// Asks for the last packet again.
    pub fn refuse(&mut self) -> io::Result<()> {
        self.write_all(b"-")?;
        self.flush()
    }

    /// Sends a packet.
    pub fn send(&mut self, body: &str) -> io::Result<()> {
        let sum = body.bytes().fold(0u8, u8::wrapping_add);
        self.write_all(format!("${body}#{sum:02x}").as_bytes())?;
        self.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.stream.shut_down();
    }
}

/// Starts reading. `interrupt` is set when gdb interrupts or disconnects; disconnecting, or setting `end`,
/// ends the reader.
pub(super) fn begin(
    stream: GdbStream,
    interrupt: &Interrupt,
    end: &Interrupt,
) -> io::Result<(Inputs, Output)> {
    let mut reader = stream.prepare()?;
    let (pieces, receiver) = sync_channel(READ_AHEAD);
    let (flag, end) = (interrupt.clone(), end.clone());
    let reader = thread::spawn(move || {
        // Nothing to report if the receiver is gone.
        let _ = read(reader.reader(), &pieces, &flag, &end);
        drop(pieces);
        flag.request();
    });
    let inputs = Inputs {
        pieces: receiver,
        ready: VecDeque::new(),
        interrupt: interrupt.clone(),
        reader,
    };
    let output = Output {
        stream,
        buffer: Vec::new(),
    };
    Ok((inputs, output))
}

fn read(
    stream: &mut dyn Read,
    pieces: &SyncSender<ReadPiece>,
    interrupt: &Interrupt,
    end: &Interrupt,
) -> Option<()> {
    let mut buffer = [0; 4096];
    while !end.requested() {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(count) => &buffer[..count],
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => continue,
                _ => return None,
            },
        };
        for (index, part) in read.split(|byte| *byte == INTERRUPT).enumerate() {
            if index > 0 {
                pieces.send(ReadPiece::Interrupt).ok()?;
                interrupt.request();
            }
            pieces.send(ReadPiece::Bytes(part.to_vec())).ok()?;
        }
    }
    None
}
