//! Files with control programs: raw images and COFF.

use std::path::{Path, PathBuf};

use emulator::image::Image;
use emulator::image::coff::{Coff, CoffError, is_coff};
use emulator::image::raw::{Raw, RawError, identification, named_chip};
use emulator::lanai::chip::Generation;
use host_lib::firmware::Firmware;

use crate::boards::BoardType;
use crate::files::input::read_at_most;

/// Limit of a file's size.
const MOST_FILE_BYTES: u64 = 16 << 20;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Contents of memory.
    Raw,
    /// The object format of Unix System V.
    Coff,
}

impl Format {
    /// Name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Coff => "coff",
        }
    }

    /// The format that a file seems to have.
    #[must_use]
    pub fn detect(file: &[u8]) -> Self {
        if is_coff(file) { Self::Coff } else { Self::Raw }
    }
}

/// A control program, read from a file.
#[derive(Debug, Clone)]
pub struct ControlProgram {
    /// Format of its file.
    pub format: Format,
    /// Parts to load.
    pub firmware: Firmware,
    /// Identification in the image.
    pub identification: Option<String>,
    /// The generation of the LANai for which it says that it was made.
    pub chip: Option<u32>,
    /// Bytes of the file in front of the image.
    pub skipped_bytes: usize,
}

/// Reasons for which a file is no control program.
#[derive(Debug, thiserror::Error)]
pub enum ProgramProblem {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// The file is too long.
    #[error("longer than {} MB", MOST_FILE_BYTES >> 20)]
    TooLong,
    /// The file is no COFF image.
    #[error(transparent)]
    Coff(#[from] CoffError),
    /// The file is no raw image.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// Bytes in front of a COFF image.
    #[error("a COFF image has no bytes to skip")]
    Skip,
    /// A Tigon2 or LLVM image.
    #[error("an ELF image; control programs of that time are raw images or COFF")]
    Elf,
}

/// A file cannot be used as a control program.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ProgramError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub problem: ProgramProblem,
}

impl ControlProgram {
    /// Takes a file's contents as a control program for a board with `sram_bytes` of memory. Without a `format` the file
    /// tells it; `skip` is the number of bytes in front of a raw image, which the file tells too if it is not given.
    ///
    /// # Errors
    /// [`ProgramProblem`].
    pub fn parse(
        file: &[u8],
        format: Option<Format>,
        skip: Option<usize>,
        sram_bytes: u32,
    ) -> Result<Self, ProgramProblem> {
        let format = format.unwrap_or_else(|| Format::detect(file));
        if format == Format::Raw && file.starts_with(b"\x7FELF") {
            return Err(ProgramProblem::Elf);
        }
        let entry = 0;
        Ok(match format {
            Format::Coff if skip.is_some() => return Err(ProgramProblem::Skip),
            Format::Coff => {
                let image = Coff::parse(file, sram_bytes)?;
                let (segments, chip) = (image.parts(), image.named_chip());
                Self {
                    format,
                    firmware: Firmware { segments, entry },
                    identification: chip.map(|chip| format!("for a LANai {chip}")),
                    chip,
                    skipped_bytes: 0,
                }
            }
            Format::Raw => {
                let image = Raw::parse(file, skip, sram_bytes)?;
                let segments = image.parts();
                let identification = identification(&image.bytes);
                Self {
                    format,
                    firmware: Firmware { segments, entry },
                    chip: identification.as_deref().and_then(named_chip),
                    identification,
                    skipped_bytes: image.skipped_bytes,
                }
            }
        })
    }

    /// Tells that the program names another chip than that of the board.
    #[must_use]
    pub fn warning(&self, generation: Generation) -> Option<String> {
        let (chip, found) = (self.chip?, generation.number());
        (chip != found).then(|| {
            format!("the program says that it is for a LANai {chip}; the board has a LANai {found}")
        })
    }
}

impl ControlProgram {
    /// Describes the form of its file, with its identification.
    #[must_use]
    pub fn form(&self) -> String {
        let name = self.identification.as_deref();
        let name = name.unwrap_or("no identification");
        format!("control program ({}, {name})", self.format.name())
    }

    /// The image for a board.
    #[must_use]
    pub fn image(&self, board: &BoardType, sram_bytes: u32) -> Image {
        let Firmware { segments, entry } = self.firmware.clone();
        Image::loaded(
            self.form(),
            entry,
            segments,
            &board.image_limits(sram_bytes),
        )
    }
}

/// Whether a file is a control program beyond doubt: COFF, or a raw image with an identification.
#[must_use]
pub fn is_control_program(file: &[u8]) -> bool {
    let raw = Raw::parse(file, None, u32::MAX);
    is_coff(file) || raw.is_ok_and(|raw| identification(&raw.bytes).is_some())
}

/// Reads the contents of a file that may be a control program.
///
/// # Errors
/// [`ProgramError`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let read = || {
        let bytes = read_at_most(path, MOST_FILE_BYTES)?;
        match bytes.len() as u64 > MOST_FILE_BYTES {
            true => Err(ProgramProblem::TooLong),
            false => Ok(bytes),
        }
    };
    read().map_err(|problem| ProgramError {
        path: path.into(),
        problem,
    })
}
