//! Firmware images: their folder, reading, and the form in which a host loads them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use emulator::image::{DebugLink, Image, ImageError, Names, SymbolsError};
use host_lib::firmware::Firmware;

use crate::boards::{BOARDS, BoardType, DEFAULT, OtherForm};
use crate::files::input::Input;
use crate::files::own::{self, DataLocation};
use crate::files::wanted::{self, WantedArgument};
use crate::scenario::unknown;

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
        hint: String,
    },
    /// The image is not valid for the board.
    #[error("{path}: {error}")]
    Image {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: ImageError,
    },
    /// The file is of another form than ELF and not valid for the board, or no image.
    #[error("{path}: {reason}")]
    OtherForm {
        /// The file.
        path: PathBuf,
        /// Defect of the image.
        reason: String,
    },
    /// The file does not name the image's code.
    #[error("{path}: {error}")]
    Symbols {
        /// The file with the symbols.
        path: PathBuf,
        /// Reason.
        error: SymbolsError,
    },
}

/// Begin of an ELF file.
pub(crate) const ELF_MAGIC: &[u8] = b"\x7fELF";

impl BoardType {
    /// Folder of the firmware images for boards of this type that the project builds.
    #[must_use]
    pub fn image_folder(&self) -> PathBuf {
        own::project_images(self.images)
    }

    /// Reads an image file for a board of this type with this SRAM.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid for the board.
    pub fn read_image(&self, path: &Path, sram_bytes: u32) -> Result<Image, FirmwareError> {
        self.read(&DataLocation::File(path.into()), sram_bytes)
    }

    /// Reads an image, with the names of the file to which it [links](DebugLink) if that lies beside it.
    ///
    /// # Errors
    /// If the image cannot be read or is not valid for the board.
    pub fn read(&self, found: &DataLocation, sram_bytes: u32) -> Result<Image, FirmwareError> {
        let image = self.read_alone(found, sram_bytes)?;
        Ok(match (&image.names, found) {
            (Names::Linked(link), DataLocation::File(path)) => {
                let link = link.clone();
                self.with_link(image, path, &link, sram_bytes)
            }
            _ => image,
        })
    }

    /// Reads an image without other files.
    ///
    /// # Errors
    /// If it cannot be read or is not valid for the board.
    pub fn read_alone(
        &self,
        found: &DataLocation,
        sram_bytes: u32,
    ) -> Result<Image, FirmwareError> {
        let bytes = self.read_bytes(found)?;
        let mut image = self.parse_image(&found.to_string(), &bytes, sram_bytes)?;
        if let DataLocation::File(path) = found {
            let written = path.metadata().and_then(|file| file.modified());
            image.built = written.ok();
        }
        Ok(image)
    }

    pub(crate) fn read_bytes(&self, found: &DataLocation) -> Result<Vec<u8>, FirmwareError> {
        if let DataLocation::File(path) = found
            && let Some(reason) = wanted::refused(path, WantedArgument::Image)
        {
            let path = path.clone();
            return Err(FirmwareError::OtherForm { path, reason });
        }
        found.read(Input::Image).map_err(|error| {
            let path = PathBuf::from(found.to_string());
            // A name alone is that of a built-in image.
            let own = path.starts_with(self.image_folder()) || path.components().count() == 1;
            FirmwareError::File {
                path,
                hint: match error.kind() {
                    ErrorKind::NotFound if own => format!(" ({})", self.advice_on(found)),
                    _ => String::new(),
                },
                error,
            }
        })
    }

    /// Advice on a built-in image that is missing: it is of other boards, its name is misspelled, or nothing is built.
    fn advice_on(&self, missing: &DataLocation) -> String {
        let path = PathBuf::from(missing.to_string());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut others = BOARDS.iter().filter(|board| board.images != self.images);
        if let Some(other) = others.find(|board| own::images(board.images).contains_key(&*name)) {
            return format!(
                "\"{name}\" is an image for {} boards, this one is for {}",
                other.images, self.images
            );
        }
        let known = own::images(self.images);
        if known.is_empty() {
            return "build the firmware first: make firmware".into();
        }
        unknown(
            &format!("image for {} boards", self.images),
            &name,
            known.keys().map(String::as_str),
        )
    }

