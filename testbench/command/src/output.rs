//! Output of results: standard output, as text or one JSON document, and files.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
pub use lanigon_analysis::output::{WriteError, grouped, print, print_aside};
use lanigon_worlds::files::output::Destination;
use lanigon_worlds::scenario::Scenario;
use serde::Serialize;

/// Lines of names and texts: the texts stand behind the longest name.
pub fn aligned<N: AsRef<str>, T: Display>(rows: impl IntoIterator<Item = (N, T)>) -> String {
    // Keeps the texts of several lists below each other.
    const LEAST_WIDTH: usize = 22;
    let rows: Vec<_> = rows.into_iter().collect();
    let lengths = rows.iter().map(|(name, _)| name.as_ref().chars().count());
    let width = lengths.max().unwrap_or_default().max(LEAST_WIDTH);
    rows.iter()
        .map(|(name, text)| format!("  {:<width$}  {text}\n", name.as_ref()))
        .collect()
}

/// Checks that every output has its own file, different from all inputs, whatever the names. Each path has
/// the option or argument that names it.
///
/// # Errors
/// If two are the same file, or one that is written is `-`.
pub fn one_file_each(
    read: &[(&str, &Path)],
    written: &[(&str, Option<&Path>)],
) -> anyhow::Result<()> {
    let mut known: Vec<(&str, FileIdentity)> = Vec::new();
    known.extend(
        read.iter()
            .map(|&(option, path)| (option, FileIdentity::read_from(path))),
    );
    for &(option, path) in written {
        let Some(path) = path else { continue };
        ensure!(
            path.as_os_str() != "-",
            "{option} names a file: it does not go to standard output"
        );
        let path = FileIdentity::read_from(path);
        if let Some((other, _)) = known.iter().find(|(_, known)| *known == path) {
            bail!("{other} and {option} name the same file");
        }
        known.push((option, path));
    }
    Ok(())
}

/// Checks that nothing is written onto the scenario, which may be called by the name of an example, or onto a file that it names.
///
/// # Errors
/// As [`one_file_each`].
pub fn apart_from_scenario(
    scenario: &Scenario,
    written: &[(&str, Option<&Path>)],
) -> anyhow::Result<()> {
    let files: Vec<_> = scenario.files().chain(scenario.source.clone()).collect();
    let names: Vec<_> = files
        .iter()
        .map(|path| format!("the scenario's {}", path.display()))
        .collect();
    let read = names.iter().zip(&files);
    let read: Vec<_> = read.map(|(name, path)| (&**name, &**path)).collect();
    one_file_each(&read, written)
}

/// A result that is computed before it is written, in a file that was found to be writable before.
#[derive(Debug)]
pub struct NewFile<'a> {
    path: &'a Path,
    file: File,
    destination: Destination,
}

impl<'a> NewFile<'a> {
    /// Opens the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(path: &'a Path) -> anyhow::Result<Self> {
        let shown = || path.display().to_string();
        let (file, destination) =
            lanigon_worlds::files::output::create(path).with_context(shown)?;
        Ok(Self {
            path,
            file,
            destination,
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// [`WriteError`], for example when the disk is full.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let written = self.file.write_all(bytes);
        written
            .and_then(|()| self.destination.finish())
            .map_err(|error| WriteError::new(self.path.display(), error))
    }
}

/// Identity of a file: that of its content, however it is named, or its future path.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    Content { device: u64, number: u64 },
    Path(PathBuf),
}

impl FileIdentity {
    fn read_from(path: &Path) -> Self {
        match path.metadata() {
            Ok(known) if known.is_file() => Self::Content {
                device: known.dev(),
                number: known.ino(),
            },
            _ => Self::Path(real(path)),
        }
    }
}

/// Canonical path of an existing or future file.
fn real(path: &Path) -> PathBuf {
    let name_in_folder = || {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let real = path.canonicalize().ok().or_else(name_in_folder);
    real.unwrap_or_else(|| path.into())
}

/// Standard output for long text that is written while it is produced.
#[derive(Debug)]
pub struct Lines(Option<BufWriter<StdoutLock<'static>>>);

/// Buffer size of [`Lines`].
const LINES_BYTES: usize = 1 << 16;

impl Default for Lines {
    fn default() -> Self {
        Self(Some(BufWriter::with_capacity(
            LINES_BYTES,
            io::stdout().lock(),
        )))
    }
}

impl Lines {
    /// Writes a part; `false` if the reader has closed the pipe.
    ///
    /// # Errors
    /// [`WriteError`], for example when the disk is full.
    pub fn write(&mut self, text: &[u8]) -> Result<bool, WriteError> {
        let written = self.0.as_mut().map(|out| out.write_all(text));
        self.outcome(written)
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn finish(&mut self) -> Result<(), WriteError> {
        let written = self.0.as_mut().map(BufWriter::flush);
        self.outcome(written).map(|_| ())
    }

    fn outcome(&mut self, written: Option<io::Result<()>>) -> Result<bool, WriteError> {
        match written {
            Some(Ok(())) => Ok(true),
            None => Ok(false),
            Some(Err(error)) => {
                // Discard the buffer: it must not be written later.
                if let Some(out) = self.0.take() {
                    let _ = out.into_parts();
                }
                match error.kind() {
                    ErrorKind::BrokenPipe => Ok(false),
                    _ => Err(error.into()),
                }
            }
        }
    }
}

/// Prints one JSON document.
///
/// # Errors
/// [`WriteError`].
pub fn print_json(document: &impl Serialize) -> Result<(), WriteError> {
    print(&json_text(document)?)
}

/// A JSON document as text.
///
/// # Errors
/// [`WriteError`], if a value has no form in JSON.
pub fn json_text(document: &impl Serialize) -> Result<String, WriteError> {
    let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_written_twice_or_read_and_written() {
        let check = |read: &str, written: [&str; 2], expected: Option<&str>| {
            let [first, second] = written.map(|name| Some(Path::new(name)));
            let found = one_file_each(&[("A", Path::new(read))], &[("B", first), ("C", second)]);
            let found = found.err().map(|error| error.to_string());
            assert_eq!(found.as_deref(), expected, "{read} {written:?}");
        };
        check("a", ["b", "c"], None);
        check("-", ["b", "src/b"], None);
        check("a", ["b", "b"], Some("B and C name the same file"));
        check("a", ["b", "./b"], Some("B and C name the same file"));
        check(
            "a",
            ["src/x", "src/../src/x"],
            Some("B and C name the same file"),
        );
        check(
            "src/lib.rs",
            ["b", "src/../src/lib.rs"],
            Some("A and C name the same file"),
        );
        check(
            "/nowhere/a",
            ["/nowhere/a", "c"],
            Some("A and B name the same file"),
        );
        let refused = Some("C names a file: it does not go to standard output");
        check("a", ["b", "-"], refused);
    }
}
