//! Firmware images: their folder, reading, and the form in which a host loads them.

use std::path::{Path, PathBuf};

use emulator::image::{Image, ImageError};
use host_lib::firmware::Firmware;

use crate::boards::{self, BoardType};

/// A firmware image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FirmwareError {
    /// The file cannot be read.
    #[error("{path}: {error}{hint}")]
    File {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: std::io::Error,
        /// Advice for the user.
        hint: &'static str,
    },
    /// The image is not valid for the board.
    #[error("{path}: {error}")]
    Image {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: ImageError,
    },
}

impl BoardType {
    /// Folder of the built firmware images for this board.
    #[must_use]
    pub fn image_folder(&self) -> PathBuf {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        project.join(self.images)
    }

    /// Reads an image file for this board with so much SRAM.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid for the board.
    pub fn read_image(&self, path: &Path, sram_bytes: u32) -> Result<Image, FirmwareError> {
        read(self, path, sram_bytes)
    }

    /// Reads a built-in image for this board.
    ///
    /// # Errors
    /// Errors of [`read_image`](Self::read_image).
    pub fn own_image(&self, name: &str, sram_bytes: u32) -> Result<Image, FirmwareError> {
        read(self, &self.image_folder().join(name), sram_bytes)
    }
}

/// Folder of the built firmware images for the default board.
#[must_use]
pub fn image_folder() -> PathBuf {
    boards::DEFAULT.image_folder()
}

/// Reads an image file for the default board with this SRAM.
///
/// # Errors
/// If the file cannot be read or is not valid for the board.
pub fn read_image(path: &Path, sram_bytes: u32) -> Result<Image, FirmwareError> {
    read(boards::DEFAULT, path, sram_bytes)
}

fn read(board: &BoardType, path: &Path, sram_bytes: u32) -> Result<Image, FirmwareError> {
    let bytes = std::fs::read(path).map_err(|error| FirmwareError::File {
        path: path.into(),
        hint: match error.kind() {
            std::io::ErrorKind::NotFound if path.starts_with(board.image_folder()) => {
                " (build the firmware first: make firmware)"
            }
            _ => "",
        },
        error,
    })?;
    let limits = board.image_limits(sram_bytes);
    Image::parse(&bytes, &limits).map_err(|error| FirmwareError::Image {
        path: path.into(),
        error,
    })
}

/// Reads a built-in image for the default board.
///
/// # Errors
/// Errors of [`read_image`].
pub fn own_image(name: &str, sram_bytes: u32) -> Result<Image, FirmwareError> {
    boards::DEFAULT.own_image(name, sram_bytes)
}

/// The image for the host library.
#[must_use]
pub fn firmware(image: &Image) -> Firmware {
    Firmware {
        segments: image
            .load_parts()
            .map(|(address, bytes)| (address, bytes.to_vec()))
            .collect(),
        entry: image.entry,
    }
}
