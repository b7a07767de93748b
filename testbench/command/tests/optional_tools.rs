//! `scripts/optional-tools` installs nothing without being asked, outside of CI.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with all commands that the script needs, an `apt-get` that only notes its arguments, and no optional tool.
fn machine(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let script = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("id", "echo 0");
    script("env", "shift; exec \"$@\"");
    let notes = folder.join("notes");
    script("apt-get", &format!("echo \"$*\" >> '{}'", notes.display()));
    folder
}

/// Output of the script there, and the arguments with which it calls `apt-get`.
fn run(folder: &Path, argument: &str, ci: bool) -> (String, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/optional-tools");
    let mut command = Command::new("/bin/sh");
    command.arg(script).arg(argument);
    command.env_clear().env("PATH", folder).stdin(Stdio::null());
    if ci {
        command.env("CI", "true");
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let done = fs::read_to_string(folder.join("notes")).unwrap_or_default();
    (said, done)
}

#[test]
fn without_a_terminal_nothing_is_installed() {
    let (said, done) = run(&machine("tools-alone"), "install", false);
    assert_eq!(done, "");
    assert_eq!(
        said,
        "Not installed: tshark gdb-multiarch chromium poppler-utils. Tests that drive them will be skipped. Install with: apt-get \
         install tshark gdb-multiarch chromium poppler-utils\n"
    );
}

#[test]
fn ci_installs_what_is_missing() {
    let (said, done) = run(&machine("tools-ci"), "install", true);
    assert_eq!(
        said,
        "Installing for tests: tshark gdb-multiarch chromium poppler-utils\n"
    );
    let packages: Vec<_> = done
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap())
        .collect();
    assert_eq!(
        packages,
        ["tshark", "gdb-multiarch", "chromium", "poppler-utils"]
    );
}

#[test]
fn what_was_skipped_is_told_at_the_end() {
    let (said, done) = run(&machine("tools-summary"), "summary", false);
    assert_eq!(done, "");
    assert_eq!(
        said,
        "Skipped for lack of a tool: tshark(captures,tutorial) gdb-multiarch(gdb,debugging) chromium(reports,flame-graphs) \
         pdftoppm(figures). Install with: apt-get install tshark gdb-multiarch chromium poppler-utils\n"
    );
}
