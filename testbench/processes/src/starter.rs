//! The starter of an MPI library, with its processes.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_requests::{COLLECTIVES_VARIABLE, LIBRARY, PROVIDER};

use crate::error::StartError;
use crate::group::{ProcessGroup, find};
use crate::programs::{Output, ProgramCommand};

/// Starters that are known, for messages.
const KNOWN: &str = "Open MPI 4 and 5, and MPICH 4 and 5";

/// The MPI libraries that load providers of libfabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Open MPI 4.
    OpenMpi4,
    /// Open MPI 5.
    OpenMpi5,
    /// The library MPICH.
    Mpich,
}

/// A starter: `mpiexec`, and its library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StarterKind {
    /// Path of the program.
    pub program: PathBuf,
    /// MPI library of the starter.
    pub library: Library,
    /// Version, in the starter's own words.
    pub version: String,
}

impl StarterKind {
    /// Asks a starter for its version.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn ask(program: &Path) -> Result<Self, StartError> {
        let asked = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        let output = asked.map_err(|error| StartError::Starter {
            program: program.into(),
            error,
        })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = recognise(&text);
        let (library, version) = found.ok_or_else(|| StartError::Unknown {
            program: program.into(),
            version: text.lines().next().unwrap_or_default().trim().to_owned(),
            known: KNOWN,
        })?;
        Ok(Self {
            program: program.into(),
            library,
            version,
        })
    }

    /// Arguments and variables that start so many ranks of a program with the provider, and let them start others.
    fn arguments<'a>(
        &self,
        (ranks, universe): (usize, usize),
        library: &'a Path,
    ) -> (Vec<OsString>, Vec<(&'static str, &'a OsStr)>) {
        let count = ranks.to_string();
        let words = |words: &str| -> Vec<OsString> {
            words.split_whitespace().map(OsString::from).collect()
        };
        let openmpi = "--allow-run-as-root --oversubscribe --bind-to none";
        match self.library {
            Library::Mpich => {
                let mut all = words(&format!("-n {count} -usize {universe} -genv LD_PRELOAD"));
                all.push(library.into());
                let variables = vec![
                    ("MPIR_CVAR_CH4_NETMOD", OsStr::new("ofi")),
                    ("MPIR_CVAR_NOLOCAL", OsStr::new("1")),
                    ("MPIR_CVAR_CH4_SHM_ENABLE", OsStr::new("0")),
                ];
                (all, variables)
            }
            Library::OpenMpi4 => {
                // Version 4.1.4 asks its own layer for atomics that this does not know, and for some of windows with one rank without a key.
                let osc = match ranks {
                    1 => "--mca osc pt2pt",
                    _ => "--mca osc rdma --mca osc_rdma_acc_use_amo 0",
                };
                let mut preload = OsString::from("LD_PRELOAD=");
                preload.push(library);
                let mut all = words(&format!("{openmpi} -n {count} -x"));
                all.push(preload);
                all.extend(words(&format!(
                    "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include {PROVIDER} --mca btl self,ofi \
                     {osc} --mca coll ^sm,ucx,hcoll --mca async_mpi_init 1"
                )));
                (all, Vec::new())
            }
            Library::OpenMpi5 => {
                let all = words(&format!(
                    "{openmpi} -n {count} --mca pml cm --mca mtl ofi --mca opal_common_ofi_provider_include {PROVIDER} --mca btl self,ofi \
                     --mca osc rdma --mca coll ^sm,ucx,hcoll --mca async_mpi_init 1"
                ));
                // Processes that ranks start inherit what the starter has, not what its option -x adds.
                (all, vec![("LD_PRELOAD", library.as_os_str())])
            }
        }
    }
}

