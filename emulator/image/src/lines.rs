//! Source lines of an image's code, from its DWARF sections: the source line and inlined functions of an
//! instruction, and the instructions of a line.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use addr2line::Context;
use gimli::{BigEndian, Dwarf, EndianArcSlice};
use goblin::elf::Elf;
use thiserror::Error;

use super::Image;
use super::compressed::OLD_NAME;
use super::elf::{section_bytes, section_name};
use super::error::ImageError;

type Bytes = EndianArcSlice<BigEndian>;

/// Begin of the names of DWARF sections.
const NAME: &str = ".debug_";

/// The DWARF sections of an image.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DebugInfo(BTreeMap<String, Arc<[u8]>>);

impl fmt::Debug for DebugInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl DebugInfo {
    /// Reads the DWARF sections of a file.
    pub(super) fn read(elf: &Elf, file: &[u8]) -> Result<Self, ImageError> {
        let mut sections = BTreeMap::new();
        for header in &elf.section_headers {
            let name = section_name(elf, header);
            let usual = match name.strip_prefix(OLD_NAME) {
                Some(rest) => format!("{NAME}{rest}"),
                None => name.into(),
            };
            if usual.starts_with(NAME) {
                let bytes = section_bytes(file, header, name)?;
                sections.insert(usual, bytes.into());
            }
        }
        Ok(Self(sections))
    }

    pub(super) fn section(&self, id: gimli::SectionId) -> Bytes {
        let bytes = self.0.get(id.name()).cloned();
        Bytes::new(bytes.unwrap_or_default(), BigEndian)
    }
}

/// Reason for a failed look-up of lines.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LinesError {
    /// The image was linked without line tables, or they were stripped.
    #[error("the image has no line tables: build it with debug = \"line-tables-only\"")]
    None,
    /// The tables are inconsistent.
    #[error("damaged line tables: {0}")]
    Damaged(String),
    /// The image has no code from this file.
    #[error("no code comes from a file {file}")]
    NoFile {
        /// The requested file.
        file: String,
    },
    /// The image has no code from this line.
    #[error("no code comes from {file}:{line}{}", next_line(.next))]
    NoCode {
        /// The file.
        file: String,
        /// The line.
        line: u32,
        /// The next line with code.
        next: Option<u32>,
    },
}

fn next_line(next: &Option<u32>) -> String {
    next.map_or(String::new(), |next| {
        format!("; the next line with code is {next}")
    })
}

impl From<gimli::Error> for LinesError {
    fn from(error: gimli::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Source position of an instruction, in a function that may be inlined into another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFrame {
    /// Name of the function, if known.
    pub function: Option<String>,
    /// Path, relative to the root of its workspace or, for the standard library, starting with the crate's
    /// name.
    pub file: Arc<str>,
    /// Line number from 1; 0 if unknown.
    pub line: u32,
    /// Number of the byte in the line, from 1; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "{function} at ")?;
        }
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// File, line, and address of the first instruction of a range of code.
type CodeLine = (Arc<str>, u32, u32);

/// The source lines of an image's code. Results are cached: the first look-up of an address is slow.
pub struct Lines {
    context: Mutex<Context<Bytes>>,
    frames: Mutex<BTreeMap<u32, Arc<[SourceFrame]>>>,
    /// Paths at which the compiler found the files of these frames.
    paths: Mutex<BTreeMap<Arc<str>, Arc<str>>>,
    /// Positions of all code, sorted; computed on demand.
    places: OnceLock<Result<Vec<CodeLine>, LinesError>>,
    folders: Folders,
    code: Vec<Range<u32>>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("folders", &self.folders)
            .finish_non_exhaustive()
    }
}

impl Image {
    /// Reads the image's source lines.
    ///
    /// # Errors
    /// [`LinesError::None`] or [`LinesError::Damaged`].
    pub fn lines(&self) -> Result<Lines, LinesError> {
        Lines::new(self)
    }
}

impl Lines {
    fn new(image: &Image) -> Result<Self, LinesError> {
        let load = |id| Ok::<_, gimli::Error>(image.debug.section(id));
        let dwarf = Dwarf::load(load)?;
        let folders = Folders::read(&dwarf)?;
        let context = Context::from_dwarf(dwarf)?;
        let executable = image.sections.iter().filter(|section| section.executable);
        // The linker leaves the lines of removed functions at address 0.
        let any = context.find_location_range(1, u64::from(u32::MAX))?.next();
        if any.is_none() {
            return Err(LinesError::None);
        }
        Ok(Self {
            places: OnceLock::new(),
            context: Mutex::new(context),
            frames: Mutex::default(),
            paths: Mutex::default(),
            folders,
            code: executable
                .map(|section| {
                    section.run_address..section.run_address.saturating_add(section.size_bytes)
                })
                .collect(),
        })
    }

