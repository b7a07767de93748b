//! Output files. A file is written beside its destination and renamed when it is complete: a failed or refused run leaves
//! what was there, and two runs with one destination leave one whole file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// The destination of a file that is being written. Dropped without [`finish`](Self::finish), it removes what was written.
#[derive(Debug)]
pub struct Destination {
    /// The file beside it and its real path; absent for pipes and devices, which are written directly.
    beside: Option<(TempPath, PathBuf)>,
}

/// Creates a folder with those above it, unless it exists.
///
/// # Errors
/// If it cannot be created, as where a file has its name.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => io::Error::new(error.kind(), "a file has this name"),
        _ => error,
    })
}

/// Begins a file.
///
/// # Errors
/// If it cannot be written there: the folder does not exist or is read-only, or a folder has the name.
pub fn create(path: &Path) -> io::Result<(File, Destination)> {
    let known = fs::metadata(path);
    if let Ok(known) = &known
        && !known.is_file()
    {
        let file = File::create(path)?;
        return Ok((file, Destination { beside: None }));
    }
    // The target of a symbolic link is replaced, not the link.
    let real = match &known {
        Ok(_) => {
            // Refused at once where the file itself is read-only.
            File::options().append(true).open(path)?;
            path.canonicalize()?
        }
        Err(_) => path.to_owned(),
    };
    let folder = real.parent().filter(|folder| *folder != Path::new(""));
    let name = real.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mode = known.map_or(0o666, |known| known.permissions().mode());
    let file = tempfile::Builder::new()
        .prefix(&prefix)
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(|error| io::Error::new(error.kind(), without_path(&error)))?;
    let (file, temporary) = file.into_parts();
    let beside = Some((temporary, real));
    Ok((file, Destination { beside }))
}

/// The reason alone: the message of a temporary file names a path that the user does not know.
fn without_path(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" at path \"").unwrap_or(text.len());
    text[..end].into()
}

impl Destination {
    /// Puts the complete file in its place.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn finish(self) -> io::Result<()> {
        match self.beside {
            Some((temporary, path)) => temporary.persist(path).map_err(|error| error.error),
            None => Ok(()),
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// If it cannot be written; an earlier file is as it was then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, destination) = create(path)?;
    file.write_all(bytes)?;
    destination.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_told_without_the_temporary_file() {
        let error = create(Path::new("/nowhere/x")).expect_err("there is no such folder");
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}
