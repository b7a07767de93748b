//! Why a file is not an image for the board: one line each.

use thiserror::Error;

use super::check::Forbidden;

/// Why an image was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImageError {
    /// No ELF magic.
    #[error("not an ELF file")]
    NotElf,
    /// The NIC's CPUs are 32-bit.
    #[error("a 64-bit ELF file; the NIC needs a 32-bit one")]
    Not32Bit,
    /// The NIC's CPUs are big-endian.
    #[error("a little-endian ELF file; the NIC is big-endian")]
    LittleEndian,
    /// For another processor.
    #[error("an ELF file for another processor (machine {machine}); the NIC is MIPS")]
    NotMips {
        /// The ELF header's machine number.
        machine: u16,
    },
    /// An object file or a library.
    #[error("not an executable: it was not linked, or is a library")]
    NotExecutable,
    /// The file ends within a part that its headers announce.
    #[error("the file is cut off within \"{part}\"")]
    Truncated {
        /// The part.
        part: String,
    },
    /// The headers contradict themselves.
    #[error("damaged ELF file: {reason}")]
    Damaged {
        /// What is wrong.
        reason: String,
    },
    /// A segment leaves its memory.
    #[error(
        "\"{name}\" does not fit: {size_bytes} bytes at {address:#x}, but {memory} ends at {limit:#x}"
    )]
    DoesNotFit {
        /// The sections in the segment.
        name: String,
        /// Where it begins.
        address: u32,
        /// What it takes.
        size_bytes: u32,
        /// The memory.
        memory: &'static str,
        /// Where that ends.
        limit: u32,
    },
    /// The entry point is in no executable section.
    #[error("no code at the entry point {address:#x}")]
    NoEntry {
        /// The entry point.
        address: u32,
    },
    /// A probe entry cannot be read.
    #[error("probe {index}: {reason}")]
    BadProbe {
        /// Number of the entry.
        index: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// The code holds instructions that the chip does not have.
    #[error("{}", forbidden_line(.0))]
    ForbiddenInstructions(Vec<Forbidden>),
}

impl ImageError {
    /// goblin's errors: it reads behind the end, or finds nonsense.
    pub(super) fn from_goblin(error: goblin::error::Error) -> Self {
        match error {
            goblin::error::Error::Scroll(_) | goblin::error::Error::BufferTooShort(..) => {
                Self::Truncated {
                    part: "ELF headers and tables".into(),
                }
            }
            other => Self::Damaged {
                reason: other.to_string(),
            },
        }
    }
}

/// The first finding, and how many there are.
fn forbidden_line(found: &[Forbidden]) -> String {
    match found {
        [] => "instructions that the chip does not have".into(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}
