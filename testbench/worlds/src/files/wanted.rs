//! Arguments that a command does not take: misspelled names, files of another kind, folders. One place says what to give.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use emulator::observe::file::chunk;

use crate::boards::BOARDS;
use crate::files::own;
use crate::images::ELF_MAGIC;
use crate::scenario::{nearest, unknown};
use crate::simulation::snapshot;

/// Bytes of a file that tell its kind.
const HEAD_BYTES: u64 = 64 << 10;

/// Kind of argument that a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedArgument {
    /// A scenario: `lanigon run`.
    Scenario,
    /// A firmware image: `lanigon exec`.
    Image,
    /// A sweep: `lanigon sweep`.
    Sweep,
}

impl WantedArgument {
    const ALL: [Self; 3] = [Self::Scenario, Self::Image, Self::Sweep];

    const fn noun(self) -> &'static str {
        match self {
            Self::Scenario => "scenario",
            Self::Image => "image",
            Self::Sweep => "sweep",
        }
    }

    const fn article(self) -> &'static str {
        match self {
            Self::Image => "an",
            _ => "a",
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Scenario => "run",
            Self::Image => "exec",
            Self::Sweep => "sweep",
        }
    }

    /// Names of the built-in ones.
    fn names(self) -> Vec<String> {
        match self {
            Self::Scenario => own::scenarios().into_keys().collect(),
            Self::Sweep => own::sweeps().into_keys().collect(),
            Self::Image => {
                let families = BOARDS.iter().map(|board| board.images);
                let names = families.flat_map(|family| own::images(family).into_keys());
                names.collect()
            }
        }
    }

    /// Whether a built-in one has the name, with or without folder and extension.
    fn has(self, name: &str) -> bool {
        match self {
            Self::Scenario => own::scenario(name).is_some(),
            Self::Sweep => own::sweep(name).is_some(),
            Self::Image => self.names().iter().any(|known| known == name),
        }
    }

    /// The kind of a file, by its begin.
    fn of_file(path: &Path) -> Option<Self> {
        let head = head(path)?;
        if head.starts_with(ELF_MAGIC) {
            return Some(Self::Image);
        }
        path.extension().filter(|end| *end == "toml")?;
        let text = std::str::from_utf8(&head).ok()?;
        let begins = |starts: &[&str]| {
            let mut lines = text.lines();
            lines.any(|line| starts.iter().any(|start| line.trim().starts_with(start)))
        };
        if begins(&["[[axis]]"]) {
            Some(Self::Sweep)
        } else if begins(&["[[program]]", "[network]"]) {
            Some(Self::Scenario)
        } else {
            None
        }
    }
}

/// Message for a `path` that names nothing wanted, with what to give; `None` if it may name it.
#[must_use]
pub fn refused(path: &Path, wanted: WantedArgument) -> Option<String> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Some(folder(path, wanted));
    }
    let head = head(path).unwrap_or_default();
    if head.starts_with(snapshot::MAGIC) {
        return Some(format!("this is a snapshot: lanigon run --from {name}"));
    }
    if head.starts_with(&chunk::MAGIC) {
        return Some(format!("this is a trace: lanigon trace show {name}"));
    }
    // A symbolic link that leads nowhere exists too: reading it says what is wrong.
    let exists = path.symlink_metadata().is_ok();
    let mut others = WantedArgument::ALL
        .into_iter()
        .filter(|other| *other != wanted);
    let other = match exists {
        true => others.find(|other| WantedArgument::of_file(path) == Some(*other)),
        false if wanted.has(&name) => None,
        false => others.find(|other| other.has(&name)),
    };
    if let Some(other) = other {
        return Some(format!(
            "this is {} {}: lanigon {} {name}",
            other.article(),
            other.noun(),
            other.command()
        ));
    }
    if exists || wanted.has(&name) || name.contains('/') {
        return None;
    }
    let short = name.strip_suffix(".toml").unwrap_or(&name);
    let known = wanted.names();
    let known = known.iter().map(String::as_str);
    if path.extension().is_some() && nearest(short, known.clone()).is_none() {
        // It names a file.
        return None;
    }
    Some(format!(
        "there is no such file, and {}",
        unknown(&format!("built-in {}", wanted.noun()), short, known)
    ))
}

/// The begin of a regular file: what is read of a pipe is lost to the command.
fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = path.is_file().then(|| File::open(path))?.ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Message for a folder: it names the wanted things in it.
fn folder(path: &Path, wanted: WantedArgument) -> String {
    let (inside, what) = match wanted {
        WantedArgument::Image => (built(path), "an image of it"),
        WantedArgument::Scenario | WantedArgument::Sweep => (texts(path, wanted), "a file of it"),
    };
    let is_project = path.join("firmware/Cargo.toml").is_file();
    let kind = match is_project {
        true => "this is the folder of a project",
        false => "this is a folder",
    };
    match inside.first() {
        Some(first) => format!("{kind}: give {what}, as {}", first.display()),
        None if is_project && wanted == WantedArgument::Image => {
            format!(
                "{kind}: build its firmware (make -C {}, or cargo test), and give the image below {}/firmware/target",
                path.display(),
                path.display()
            )
        }
        None => format!(
            "{kind}, without {} {} in it",
            wanted.article(),
            wanted.noun()
        ),
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    // The order of a folder depends on the file system; messages do not.
    paths.sort();
    paths
}

/// Images in a folder, or those that a project in it has built.
fn built(path: &Path) -> Vec<PathBuf> {
    let families = BOARDS.iter().map(|board| board.images);
    let releases = families.map(|family| path.join("firmware/target").join(family).join("release"));
    let folders = std::iter::once(path.to_owned()).chain(releases);
    let files = folders.flat_map(|folder| entries(&folder));
    let is_image = |file: &PathBuf| {
        let plain = file.extension().is_none() && file.is_file();
        plain && WantedArgument::of_file(file) == Some(WantedArgument::Image)
    };
    files.filter(is_image).collect()
}

/// Scenarios or sweeps in a folder.
fn texts(path: &Path, wanted: WantedArgument) -> Vec<PathBuf> {
    let is_text = |file: &PathBuf| {
        let toml = file.extension().is_some_and(|end| end == "toml");
        toml && WantedArgument::of_file(file) == Some(wanted)
    };
    entries(path).into_iter().filter(is_text).collect()
}
