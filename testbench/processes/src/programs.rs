//! Processes that have sockets, one a rank.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_requests::{COMPUTE_VARIABLE, LINE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE};

use crate::error::StartError;
use crate::group::ProcessGroup;
use crate::hub::Hub;

/// Place of what processes write to their standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output of this process.
    Standard,
    /// Standard error of this process: the output is a document.
    Aside,
}

impl Output {
    /// The place beside a document on standard output, if there is one.
    #[must_use]
    pub const fn beside(is_taken: bool) -> Self {
        match is_taken {
            true => Self::Aside,
            false => Self::Standard,
        }
    }

    pub(crate) fn of(self, command: &mut Command) {
        if self == Self::Aside {
            command.stdout(io::stderr());
        }
    }
}

/// A program, and how many ranks run it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramCommand {
    /// Number of ranks that run the command.
    pub ranks: usize,
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Folder in which they run; `None`: that of this process.
    pub folder: Option<PathBuf>,
    /// Simulated time of each nanosecond of processor time of the program's own computation, in ns; `None`: computation takes none.
    pub compute: Option<f64>,
}

impl ProgramCommand {
    /// Gives a process its folder and the time of its computation.
    pub(crate) fn give(&self, command: &mut Command) {
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        match self.compute {
            Some(factor) => command.env(COMPUTE_VARIABLE, factor.to_string()),
            None => command.env_remove(COMPUTE_VARIABLE),
        };
    }
}

/// Processes that have sockets. They end with it.
#[derive(Debug)]
pub struct Programs {
    group: ProcessGroup,
    library: PathBuf,
    output: Output,
}

impl Programs {
    /// None yet. They will load this library.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn new(library: &Path, output: Output) -> Result<Self, StartError> {
        Ok(Self {
            group: ProcessGroup::new()?,
            library: library.canonicalize().unwrap_or_else(|_| library.into()),
            output,
        })
    }

    /// Path of the socket to which the processes will connect.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.group.socket()
    }

    pub(crate) fn have_started(&self) -> bool {
        !self.group.is_empty()
    }

    /// Starts all ranks, in the order of the commands. One of them may read this process's standard input. `ended` is set when one has ended.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        &mut self,
        commands: &[ProgramCommand],
        reader: Option<usize>,
        ended: &Arc<AtomicBool>,
    ) -> Result<(), StartError> {
        let ranks: usize = commands.iter().map(|command| command.ranks).sum();
        let all = commands
            .iter()
            .flat_map(|command| std::iter::repeat_n(command, command.ranks));
        for (rank, own) in all.enumerate() {
            let Some((program, arguments)) = own.words.split_first() else {
                continue;
            };
            let mut command = Command::new(program);
            self.output.of(&mut command);
            own.give(&mut command);
            command
                .args(arguments)
                .env("LD_PRELOAD", &self.library)
                .env(RANK_VARIABLE, rank.to_string())
                .env(SIZE_VARIABLE, ranks.to_string())
                .env_remove(LINE_VARIABLE);
            if Some(rank) != reader {
                command.stdin(Stdio::null());
            }
            let started = self.group.start(&mut command, Arc::clone(ended));
            started.map_err(|error| StartError::Program {
                program: program.into(),
                error,
            })?;
        }
        Ok(())
    }

    /// Waits for a while for the end of those that have left the world, unless all end by force, and ends what is left then. Gives the exit codes by
    /// rank: of those that have ended by themselves.
    pub fn finish(mut self, by_force: bool, hub: &Hub) -> Vec<Option<i32>> {
        self.group.end(|rank| !by_force && hub.has_ended(rank))
    }
}
