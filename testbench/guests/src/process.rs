//! The process of a guest: its command line, its folder, its end.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use tempfile::TempDir;

use crate::console::GuestConsole;
use crate::{GuestError, Settings};

/// Names in a guest's folder, relative to which it is started: its random numbers depend on its command line.
const TIME: &str = "time";
const DEVICE: &str = "device";
const ARCHIVE: &str = "initramfs";

/// A guest's process. It ends with this value, and with the emulator.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The other end of its terminal for input, if it has one.
    input: Option<UnixStream>,
    /// Folder of the process, until the guest has opened the files in it.
    folder: Option<TempDir>,
    status: Option<ExitStatus>,
    /// The CPU on which it runs.
    cpu: Option<usize>,
}

/// The sockets to which a guest connects.
#[derive(Debug)]
pub struct Listeners {
    /// Socket for messages about time.
    pub time: UnixListener,
    /// Socket of the board's device.
    pub device: UnixListener,
}

impl Process {
    /// Starts a guest with these files, an [archive](crate::initramfs).
    ///
    /// # Errors
    /// If that is impossible.
    pub fn start(
        settings: &Settings,
        archive: &[u8],
        console: &GuestConsole,
    ) -> Result<(Self, Listeners), GuestError> {
        let kernel = settings
            .kernel
            .canonicalize()
            .map_err(|error| GuestError::File {
                what: "the kernel",
                path: settings.kernel.clone(),
                error,
            })?;
        let folder = tempfile::Builder::new()
            .prefix("lanigon-guest-")
            .tempdir()?;
        let place = folder.path();
        std::fs::write(place.join(ARCHIVE), archive)?;
        let listeners = Listeners {
            time: UnixListener::bind(place.join(TIME))?,
            device: UnixListener::bind(place.join(DEVICE))?,
        };
        let mut command = command(&kernel, place, settings);
        let input = match settings.takes_input {
            true => {
                let (own, guest) = UnixStream::pair()?;
                command.stdin(OwnedFd::from(guest));
                Some(own)
            }
            false => None,
        };
        command.stdout(console.writer()?).stderr(console.writer()?);
        let child = command.spawn().map_err(GuestError::Start)?;
        let process = Self {
            child,
            input,
            folder: Some(folder),
            status: None,
            cpu: None,
        };
        Ok((process, listeners))
    }

    /// Writes to the terminal for input. It has room for it: a guest asks for one line at a time.
    ///
    /// # Errors
    /// If it takes none.
    pub fn input(&mut self, text: &str) -> Result<(), GuestError> {
        let input = self.input.as_mut();
        let input = input.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(input.write_all(text.as_bytes())?)
    }

    /// The guest has opened all its files: nothing of it is left on the disk, whatever happens to the emulator.
    pub fn settled(&mut self) {
        self.folder = None;
    }

    /// Moves the process to the CPU of the calling thread: one of the two waits for the other at any time, and to wake another CPU takes
    /// longer than an access. If that is not allowed, it is only slower.
    pub fn come_here(&mut self) {
        let cpu = sched_getcpu();
        if self.cpu != Some(cpu) {
            let mut only = CpuSet::new();
            only.set(cpu);
            let _ = sched_setaffinity(Pid::from_child(&self.child).into(), &only);
            self.cpu = Some(cpu);
        }
    }

    /// Exit status of the process; `None` if it has not ended.
    ///
    /// # Errors
    /// If that is unknown.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    /// Waits for the end of a process that has closed its sockets.
    ///
    /// # Errors
    /// If its status is unknown.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A guest that computes takes no other signal. Its own processes, which it traces, end with it.
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The command that starts a guest. It gets SIGKILL when the thread that starts it ends, and has its memory at the same addresses in each
/// run (`setpriv`, `setarch`). Signals of the terminal go to the emulator alone.
fn command(kernel: &Path, folder: &Path, settings: &Settings) -> Command {
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        "setarch",
        "-R",
        "env",
        "-i",
        "HOME=.",
    ]);
    // Without it the first process of a guest crashes: its C library registers restartable sequences with the kernel outside.
    command
        .arg("GLIBC_TUNABLES=glibc.pthread.rseq=0")
        .arg(kernel);
    command.arg(format!("mem={}M", settings.memory_megabytes));
    command.args([
        format!("initrd={ARCHIVE}"),
        format!("time-travel=ext:{}:{TIME}", settings.node),
        format!("virtio_uml.device={DEVICE}:1234"),
        format!("node={}", settings.node),
        format!("seed={}", settings.seed),
    ]);
    // Random numbers need no time that passes.
    command.args([
        "random.trust_cpu=1",
        "umid=guest",
        "con=null",
        "con0=null,fd:1",
        "panic=-1",
    ]);
    // The console's file cannot be waited for, as a terminal that takes input is.
    if settings.takes_input {
        command.arg("con1=fd:0");
    }
    command.args(&settings.arguments);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .process_group(0);
    command
}
