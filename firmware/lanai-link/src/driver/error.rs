//! Errors of the driver.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::driver::retarget::RetargetError;
use crate::error::LinkError;

/// Reasons for which the driver makes no image.
#[derive(Debug, Error)]
pub enum DriverError {
    /// An argument that the driver does not know.
    #[error("unknown argument {0}")]
    Argument(String),
    /// An argument without its value, or with a wrong one.
    #[error("{argument} needs {needs}")]
    Value {
        /// The argument as given.
        argument: String,
        /// The value that the argument needs.
        needs: &'static str,
    },
    /// A file of assembly is in none of the folders for it.
    #[error("{0} is in none of the folders given with -L")]
    NoAssembly(String),
    /// A file is none of the kinds that can be linked.
    #[error("{0} is neither bitcode, nor an archive of it, nor an object for the LANai")]
    Input(PathBuf),
    /// The compiler has not joined the program's modules: it has added an object for MIPS that keeps their symbols.
    #[error(
        "{} is for MIPS: rustc adds it where it does not join the program's modules; set lto = \"fat\" and codegen-units = 1 in \
         [profile.release] of the firmware's Cargo.toml, or unset CARGO_PROFILE_RELEASE_LTO and \
         CARGO_PROFILE_RELEASE_CODEGEN_UNITS", .0.display()
    )]
    NotJoined(PathBuf),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program of LLVM is not installed.
    #[error(
        "{0} is missing; `make setup` installs LLVM's tools or says how, and LANIGON_LLVM can name their folder"
    )]
    NoTool(String),
    /// A program ended with an error.
    #[error("{command}\n{message}")]
    Tool {
        /// The command that was run.
        command: String,
        /// The program's messages.
        message: String,
    },
    /// A program does not tell its version.
    #[error("{0} does not tell the version of its LLVM")]
    NoVersion(String),
    /// The compiler and the code generator belong to different versions of LLVM.
    #[error(
        "rustc has LLVM {rustc} and {llc} has LLVM {found}: bitcode of one is not safe with the other; install LLVM {rustc}"
    )]
    Versions {
        /// Major version of the compiler's LLVM.
        rustc: u32,
        /// The code generator.
        llc: String,
        /// Major version of the program that was found.
        found: u32,
    },
    /// The back end's faults, and the ways around them, are known for one version alone.
    #[error(
        "LLVM {0} is not known: the faults of the LANai back end that the driver avoids are those of LLVM {1}"
    )]
    UnknownLlvm(u32, u32),
    /// The compiler's output cannot become code for the LANai.
    #[error(transparent)]
    Retarget(#[from] RetargetError),
    /// The objects cannot be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A step failed whose input is kept.
    #[error("{error}\nThe files of the steps are in {folder}")]
    Step {
        /// The error of the step.
        error: Box<DriverError>,
        /// Folder with the files of all steps.
        folder: PathBuf,
    },
}