    /// Takes the content of a file as an image for a board of this type with this SRAM: ELF, or the other form of the board's
    /// firmware. `name` is that of the file, for messages.
    ///
    /// # Errors
    /// If it is not valid for the board.
    pub fn parse_image(
        &self,
        name: &str,
        bytes: &[u8],
        sram_bytes: u32,
    ) -> Result<Image, FirmwareError> {
        let limits = self.image_limits(sram_bytes);
        let is_elf = bytes.starts_with(ELF_MAGIC);
        match self.other_form(bytes, sram_bytes).filter(|_| !is_elf) {
            Some(Ok(OtherForm {
                description,
                firmware: Firmware { segments, entry },
            })) => Ok(Image::loaded(description, entry, segments, &limits)),
            Some(Err(reason)) => Err(FirmwareError::OtherForm {
                path: name.into(),
                reason,
            }),
            None => Image::parse(bytes, &limits).map_err(|error| FirmwareError::Image {
                path: name.into(),
                error,
            }),
        }
    }

    /// The image with the symbols, lines and probes of an ELF file, which must be for the same code.
    ///
    /// # Errors
    /// If the file cannot be read, is not valid for the board, or is for other code.
    pub fn with_symbols(
        &self,
        image: Image,
        symbols: &DataLocation,
        sram_bytes: u32,
    ) -> Result<Image, FirmwareError> {
        let bytes = self.read_bytes(symbols)?;
        let named =
            image.with_symbols(&symbols.to_string(), &bytes, &self.image_limits(sram_bytes));
        named.map_err(|error| FirmwareError::Symbols {
            path: symbols.to_string().into(),
            error,
        })
    }

    /// The image with the names of the file to which it links, where debuggers look for it. An image that cannot have them runs
    /// without; a warning says why.
    fn with_link(&self, image: Image, path: &Path, link: &DebugLink, sram_bytes: u32) -> Image {
        let folder = path.parent().unwrap_or(Path::new(""));
        let places = [
            folder.join(&link.file),
            folder.join(".debug").join(&link.file),
        ];
        let mut problem = format!("{} is not beside it", link.file);
        for place in places.iter().filter(|place| place.exists()) {
            problem = match Input::Image.read(place) {
                Err(error) => format!("{}: {error}", place.display()),
                Ok(bytes) if !link.is(&bytes) => {
                    format!("{} has another checksum than it names", place.display())
                }
                Ok(_) => {
                    let found = DataLocation::File(place.clone());
                    match self.with_symbols(image.clone(), &found, sram_bytes) {
                        Ok(named) => return named,
                        Err(error) => error.to_string(),
                    }
                }
            };
        }
        log::warn!(
            "{}: without the names and lines of its debug link: {problem}",
            path.display()
        );
        image
    }

    /// Reads a built-in image for a board of this type.
    ///
    /// # Errors
    /// Errors of [`read_image`](Self::read_image).
    pub fn own_image(&self, name: &str, sram_bytes: u32) -> Result<Image, FirmwareError> {
        self.read(&own::image(self.images, name), sram_bytes)
    }

    /// Reads an image file, or the built-in image that has the name if there is no such file.
    ///
    /// # Errors
    /// Errors of [`read_image`](Self::read_image).
    pub fn find_image(&self, path: &Path, sram_bytes: u32) -> Result<Image, FirmwareError> {
        self.read(&self.find(path), sram_bytes)
    }

    /// Location of an image: the file, or else the built-in image of this name.
    #[must_use]
    pub fn find(&self, path: &Path) -> DataLocation {
        let name = path.to_str().filter(|name| !name.contains('/'));
        match name.filter(|_| path.symlink_metadata().is_err()) {
            Some(name) if own::images(self.images).contains_key(name) => {
                own::image(self.images, name)
            }
            _ => DataLocation::File(path.into()),
        }
    }
}

/// Folder of the built firmware images for boards of the default type.
#[must_use]
pub fn image_folder() -> PathBuf {
    DEFAULT.image_folder()
}

/// Reads an image file for a board of the default type with this SRAM.
///
/// # Errors
/// If the file cannot be read or is not valid for the board.
pub fn read_image(path: &Path, sram_bytes: u32) -> Result<Image, FirmwareError> {
    DEFAULT.read_image(path, sram_bytes)
}

/// Reads a built-in image for a board of the default type.
///
/// # Errors
/// Errors of [`read_image`].
pub fn own_image(name: &str, sram_bytes: u32) -> Result<Image, FirmwareError> {
    DEFAULT.own_image(name, sram_bytes)
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
