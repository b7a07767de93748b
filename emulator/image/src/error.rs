//! Errors of image files.

use thiserror::Error;

use super::check::{self, Forbidden};

/// Reason for refusing an image.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImageError {
    /// The ELF magic is missing.
    #[error("not an ELF file{}", but(.form))]
    NotElf {
        /// The file's format, if it is known.
        form: Option<&'static str>,
    },
    /// A 64-bit file; the NIC's CPUs are 32-bit.
    #[error("a 64-bit ELF file; the NIC needs a 32-bit one")]
    Not32Bit,
    /// A little-endian file; the NIC's CPUs are big-endian.
    #[error("a little-endian ELF file; the NIC is big-endian")]
    LittleEndian,
    /// A file for another instruction set than that of the board.
    #[error(
        "an ELF file for another processor (machine {machine}); the CPUs of {board} run {architecture} code"
    )]
    OtherArchitecture {
        /// Number of the machine in the ELF header.
        machine: u16,
        /// Type of the board.
        board: &'static str,
        /// Instruction set of its CPUs.
        architecture: &'static str,
    },
    /// The firmware is for other types of boards.
    #[error("firmware for boards of type {made_for}, not {board}")]
    OtherBoard {
        /// The types that it is for.
        made_for: String,
        /// Type of the board.
        board: &'static str,
    },
    /// An object file or a library.
    #[error("not an executable: it was not linked, or is a library")]
    NotExecutable,
    /// A field of the ELF header contradicts the form of the file.
    #[error("the ELF header's {field} is {value}, expected {expected}{}", if *.field == "e_shstrndx" { " at most" } else { "" })]
    Header {
        /// The field.
        field: &'static str,
        /// The value in the file.
        value: u32,
        /// The value that it must have, or the largest one.
        expected: u32,
    },
    /// The file ends within a part that its headers describe.
    #[error("the file is cut off within \"{part}\"")]
    Truncated {
        /// Name of the part.
        part: String,
    },
    /// The headers are inconsistent.
    #[error("damaged ELF file: {reason}")]
    Damaged {
        /// Description of the defect.
        reason: String,
    },
    /// No segment has contents.
    #[error(
        "the file loads nothing: none of its segments has contents (a file of debugging information only is for --symbols)"
    )]
    LoadsNothing,
    /// A section with code is in no segment.
    #[error("the code in \"{name}\" is not loaded: it lies in no segment")]
    NotLoaded {
        /// Name of the section.
        name: String,
    },
    /// A segment is longer in the file than in memory.
    #[error(
        "\"{name}\" has {file_bytes} bytes in the file, more than its {memory_bytes} in memory"
    )]
    MoreInFile {
        /// Names of the sections in the segment.
        name: String,
        /// Bytes of the segment in the file.
        file_bytes: u32,
        /// Bytes of the segment in memory.
        memory_bytes: u32,
    },
    /// A segment does not begin at a word.
    #[error("\"{name}\" is {use_} at {address:#x}, which is no multiple of 4: align it")]
    Misaligned {
        /// Names of the sections in the segment.
        name: String,
        /// The use of the address: loaded, or used.
        use_: &'static str,
        /// The address.
        address: u32,
    },
    /// Two segments have a place in common.
    #[error("\"{first}\" and \"{second}\" both {both} {from:#x} to {end:#x}")]
    Overlap {
        /// Names of the sections in one of them.
        first: String,
        /// Names of the sections in the other one.
        second: String,
        /// The verb of both: use, or are loaded to.
        both: &'static str,
        /// Begin of the common place.
        from: u32,
        /// End of the common place.
        end: u32,
    },
    /// A segment exceeds its memory.
    #[error(
        "\"{name}\" does not fit: {size_bytes} bytes at {address:#x}, but {memory} ends at {limit:#x}"
    )]
    DoesNotFit {
        /// Names of the sections in the segment.
        name: String,
        /// Start address.
        address: u32,
        /// Size in memory.
        size_bytes: u32,
        /// Name of the memory.
        memory: &'static str,
        /// End of the memory.
        limit: u32,
    },
    /// The entry point is in no executable section.
    #[error("no code at the entry point {address:#x}")]
    NoEntry {
        /// The entry point.
        address: u32,
    },
    /// A probe entry is invalid.
    #[error("probe {index}: {reason}")]
    BadProbe {
        /// Number of the entry.
        index: usize,
        /// Description of the defect.
        reason: &'static str,
    },
    /// The stack cannot hold what the code is known to use.
    #[error("{}", stack_line(*.available_bytes, *.needed_bytes, .function, *.frame_bytes, .chain) + "; " + .remedy)]
    StackTooSmall {
        /// Size of its stack, with the area to which it may overflow.
        available_bytes: u32,
        /// Bytes of the deepest known chain of calls.
        needed_bytes: u32,
        /// The function with the largest frame among them.
        function: String,
        /// Bytes of that frame.
        frame_bytes: u32,
        /// The chain, outermost first.
        chain: Vec<String>,
        /// Advice how to get a larger stack.
        remedy: String,
    },
    /// The code contains instructions that the chip does not have.
    #[error("{}", check::list(.0))]
    ForbiddenInstructions(Vec<Forbidden>),
}

impl ImageError {
    /// Converts goblin's errors: the file is cut off or inconsistent.
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

fn but(form: &Option<&str>) -> String {
    form.map_or(String::new(), |form| format!(", but {form}"))
}

/// A frame that is larger than the stack, or a chain of calls.
fn stack_line(available: u32, needed: u32, function: &str, frame: u32, chain: &[String]) -> String {
    if frame > available {
        return format!(
            "the stack of {available} bytes is too small: {function} takes {frame} for its frame"
        );
    }
    let chain = chain.join(" > ");
    format!(
        "the stack of {available} bytes is too small: {needed} are needed by {chain} \
         ({function} takes {frame})"
    )
}
