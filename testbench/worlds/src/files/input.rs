//! Input files, each with a limit on its size: an endless or wrong file is refused instead of filling the memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a file, but of one with more than `most` bytes only one byte more.
///
/// # Errors
/// If it cannot be read.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A type of input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// File of a scenario.
    Scenario,
    /// A timing profile.
    Profile,
    /// A firmware image, with its debugging information.
    Image,
    /// A script of the debugger.
    Script,
    /// A snapshot of a run.
    Snapshot,
    /// The recorded actions of a node's host program.
    Replay,
    /// A description of a parameter sweep.
    Sweep,
    /// Published numbers.
    Published,
}

impl Input {
    /// The largest size in bytes.
    #[must_use]
    pub const fn most_bytes(self) -> u64 {
        match self {
            Self::Scenario | Self::Profile | Self::Script | Self::Sweep | Self::Published => {
                1 << 20
            }
            Self::Image => 64 << 20,
            Self::Replay => 128 << 20,
            Self::Snapshot => 256 << 20,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Scenario => "a scenario",
            Self::Profile => "a timing profile",
            Self::Image => "a firmware image",
            Self::Script => "a script",
            Self::Snapshot => "a snapshot",
            Self::Replay => "a recording of a node",
            Self::Sweep => "a sweep",
            Self::Published => "a table of published numbers",
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is larger than [`most_bytes`](Self::most_bytes) ([`ErrorKind::FileTooLarge`]).
    pub fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        self.check(read_at_most(path, self.most_bytes())?)
    }

    /// Reads a file of text.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if it is no UTF-8 ([`ErrorKind::InvalidData`]).
    pub fn read_text(self, path: &Path) -> io::Result<String> {
        let bytes = self.read(path)?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            io::Error::new(
                ErrorKind::InvalidData,
                format!("no text (UTF-8): byte {at}"),
            )
        })
    }

    /// Reads a file that begins with `magic`; of another file only so many bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_with_magic(self, path: &Path, magic: &[u8]) -> io::Result<Vec<u8>> {
        let mut file = self.open(path)?;
        let mut bytes = Vec::new();
        file.by_ref()
            .take(magic.len() as u64)
            .read_to_end(&mut bytes)?;
        if bytes == magic {
            file.read_to_end(&mut bytes)?;
        }
        self.check(bytes)
    }

    /// Opens a file for at most one byte more than it may have.
    fn open(self, path: &Path) -> io::Result<io::Take<File>> {
        Ok(File::open(path)?.take(self.most_bytes() + 1))
    }

    fn check(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        if bytes.len() as u64 <= self.most_bytes() {
            return Ok(bytes);
        }
        let text = format!(
            "larger than {} MB, the limit for {}",
            self.most_bytes() >> 20,
            self.name()
        );
        Err(io::Error::new(ErrorKind::FileTooLarge, text))
    }
}