    /// Computes the positions of all code at the first call.
    fn places(&self) -> Result<&[CodeLine], LinesError> {
        let places = self.places.get_or_init(|| {
            let mut places = BTreeSet::new();
            for code in &self.code {
                let mut before: Arc<[SourceFrame]> = Arc::default();
                for address in code.clone().step_by(4) {
                    let frames = self.at(address)?;
                    let goes_on = |frame: &SourceFrame| before.iter().any(|last| last == frame);
                    for frame in frames.iter().filter(|frame| !goes_on(frame)) {
                        places.insert((Arc::clone(&frame.file), frame.line, address));
                    }
                    before = frames;
                }
            }
            Ok(places.into_iter().collect())
        });
        places.as_deref().map_err(Clone::clone)
    }

    fn is_code(&self, address: u32) -> bool {
        self.code.iter().any(|code| code.contains(&address))
    }

    /// Source positions of the instruction at `address`: the innermost inlined function first. Empty if
    /// unknown.
    ///
    /// # Errors
    /// [`LinesError::Damaged`].
    pub fn at(&self, address: u32) -> Result<Arc<[SourceFrame]>, LinesError> {
        let mut known = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(frames) = known.get(&address) {
            return Ok(Arc::clone(frames));
        }
        let frames: Arc<[SourceFrame]> = match self.is_code(address) {
            true => self.find(address)?.into(),
            false => Arc::default(),
        };
        known.insert(address, Arc::clone(&frames));
        Ok(frames)
    }

    /// The path at which the compiler found a file of a frame of [`at`](Self::at), on the machine on which it ran.
    #[must_use]
    pub fn path(&self, file: &str) -> Option<Arc<str>> {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.get(file).cloned()
    }

    fn find(&self, address: u32) -> Result<Vec<SourceFrame>, LinesError> {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        let mut frames = context.find_frames(address.into()).skip_all_loads()?;
        let mut found = Vec::new();
        while let Some(frame) = frames.next()? {
            let name = frame.function.as_ref().map(|name| name.raw_name());
            let name = name.transpose()?;
            let location = frame.location;
            let path = location.as_ref().and_then(|location| location.file);
            let path = path.unwrap_or("?");
            let file: Arc<str> = self.folders.shorten(path).into();
            let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
            paths
                .entry(Arc::clone(&file))
                .or_insert_with(|| path.into());
            found.push(SourceFrame {
                function: name.map(|name| format!("{:#}", rustc_demangle::demangle(&name))),
                file,
                line: location.as_ref().and_then(|at| at.line).unwrap_or(0),
                column: location.and_then(|at| at.column).unwrap_or(0),
            });
        }
        Ok(found)
    }

    /// The files with code, sorted.
    ///
    /// # Errors
    /// [`LinesError::Damaged`].
    pub fn files(&self) -> Result<Vec<Arc<str>>, LinesError> {
        let files: BTreeSet<_> = self.places()?.iter().map(|(file, ..)| file).collect();
        Ok(files.into_iter().cloned().collect())
    }

