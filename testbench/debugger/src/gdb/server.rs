//! Accepts and serves one gdb at a time.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use emulator::debug::DebugError;
use gdbstub::common::Signal;
use gdbstub::stub::state_machine::GdbStubStateMachine as Stub;
use gdbstub::stub::{DisconnectReason, GdbStub, GdbStubError, MultiThreadStopReason};

use super::connection::{self, GdbStream, Input, Inputs, Output};
use super::framing::{Framed, Framing, PACKET_BYTES};
use super::target::{Cpus, thread_of};
use crate::busy::BusyLine;
use lanigon_analysis::output::print_aside;
use lanigon_worlds::interrupt::Interrupt;

/// Interval at which the server checks for its end.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit for a disconnecting gdb.
const MOMENT: Duration = Duration::from_secs(1);

/// Address at which gdb connects.
#[derive(Debug)]
pub enum Listener {
    /// A local TCP port.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener, SocketFile),
}

/// File of a Unix socket, removed when the server ends.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let inode = std::fs::symlink_metadata(&self.path).map(|file| file.ino());
        if inode.is_ok_and(|inode| inode == self.inode) {
            // If it cannot be removed, the next server will do it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    /// Listens on a local port, or on any free one.
    ///
    /// # Errors
    /// If it is in use or not permitted.
    pub fn tcp(port: Option<u16>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let listener = listener.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => anyhow::anyhow!(
                "port {} is in use: choose another one, or leave --port out and one is found",
                port.unwrap_or(0)
            ),
            _ => anyhow::Error::new(error)
                .context(format!("port {} cannot be used", port.unwrap_or(0))),
        })?;
        Ok(Self::Tcp(listener))
    }

    /// Listens on a Unix socket. Replaces a socket left behind by another server; any other file is kept.
    ///
    /// # Errors
    /// If another file is there, or another server uses the socket.
    pub fn unix(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        match std::fs::symlink_metadata(path) {
            Ok(file) if !file.file_type().is_socket() => {
                bail!("{name} exists and is no socket: choose another name")
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                bail!("{name} is in use: somebody listens there")
            }
            Ok(_) => std::fs::remove_file(path)
                .with_context(|| format!("{name} was left behind and cannot be removed"))?,
            Err(_) => {}
        }
        let listener =
            UnixListener::bind(path).with_context(|| format!("{name} cannot be created"))?;
        let inode = std::fs::symlink_metadata(path).map_or(0, |file| file.ino());
        let path = path.to_owned();
        Ok(Self::Unix(listener, SocketFile { path, inode }))
    }

    /// Argument of gdb's `target remote`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                let port = listener.local_addr().map_or(0, |address| address.port());
                format!(":{port}")
            }
            // gdb may be started in another folder.
            Self::Unix(_, file) => std::path::absolute(&file.path)
                .unwrap_or_else(|_| file.path.clone())
                .display()
                .to_string(),
        }
    }

    fn clone(&self) -> io::Result<Accept> {
        Ok(match self {
            Self::Tcp(listener) => Accept::Tcp(listener.try_clone()?),
            Self::Unix(listener, _) => Accept::Unix(listener.try_clone()?),
        })
    }
}

/// A listener in its own thread.
enum Accept {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Accept {
    fn next(&self) -> io::Result<GdbStream> {
        Ok(match self {
            Self::Tcp(listener) => GdbStream::Tcp(listener.accept()?.0),
            Self::Unix(listener) => GdbStream::Unix(listener.accept()?.0),
        })
    }

    /// Passes new connections to the server; rejects them while one is active.
    fn all(&self, busy: &AtomicBool, streams: &SyncSender<GdbStream>) {
        loop {
            match self.next() {
                Ok(_) if !takes_over(busy) => {
                    print_aside("a second debugger was sent away: one is attached\n");
                }
                Ok(stream) => {
                    if streams.send(stream).is_err() {
                        return;
                    }
                }
                // The peer has disconnected, or descriptors have run out temporarily.
                Err(_) => thread::sleep(LOOK),
            }
        }
    }
}

/// Whether a connection can be accepted now. Waits for one that is about to end.
fn takes_over(busy: &AtomicBool) -> bool {
    let begin = Instant::now();
    // Acquire sees all that the connection before has done; `busy.store` with Release ends it.
    while busy.swap(true, Ordering::AcqRel) {
        if begin.elapsed() > MOMENT {
            return false;
        }
        thread::sleep(MOMENT / 100);
    }
    true
}

/// Reason for the end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parting {
    /// gdb detached.
    Detached,
    /// gdb ended the run.
    Killed,
    /// gdb disconnected.
    Gone,
    /// gdb sent invalid data.
    Confused(String),
}

impl fmt::Display for Parting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detached => write!(f, "the debugger has detached"),
            Self::Killed => write!(f, "the debugger has ended the run"),
            Self::Gone => write!(f, "the debugger is gone"),
            Self::Confused(why) => write!(f, "the debugger was sent away: {why}"),
        }
    }
}

