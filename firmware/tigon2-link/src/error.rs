//! Errors of linking, each with its place.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reasons for which an instruction stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Reason {
    /// LO is in `$k1` already.
    #[error("it uses $k1, which holds the result of multiplications and divisions")]
    UsesLow,
    /// An instruction that is jumped to stands between it and its neighbours.
    #[error(
        "jumps lead to it and to the instruction behind it, so neither can move: write the expression in another way, or in a function of its own"
    )]
    Targets,
    /// A jump leads into a delay slot.
    #[error("it is in a delay slot and a jump leads to it")]
    TargetInSlot,
    /// The branch needs a register that its slot changes.
    #[error("it is in the delay slot of a jump through the register that it changes")]
    ChangesJump,
}

/// An instruction that cannot be done in software.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmovableInstruction {
    /// Address of the instruction.
    pub address: u32,
    /// Function that contains the instruction, once known.
    pub function: String,
    /// The reason for which the instruction cannot move.
    pub reason: Reason,
}

impl fmt::Display for UnmovableInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            function,
            reason,
        } = self;
        write!(f, "{function} ({address:#x}): {reason}")
    }
}

/// Reasons for which no image is made.
#[derive(Debug, Error)]
pub enum LinkError {
    /// `rust-lld` cannot be started.
    #[error("rust-lld, which is a part of rustc's toolchain, cannot be started: {0}")]
    NoLinker(io::Error),
    /// `rust-lld` has written its own message.
    #[error("rust-lld failed")]
    Linker,
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The linked image is damaged.
    #[error("{path}: {reason}")]
    Image {
        /// The image.
        path: PathBuf,
        /// The defect of the image.
        reason: String,
    },
    /// The image multiplies or divides and has no routines for it.
    #[error(
        "the image multiplies or divides, and {0} is not defined: firmware needs the crate lanigon-tigon2-hal"
    )]
    NoRoutine(String),
    /// Instructions that cannot move.
    #[error("these instructions cannot be done in software:\n{}", lines(.0))]
    Places(Vec<UnmovableInstruction>),
    /// Each further link moves other code.
    #[error("the code for multiplication and division does not come to rest")]
    Restless,
}

fn lines(places: &[UnmovableInstruction]) -> String {
    let lines: Vec<String> = places.iter().map(|place| format!("  {place}")).collect();
    lines.join("\n")
}
