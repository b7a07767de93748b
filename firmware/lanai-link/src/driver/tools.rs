//! LLVM's programs: where they are, whether their version is that of the compiler, and how they are run.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::driver::error::DriverError;

/// The version of LLVM whose faults the driver avoids (docs/lanai-toolchain.md).
pub const LLVM: u32 = 22;

/// Lines of a failed program's output that are shown.
const SHOWN_LINES: usize = 40;

/// Location of LLVM's programs.
#[derive(Debug, Clone)]
pub struct Tools {
    /// A folder with programs of plain names; none: `PATH`, with or without the version.
    folder: Option<PathBuf>,
}

impl Tools {
    /// Looks for the tools: in the folder that `LANIGON_LLVM` names, else in `PATH`.
    pub fn from_environment() -> Tools {
        let folder = env::var_os("LANIGON_LLVM").filter(|folder| !folder.is_empty());
        Tools::in_folder(folder.map(PathBuf::from))
    }

    /// The tools in `folder`, with plain names; without one, those in `PATH`.
    pub fn in_folder(folder: Option<PathBuf>) -> Tools {
        Tools { folder }
    }

    /// The program `name`.
    pub fn find(&self, name: &str) -> Result<PathBuf, DriverError> {
        let missing = || DriverError::NoTool(name.to_owned());
        if let Some(folder) = &self.folder {
            let program = folder.join(name);
            return program.is_file().then_some(program).ok_or_else(missing);
        }
        let paths = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&paths).collect();
        for name in [format!("{name}-{LLVM}"), name.to_owned()] {
            let mut programs = folders.iter().map(|folder| folder.join(&name));
            if let Some(program) = programs.find(|program| program.is_file()) {
                return Ok(program);
            }
        }
        Err(missing())
    }

    /// Runs the program `name`; its output.
    pub fn run<I, A>(&self, name: &str, arguments: I) -> Result<String, DriverError>
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        run(&self.find(name)?, arguments)
    }

    /// Checks that all programs are there, and that `rustc` and `llc` have the one known version of LLVM.
    pub fn check(&self) -> Result<(), DriverError> {
        for name in ["llvm-link", "opt", "llvm-mc"] {
            self.find(name)?;
        }
        let llc = self.find("llc")?;
        let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let rustc = version(&run(Path::new(&compiler), ["-vV"])?);
        let found = version(&run(&llc, ["--version"])?);
        let unknown = |program: &Path| DriverError::NoVersion(program.display().to_string());
        let rustc = rustc.ok_or_else(|| unknown(Path::new(&compiler)))?;
        let found = found.ok_or_else(|| unknown(&llc))?;
        check_versions(rustc, found, &llc)
    }
}

/// Checks the major versions of LLVM in `rustc` and in `llc`.
fn check_versions(rustc: u32, found: u32, llc: &Path) -> Result<(), DriverError> {
    if rustc != found {
        let llc = llc.display().to_string();
        return Err(DriverError::Versions { rustc, llc, found });
    }
    match found == LLVM {
        true => Ok(()),
        false => Err(DriverError::UnknownLlvm(found, LLVM)),
    }
}

/// The major version behind the words `LLVM version` of a program's output.
fn version(output: &str) -> Option<u32> {
    let (_, rest) = output.split_once("LLVM version")?;
    let rest = rest.trim_start_matches([':', ' ']);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Runs `program`; its output.
fn run<I, A>(program: &Path, arguments: I) -> Result<String, DriverError>
where
    I: IntoIterator<Item = A>,
    A: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments);
    let output = command.output().map_err(|source| DriverError::File {
        path: program.to_owned(),
        source,
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let mut lines: Vec<&str> = text.lines().take(SHOWN_LINES).collect();
    let status = format!("({})", output.status);
    lines.push(&status);
    Err(DriverError::Tool {
        command: format!("{command:?} failed:"),
        message: lines.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (output, expected) in [
            (
                "rustc 1.95.0\nrelease: 1.95.0\nLLVM version: 22.1.2\n",
                Some(22),
            ),
            ("Debian LLVM version 22.1.8\n  Optimized build.\n", Some(22)),
            ("LLVM (http://llvm.org/):\n  LLVM version 9.0.1\n", Some(9)),
            ("gcc 12", None),
        ] {
            assert_eq!(version(output), expected, "{output}");
        }
    }

    #[test]
    fn versions_must_agree_and_be_known() {
        let check = |rustc, llc| {
            let checked = check_versions(rustc, llc, Path::new("/usr/bin/llc"));
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check(22, 22), Ok(()));
        let error = check(22, 21).expect_err("a difference");
        assert!(error.starts_with("rustc has LLVM 22 and /usr/bin/llc has LLVM 21"));
        let error = check(23, 23).expect_err("an unknown version");
        assert!(error.starts_with("LLVM 23 is not known"));
    }

    #[test]
    fn missing_programs_are_named() {
        let tools = Tools::in_folder(Some("/nonexistent".into()));
        let error = tools.check().expect_err("no tools").to_string();
        assert!(error.starts_with("llvm-link is missing; "), "{error}");
    }
}
