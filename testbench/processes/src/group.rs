//! Processes of a launch: a folder for their socket, their end, and the libraries that they load.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lanigon_requests::SOCKET_VARIABLE;
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::StartError;

/// Time that processes have to end by themselves.
const PATIENCE: Duration = Duration::from_secs(3);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The provider, as cargo builds it, and its package.
pub const PROVIDER_FILE: (&str, &str) = ("liblanigon_fi.so", "lanigon-provider");
/// The library for sockets.
pub const SOCKETS_FILE: (&str, &str) = ("liblanigon_sockets.so", "lanigon-preload");

/// Path of a library for processes: beside the program, where cargo puts it for one that depends on it, or where it is installed.
///
/// # Errors
/// [`StartError::Library`].
pub fn library(
    program: &Path,
    (file, package): (&str, &'static str),
) -> Result<PathBuf, StartError> {
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(file),
        folder.join("deps").join(file),
        folder.join("../deps").join(file),
        folder.join("../lib").join(file),
    ];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| StartError::Library {
        path: folder.join(file),
        package,
    })
}

/// A folder for the files of one run, which is removed at its end.
#[derive(Debug)]
struct Folder(PathBuf);

/// Begin of the names of these folders; the process that has made one follows, and a number.
const FOLDER: &str = "lanigon-launch-";

impl Folder {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let all = env::temp_dir();
        // A process that was killed has left its folder.
        for entry in fs::read_dir(&all)?.flatten() {
            let name = entry.file_name();
            let maker = name
                .to_str()
                .and_then(|name| name.strip_prefix(FOLDER)?.split('-').next());
            if maker.is_some_and(|maker| !Path::new("/proc").join(maker).exists()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let path = all.join(format!("{FOLDER}{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Processes of one run, in process groups of their own, with the folder for their socket. They end with it.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    running: Vec<(Pid, JoinHandle<Option<i32>>)>,
    folder: Folder,
}

impl ProcessGroup {
    /// Without any process.
    ///
    /// # Errors
    /// [`StartError::Folder`].
    pub(crate) fn new() -> Result<Self, StartError> {
        Ok(Self {
            running: Vec::new(),
            folder: Folder::new().map_err(|error| StartError::Folder { error })?,
        })
    }

    /// Folder for files of the run.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Path of the socket to which the processes will connect.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.0.join("world")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts a process, the first of a process group. `ended` is set when it has ended. Gives its number.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(
        &mut self,
        command: &mut Command,
        ended: Arc<AtomicBool>,
    ) -> io::Result<u32> {
        command.env(SOCKET_VARIABLE, self.socket()).process_group(0);
        let child = command.spawn()?;
        let (number, id) = (child.id(), Pid::from_child(&child));
        let waiting = thread::spawn(move || {
            let code = wait(child);
            ended.store(true, Ordering::Relaxed);
            code
        });
        self.running.push((id, waiting));
        Ok(number)
    }

    /// Waits for a while for the end of those processes that end by themselves, and ends what is left then. Gives the exit codes: of those that have
    /// ended by themselves.
    pub(crate) fn end(&mut self, by_themselves: impl Fn(usize) -> bool) -> Vec<Option<i32>> {
        let running = std::mem::take(&mut self.running);
        await_end(&running, by_themselves);
        let ends: Vec<bool> = running.iter().map(|(_, one)| one.is_finished()).collect();
        for ((id, _), by_itself) in running.iter().zip(&ends) {
            if !by_itself {
                let _ = kill_process_group(*id, Signal::TERM);
            }
        }
        await_end(&running, |_| true);
        let codes = running
            .into_iter()
            .zip(ends)
            .map(|((id, waiting), by_itself)| {
                if !waiting.is_finished() {
                    let _ = kill_process(id, Signal::KILL);
                }
                // Processes of the group may be left when their first one has ended.
                let _ = kill_process_group(id, Signal::KILL);
                waiting.join().ok().flatten().filter(|_| by_itself)
            });
        let codes = codes.collect();
        self.end_others();
        codes
    }

    /// Ends processes that have left their process group (`setsid`). The socket in their environment tells whose they are.
    fn end_others(&self) {
        let mut mark = Vec::from(SOCKET_VARIABLE);
        mark.push(b'=');
        mark.extend_from_slice(self.socket().as_os_str().as_bytes());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let number = entry.file_name();
            let number = number.to_str().and_then(|name| name.parse().ok());
            let Some(process) = number.and_then(Pid::from_raw) else {
                continue;
            };
            // Those of other users cannot be read, and are none of the run.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|one| one == mark) {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end(|_| false);
    }
}

fn await_end(running: &[(Pid, JoinHandle<Option<i32>>)], which: impl Fn(usize) -> bool) {
    let begin = Instant::now();
    let runs = |(place, one): (usize, &(Pid, JoinHandle<_>))| which(place) && !one.1.is_finished();
    while running.iter().enumerate().any(runs) && begin.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
    }
}

/// Waits for a process; its exit code, as a shell would tell it.
fn wait(mut child: Child) -> Option<i32> {
    let status = child.wait().ok()?;
    status.code().or_else(|| Some(128 + status.signal()?))
}

/// The first file of this name in the search path that can be executed, or else any.
pub(crate) fn find(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let files = env::split_paths(&path).map(|folder| folder.join(program.as_ref()));
    let mut files = files.filter(|file| file.is_file());
    let first = files.next()?;
    match can_run(&first) {
        true => Some(first),
        false => files.find(|file| can_run(file)).or(Some(first)),
    }
}

fn can_run(file: &Path) -> bool {
    access(file, Access::EXEC_OK).is_ok()
}

/// The path of a program: a name is one of the search path. Others are below a folder.
pub(crate) fn in_folder(program: &OsStr, folder: &Path) -> PathBuf {
    match program.as_encoded_bytes().contains(&b'/') {
        false => program.into(),
        true => {
            let path = folder.join(program);
            // It is looked for in the folder of its process.
            std::path::absolute(&path).unwrap_or(path)
        }
    }
}

/// Checks that a program can be executed, whose path is in a folder.
///
/// # Errors
/// The reason for which it cannot be.
pub fn check_program(words: &[OsString], folder: &Path) -> Result<(), String> {
    let Some(program) = words.first().filter(|word| !word.is_empty()) else {
        return Err("it names no program".into());
    };
    let path = in_folder(program, folder);
    let found = match path.components().count() {
        1 => find(&path),
        _ => Some(path.clone()),
    };
    let shown = path.display();
    match found {
        Some(found) if found.is_file() && can_run(&found) => Ok(()),
        Some(found) if found.is_file() => Err(format!(
            "{} is no program that can be executed (chmod +x)",
            found.display()
        )),
        _ if folder.join(program).is_dir() => Err(format!("{shown} is a folder")),
        _ => match program.to_string_lossy().split_once(' ') {
            Some((first, _)) if words.len() == 1 => Err(format!(
                "there is no program {shown}; with arguments it is a list: [\"{first}\", ...]"
            )),
            _ => Err(format!("there is no program {shown}")),
        },
    }
}
