//! LLVM's tools for tests, which are skipped where they are missing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanai_link::driver::Tools;

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folder with the tools, as the build finds them; an empty text for `PATH`. Without them a line on the terminal, past
/// the capture of the test's output, says what is skipped: such a test must not look like one that passed.
pub fn find(what: &str) -> Option<String> {
    let mut find = Command::new(root().join("scripts/llvm"));
    let found = find.arg("find").output().expect("scripts/llvm runs");
    if !found.status.success() {
        // A closed terminal is no failure.
        let _ = writeln!(std::io::stderr(), "SKIPPED for lack of llc: {what}");
        return None;
    }
    let folder = String::from_utf8(found.stdout).expect("a folder's name");
    Some(folder.trim_end().to_owned())
}

/// The tools, if they are there.
pub fn tools(what: &str) -> Option<Tools> {
    let folder = find(what)?;
    let folder = Some(folder).filter(|folder| !folder.is_empty());
    Some(Tools::in_folder(folder.map(PathBuf::from)))
}

/// A folder for the files of one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