/// Serves debuggers, one after another, until one of them ends the run or the user ends the server. The
/// world keeps its state in between.
///
/// # Errors
/// If the world cannot continue.
pub fn serve(listener: &Listener, cpus: &mut Cpus, end: &Interrupt) -> anyhow::Result<()> {
    let (streams, debuggers) = sync_channel(1);
    let busy = Arc::new(AtomicBool::new(false));
    let accept = listener.clone()?;
    let is_busy = Arc::clone(&busy);
    thread::spawn(move || accept.all(&is_busy, &streams));
    while let Some(stream) = next(&debuggers, end) {
        let time = cpus.session.now();
        print_aside(&format!("a debugger has attached, at {time}\n"));
        let parting = attend(stream, cpus, end)?;
        busy.store(false, Ordering::Release);
        print_aside(&format!("{parting}, at {}\n", cpus.session.now()));
        if parting == Parting::Killed {
            break;
        }
    }
    Ok(())
}

/// The next debugger; `None` when the user ends the server.
fn next(debuggers: &Receiver<GdbStream>, end: &Interrupt) -> Option<GdbStream> {
    while !end.requested() {
        match debuggers.recv_timeout(LOOK) {
            Ok(stream) => return Some(stream),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

/// Serves one debugger until it disconnects.
///
/// # Errors
/// If the world cannot continue.
pub fn attend(stream: GdbStream, cpus: &mut Cpus, end: &Interrupt) -> Result<Parting, DebugError> {
    cpus.forget();
    let interrupt = cpus.session.interrupt.clone();
    let Ok((mut inputs, output)) = connection::begin(stream, &interrupt, end) else {
        return Ok(Parting::Gone);
    };
    let mut packet = vec![0; PACKET_BYTES];
    let builder = GdbStub::builder(output).with_packet_buffer(&mut packet);
    let parting = match builder.build() {
        Ok(stub) => match stub.run_state_machine(cpus) {
            Ok(stub) => converse(stub, &mut inputs, cpus),
            Err(error) => parted(error),
        },
        Err(error) => Ok(Parting::Confused(error.to_string())),
    };
    inputs.end();
    parting
}

/// Interprets an error of the protocol library: only errors of the world are returned.
fn parted(error: GdbStubError<DebugError, io::Error>) -> Result<Parting, DebugError> {
    if error.is_connection_error() {
        return Ok(Parting::Gone);
    }
    let text = error.to_string();
    match error.into_target_error() {
        Some(error) => Err(error),
        None => Ok(Parting::Confused(text)),
    }
}

fn converse(
    mut stub: Stub<'_, Cpus, Output>,
    inputs: &mut Inputs,
    cpus: &mut Cpus,
) -> Result<Parting, DebugError> {
    let mut framing = Framing::default();
    loop {
        let next = match stub {
            Stub::Idle(mut idle) => match inputs.next() {
                Input::Byte(byte) => match framing.byte(byte) {
                    Framed::Nothing => Ok(idle.into()),
                    Framed::Whole(bytes) => feed_packet(idle.into(), &bytes, cpus),
                    Framed::TooLong => {
                        return Ok(Parting::Confused("an oversized packet".into()));
                    }
                    Framed::Damaged { tell } => {
                        if tell && idle.borrow_conn().refuse().is_err() {
                            return Ok(Parting::Gone);
                        }
                        Ok(idle.into())
                    }
                },
                // Nothing is running.
                Input::Interrupt => Ok(idle.into()),
                Input::Gone => return Ok(Parting::Gone),
            },
            Stub::Running(mut running) => {
                let reason = run(inputs, cpus)?;
                let text = std::mem::take(&mut cpus.news.text);
                if running.borrow_conn().show(&text).is_err() {
                    return Ok(Parting::Gone);
                }
                running.report_stop(cpus, reason)
            }
            // The reader has removed all interrupts from the stream.
            Stub::CtrlCInterrupt(stub) => {
                stub.interrupt_handled(cpus, None::<MultiThreadStopReason<u32>>)
            }
            Stub::Disconnected(mut stub) => {
                if stub.get_reason() != DisconnectReason::Kill {
                    return Ok(Parting::Detached);
                }
                // gdb expects an answer, but may be gone.
                let _ = stub.borrow_conn().send("OK");
                return Ok(Parting::Killed);
            }
        };
        stub = match next {
            Ok(stub) => stub,
            Err(error) => return parted(error),
        };
    }
}

/// Gives the bytes of a whole packet to the protocol library, which ends idle states at the last one.
fn feed_packet<'a>(
    mut stub: Stub<'a, Cpus, Output>,
    bytes: &[u8],
    cpus: &mut Cpus,
) -> Result<Stub<'a, Cpus, Output>, GdbStubError<DebugError, io::Error>> {
    for &byte in bytes {
        stub = match stub {
            Stub::Idle(idle) => {
                cpus.chosen.byte(byte);
                idle.incoming_data(cpus, byte)?
            }
            other => other,
        };
    }
    Ok(stub)
}

/// Executes gdb's resume request, unless an interrupt is pending.
fn run(inputs: &mut Inputs, cpus: &mut Cpus) -> Result<MultiThreadStopReason<u32>, DebugError> {
    let interrupted = MultiThreadStopReason::SignalWithThread {
        tid: thread_of(cpus.cpu),
        signal: Signal::SIGINT,
    };
    let reason = match inputs.begin_run() {
        true => interrupted,
        false => {
            let _busy = BusyLine::moving(cpus.session.history.reached());
            cpus.go()?
        }
    };
    inputs.end_run();
    Ok(reason)
}