/// The library and the version, of what a starter says.
fn recognise(text: &str) -> Option<(Library, String)> {
    let first = text.lines().next()?.trim();
    let openmpi = first.split_once("(Open MPI) ");
    if let Some((_, version)) = openmpi.or_else(|| first.split_once("(OpenRTE) ")) {
        let library = match version.split('.').next()? {
            "4" => Library::OpenMpi4,
            "5" => Library::OpenMpi5,
            _ => return None,
        };
        return Some((library, format!("Open MPI {version}")));
    }
    let hydra = first.starts_with("HYDRA");
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, version) = lines.find(|(name, _)| name.trim() == "Version")?;
    let version = version.trim();
    let is_known = hydra && matches!(version.split('.').next(), Some("4" | "5"));
    is_known.then(|| (Library::Mpich, format!("MPICH {version}")))
}

/// A starter that runs, with its processes. They end with it.
#[derive(Debug)]
pub struct Starter {
    kind: StarterKind,
    library: PathBuf,
    group: ProcessGroup,
    /// Barriers are the boards'.
    uses_boards: bool,
}

impl Starter {
    /// Prepares a starter. Its processes will load the provider from a folder of the run.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn new(kind: StarterKind, provider: &Path) -> Result<Self, StartError> {
        let group = ProcessGroup::new()?;
        let library = group.folder().join(LIBRARY);
        let provider = provider.canonicalize().map_err(StartError::Socket)?;
        symlink(provider, &library).map_err(StartError::Socket)?;
        Ok(Self {
            kind,
            library,
            group,
            uses_boards: false,
        })
    }

    /// Lets the boards execute collective operations.
    pub const fn use_boards(&mut self, wanted: bool) {
        self.uses_boards = wanted;
    }

    /// Path of the socket to which the processes will connect.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.group.socket()
    }

    pub(crate) fn has_started(&self) -> bool {
        !self.group.is_empty()
    }

    /// Starts the ranks of a program; with those that they start they may be as many as `universe`. `ended` is set when all have ended. Gives the number of the starter's process.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        &mut self,
        own: &ProgramCommand,
        universe: usize,
        ended: Arc<AtomicBool>,
        output: Output,
    ) -> Result<u32, StartError> {
        let (arguments, variables) = self.kind.arguments((own.ranks, universe), &self.library);
        let failed = |error| StartError::Starter {
            program: self.kind.program.clone(),
            error,
        };
        // If this process is killed, its starter shall not stay.
        let guard = find("setpriv");
        let mut command = match &guard {
            Some(setpriv) => Command::new(setpriv),
            None => Command::new(&self.kind.program),
        };
        if guard.is_some() {
            command
                .args(["--pdeathsig", "TERM"])
                .arg(&self.kind.program);
        }
        command
            .args(arguments)
            .args(&own.words)
            .envs(variables)
            .env("FI_PROVIDER_PATH", self.group.folder())
            .env("FI_PROVIDER", PROVIDER);
        match self.uses_boards {
            true => command.env(COLLECTIVES_VARIABLE, "1"),
            false => command.env_remove(COLLECTIVES_VARIABLE),
        };
        output.of(&mut command);
        own.give(&mut command);
        if own.folder.is_some() || io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        self.group.start(&mut command, ended).map_err(failed)
    }

    /// Waits for the end of the starter for a while, and ends what is left then. Gives the exit code of the program, if it has ended by itself.
    pub fn finish(mut self, by_force: bool) -> Option<i32> {
        self.group.end(|_| !by_force).into_iter().next().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starters_are_recognised() {
        let library = recognise;
        assert_eq!(
            library("mpirun (Open MPI) 4.1.4\n\nReport bugs"),
            Some((Library::OpenMpi4, "Open MPI 4.1.4".into()))
        );
        assert_eq!(
            library("mpirun (Open MPI) 5.0.11\n"),
            Some((Library::OpenMpi5, "Open MPI 5.0.11".into()))
        );
        let hydra =
            "HYDRA build details:\n    Version:                                 5.0.2\n    CC: gcc";
        assert_eq!(library(hydra), Some((Library::Mpich, "MPICH 5.0.2".into())));
        assert_eq!(library("HYDRA build details:\n    Version: 3.4\n"), None);
        assert_eq!(library("mpirun (Open MPI) 1.10.2\n"), None);
        assert_eq!(library("Intel(R) MPI Library"), None);
        assert_eq!(library(""), None);
    }
}
