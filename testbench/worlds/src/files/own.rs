//! The project's own data: firmware images, example scenarios and sweeps.
//!
//! They come from, in this order:
//!
//! 1. the data folder that the user names: `images/FAMILY/NAME`, `scenarios/NAME.toml`, `sweeps/NAME.toml`, `profiles/NAME.toml`,
//!    `published/NAME.csv`;
//! 2. the project's folder, for a program that was built in it and lies there;
//! 3. the program itself, which [embeds](provide) them;
//! 4. the project's folder, for libraries that other projects use from it.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use super::input::Input;

/// An image in the program.
#[derive(Debug)]
pub struct EmbeddedImage {
    /// Family of boards.
    pub family: &'static str,
    /// Name.
    pub name: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

/// Data in the program.
#[derive(Debug)]
pub struct Embedded {
    /// Firmware images of the program.
    pub images: &'static [EmbeddedImage],
    /// Names and texts of scenarios.
    pub scenarios: &'static [(&'static str, &'static str)],
    /// Names and texts of sweeps.
    pub sweeps: &'static [(&'static str, &'static str)],
}

static EMBEDDED: OnceLock<Embedded> = OnceLock::new();
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Tells what the program contains, once, before anything is looked up.
pub fn provide(embedded: Embedded) {
    // A second call changes nothing: what was looked up stays true.
    let _ = EMBEDDED.set(embedded);
}

/// Sets the data folder, once, before anything is looked up.
///
/// # Errors
/// If there is no such folder.
pub fn set_folder(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let _ = FOLDER.set(path.to_owned());
    Ok(())
}

/// The data folder, if one is set.
#[must_use]
pub fn folder() -> Option<&'static Path> {
    FOLDER.get().map(PathBuf::as_path)
}

/// Files of this project that a folder around the program must have to be taken for it.
const PARTS: [&str; 2] = ["testbench/worlds/Cargo.toml", "firmware/defs/Cargo.toml"];

/// The project's folder: the one in which this program lies, which may be a copy of the one in which it was built; otherwise that one.
#[must_use]
pub fn project() -> &'static Path {
    static PROJECT: LazyLock<PathBuf> = LazyLock::new(|| {
        let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = std::env::current_exe().unwrap_or_default();
        let program = program.canonicalize().unwrap_or(program);
        let project = around(&program).map_or_else(built, Path::to_owned);
        project.canonicalize().unwrap_or(project)
    });
    &PROJECT
}

/// The nearest folder around a file that is a clone of this project.
fn around(file: &Path) -> Option<&Path> {
    let is_clone = |folder: &&Path| PARTS.iter().all(|part| folder.join(part).is_file());
    file.ancestors().find(is_clone)
}

/// Whether this program lies in the project's folder for built files.
fn is_in_project() -> bool {
    static HERE: LazyLock<bool> = LazyLock::new(|| {
        let program = std::env::current_exe().and_then(|path| path.canonicalize());
        program.is_ok_and(|program| program.starts_with(project().join("target")))
    });
    *HERE
}

/// Location of a piece of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataLocation {
    /// A file, which may be missing.
    File(PathBuf),
    /// Data in the program.
    Embedded(&'static [u8]),
}

impl DataLocation {
    /// Reads it.
    ///
    /// # Errors
    /// As [`Input::read`].
    pub fn read(&self, input: Input) -> io::Result<Vec<u8>> {
        match self {
            Self::File(path) => input.read(path),
            Self::Embedded(bytes) => Ok(bytes.to_vec()),
        }
    }
}

impl Display for DataLocation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Embedded(_) => f.write_str("in this program"),
        }
    }
}

/// Folder of a family's images in the project.
#[must_use]
pub fn project_images(family: &str) -> PathBuf {
    project()
        .join("firmware/target")
        .join(family)
        .join("release")
}

/// Folder of the scenarios in the project.
#[must_use]
pub fn project_scenarios() -> PathBuf {
    project().join("scenarios")
}

/// Folder of the example sweeps in the project.
#[must_use]
pub fn project_sweeps() -> PathBuf {
    project().join("examples/sweeps")
}

fn file_in(folder: Option<PathBuf>, name: &str) -> Option<DataLocation> {
    let path = folder?.join(name);
    path.is_file().then_some(DataLocation::File(path))
}

fn user_folder(part: &str) -> Option<PathBuf> {
    FOLDER.get().map(|folder| folder.join(part))
}

