//! The line to gdb: what comes is read ahead by a thread, so that an interrupt is noticed while the world runs.

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

/// What gdb sends to interrupt. It stands between packets; all of them are text.
const INTERRUPT: u8 = 3;
/// So often the reader looks whether the user wants the server to end.
const LOOK: Duration = Duration::from_millis(100);
/// Somebody who takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pieces that are read ahead: who sends more must wait.
const READ_AHEAD: usize = 16;

/// A stream of either kind.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Stream {
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
        // It may be gone already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// What comes from gdb.
#[derive(Debug)]
pub(super) enum Input {
    /// A byte of a packet.
    Byte(u8),
    /// It wants what runs to stop.
    Interrupt,
    /// It is gone, or the user wants the server to end.
    Gone,
}

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Interrupt,
}

/// What comes in, in order.
#[derive(Debug)]
pub(super) struct Inputs {
    pieces: Receiver<Piece>,
    ready: VecDeque<Input>,
    /// Set as soon as gdb interrupts or goes away: what runs ends early.
    interrupt: Interrupt,
    reader: JoinHandle<()>,
}

impl Inputs {
    /// The next thing that comes; waits for it.
    pub fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return input;
            }
            match self.pieces.recv() {
                Ok(piece) => self.take(piece),
                Err(_) => return Input::Gone,
            }
        }
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Bytes(bytes) => self.ready.extend(bytes.into_iter().map(Input::Byte)),
            Piece::Interrupt => self.ready.push_back(Input::Interrupt),
        }
    }

    /// Something is about to run, which an interrupt from now on ends. Tells whether one has come already.
    pub fn begin_run(&mut self) -> bool {
        self.interrupt.flag().store(false, Ordering::Relaxed);
        loop {
            match self.pieces.try_recv() {
                Ok(piece) => self.take(piece),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
        let interrupt = |input: &Input| matches!(input, Input::Interrupt);
        self.ready.iter().any(interrupt)
    }

    /// Nobody listens any more, and the line is cut. No interrupt is left of it.
    pub fn end(self) {
        drop(self.pieces);
        // Whatever became of the reader: it is over.
        let _ = self.reader.join();
        self.interrupt.flag().store(false, Ordering::Relaxed);
    }

    /// What ran was interrupted, if gdb wanted that: the wish is fulfilled.
    pub fn end_run(&mut self) {
        self.begin_run();
        self.ready
            .retain(|input| !matches!(input, Input::Interrupt));
    }
}

/// The way to gdb. What is written leaves when it is flushed.
#[derive(Debug)]
pub(super) struct Output {
    stream: Stream,
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
    /// Has gdb show a text while it waits.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        for part in text.as_bytes().chunks(1000) {
            let hex = part.iter().map(|byte| format!("{byte:02x}"));
            let body: String = std::iter::once("O".to_owned()).chain(hex).collect();
            self.send(&body)?;
        }
        Ok(())
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

/// Begins to read. `interrupt` is set when gdb interrupts or goes away; both that and `end`, the user's wish, end it.
pub(super) fn begin(
    stream: Stream,
    interrupt: &Interrupt,
    end: &Interrupt,
) -> io::Result<(Inputs, Output)> {
    let mut reader = stream.prepare()?;
    let (pieces, receiver) = sync_channel(READ_AHEAD);
    let (flag, end) = (interrupt.clone(), end.clone());
    let reader = thread::spawn(move || {
        // Whoever no longer listens needs to be told of nothing.
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
    pieces: &SyncSender<Piece>,
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
                pieces.send(Piece::Interrupt).ok()?;
                interrupt.request();
            }
            pieces.send(Piece::Bytes(part.to_vec())).ok()?;
        }
    }
    None
}