    /// Address of the first instruction of each range of code that comes from a line, inlined code
    /// included, sorted. `file` is a path from [`files`](Self::files) or its last parts; if several files
    /// match, all of them are searched.
    ///
    /// # Errors
    /// [`LinesError::NoFile`], [`LinesError::NoCode`] or [`LinesError::Damaged`].
    pub fn addresses(&self, file: &str, line: u32) -> Result<Vec<u32>, LinesError> {
        let of_file: Vec<_> = self
            .places()?
            .iter()
            .filter(|(path, ..)| means(path, file))
            .collect();
        if of_file.is_empty() {
            return Err(LinesError::NoFile { file: file.into() });
        }
        let of_line = of_file.iter().filter(|place| place.1 == line);
        let mut addresses: Vec<u32> = of_line.map(|place| place.2).collect();
        addresses.sort_unstable();
        if addresses.is_empty() {
            let lines = of_file.iter().map(|place| place.1);
            return Err(LinesError::NoCode {
                file: file.into(),
                line,
                next: lines.filter(|&other| other > line).min(),
            });
        }
        Ok(addresses)
    }
}

/// Whether `file` is `path` or its last parts.
fn means(path: &str, file: &str) -> bool {
    let before = path.strip_suffix(file);
    !file.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The end of an absolute path, from its package's folder on; the file's name if it lies in no folder `src`.
fn of_package(path: &str) -> &str {
    let source = path.rfind("/src/").unwrap_or(path.len());
    let start = path[..source].rfind('/').unwrap_or(0);
    path[start..].trim_start_matches('/')
}

/// The folders in which the compiler ran for the image's workspace. They are removed from displayed paths. Of other packages, which cargo
/// names by absolute paths, the folder's name stays: `src/lib.rs` could be any.
#[derive(Debug, Default)]
struct Folders(BTreeSet<String>);

impl Folders {
    fn read(dwarf: &Dwarf<Bytes>) -> Result<Self, LinesError> {
        let mut folders = BTreeSet::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let text = |text: Option<Bytes>| match text {
                Some(text) => gimli::Reader::to_string_lossy(&text).map(Cow::into_owned),
                None => Ok(String::new()),
            };
            let (folder, name) = (text(unit.comp_dir.clone())?, text(unit.name.clone())?);
            if !folder.is_empty() && !name.starts_with(&folder) {
                folders.insert(format!("{}/", folder.trim_end_matches('/')));
            }
        }
        Ok(Self(folders))
    }

    /// A path without its machine-dependent part.
    fn shorten(&self, path: &str) -> String {
        // The standard library and registry crates: keep the path from the crate's name on.
        if let Some((_, rest)) = path.split_once("/library/") {
            return rest.into();
        }
        if let Some((_, rest)) = path.split_once("/registry/src/") {
            return rest.split_once('/').map_or(rest, |(_, rest)| rest).into();
        }
        let inside = self.0.iter().find_map(|folder| path.strip_prefix(folder));
        match inside {
            Some(inside) => inside.into(),
            None if path.starts_with('/') => of_package(path).into(),
            None => path.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_machines() {
        let folders = Folders(["/home/me/nic/firmware/".into()].into());
        let check = |path: &str, short: &str| assert_eq!(folders.shorten(path), short);
        check("/home/me/nic/firmware/emp/src/ring.rs", "emp/src/ring.rs");
        check(
            "/home/me/.rustup/lib/rustlib/src/rust/library/core/src/ptr/mod.rs",
            "core/src/ptr/mod.rs",
        );
        check("/rustc/0123/library/alloc/src/vec.rs", "alloc/src/vec.rs");
        check(
            "/home/me/.cargo/registry/src/index-0123/bitflags-2.9/src/lib.rs",
            "bitflags-2.9/src/lib.rs",
        );
        check("/elsewhere/main.rs", "main.rs");
        check("/elsewhere/gm/src/page/mod.rs", "gm/src/page/mod.rs");
        check(
            "lanigon/firmware/lanai/rt/src/lib.rs",
            "lanigon/firmware/lanai/rt/src/lib.rs",
        );
        check("src/main.rs", "src/main.rs");
    }

    #[test]
    fn a_file_by_its_last_parts() {
        let path = "tigon2-hal/src/timer.rs";
        assert!(means(path, path) && means(path, "timer.rs") && means(path, "src/timer.rs"));
        assert!(!means(path, "mer.rs") && !means(path, "") && !means(path, "/timer.rs"));
    }
}