fn embedded_image(family: &str, name: &str) -> Option<DataLocation> {
    let mut all = EMBEDDED.get()?.images.iter();
    let image = all.find(|image| (image.family, image.name) == (family, name))?;
    Some(DataLocation::Embedded(image.bytes))
}

/// A built-in image; if it is nowhere, the file in the project that is missing.
#[must_use]
pub fn image(family: &str, name: &str) -> DataLocation {
    let in_project = project_images(family).join(name);
    file_in(
        user_folder("images").map(|folder| folder.join(family)),
        name,
    )
    .or_else(|| is_in_project().then(|| DataLocation::File(in_project.clone())))
    .or_else(|| embedded_image(family, name))
    .unwrap_or(DataLocation::File(in_project))
}

/// All built-in images of a family, by name.
#[must_use]
pub fn images(family: &str) -> BTreeMap<String, DataLocation> {
    let mut all = BTreeMap::new();
    let embedded = EMBEDDED.get().filter(|_| !is_in_project());
    match embedded {
        Some(embedded) => {
            let of_family = embedded
                .images
                .iter()
                .filter(|image| image.family == family);
            all.extend(
                of_family.map(|image| (image.name.into(), DataLocation::Embedded(image.bytes))),
            );
        }
        None => all.extend(files(&project_images(family), image_name)),
    }
    if let Some(folder) = user_folder("images") {
        all.extend(files(&folder.join(family), image_name));
    }
    all
}

/// An example scenario with this name, which may have the folder and the extension: `pair`, `scenarios/pair.toml`.
#[must_use]
pub fn scenario(name: &str) -> Option<DataLocation> {
    named(name, "scenarios/", scenarios())
}

/// An example sweep with this name, which may have the folder and the extension: `loss`, `examples/sweeps/loss.toml`.
#[must_use]
pub fn sweep(name: &str) -> Option<DataLocation> {
    named(name, "examples/sweeps/", sweeps())
}

fn named(
    name: &str,
    folder: &str,
    mut all: BTreeMap<String, DataLocation>,
) -> Option<DataLocation> {
    let name = name.strip_prefix(folder).unwrap_or(name);
    let name = name.strip_suffix(".toml").unwrap_or(name);
    all.remove(name)
}

/// All example scenarios, by name.
#[must_use]
pub fn scenarios() -> BTreeMap<String, DataLocation> {
    texts("scenarios", &project_scenarios(), |embedded| {
        embedded.scenarios
    })
}

/// All example sweeps, by name.
#[must_use]
pub fn sweeps() -> BTreeMap<String, DataLocation> {
    texts("sweeps", &project_sweeps(), |embedded| embedded.sweeps)
}

/// All texts of one kind, by name: those of the program or of the project's folder, and those of the user's folder.
fn texts(
    part: &str,
    in_project: &Path,
    kind: fn(&Embedded) -> &'static [(&'static str, &'static str)],
) -> BTreeMap<String, DataLocation> {
    let mut all = BTreeMap::new();
    let embedded = EMBEDDED.get().filter(|_| !is_in_project());
    match embedded {
        Some(embedded) => {
            let embedded = kind(embedded).iter();
            all.extend(
                embedded
                    .map(|&(name, text)| (name.into(), DataLocation::Embedded(text.as_bytes()))),
            );
        }
        None => all.extend(files(in_project, toml_name)),
    }
    if let Some(folder) = user_folder(part) {
        all.extend(files(&folder, toml_name));
    }
    all
}

/// A timing profile in the data folder.
#[must_use]
pub fn profile(name: &str) -> Option<PathBuf> {
    let path = user_folder("profiles")?.join(format!("{name}.toml"));
    path.is_file().then_some(path)
}

/// A table of published numbers in the data folder.
#[must_use]
pub fn published(name: &str) -> Option<PathBuf> {
    let path = user_folder("published")?.join(format!("{name}.csv"));
    path.is_file().then_some(path)
}

/// Files of a folder that have a name; none if there is no folder.
fn files(folder: &Path, name: fn(&str) -> Option<&str>) -> Vec<(String, DataLocation)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let path = entry.path();
        let name = name(path.file_name()?.to_str()?)?.to_owned();
        path.is_file().then_some((name, DataLocation::File(path)))
    });
    found.collect()
}

/// Images have no extension.
fn image_name(file: &str) -> Option<&str> {
    (!file.contains('.')).then_some(file)
}

fn toml_name(file: &str) -> Option<&str> {
    file.strip_suffix(".toml")
}
