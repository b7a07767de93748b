//! Errors of `lanigon new`. The tutorial uses its result.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command in an empty folder with this name; returns its exit code and output.
fn new(test: &str, folder: &str, prepare: impl FnOnce(&Path)) -> (Option<i32>, String, PathBuf) {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&at);
    fs::create_dir_all(&at).expect("a folder");
    prepare(&at);
    let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(["new", folder])
        .current_dir(&at)
        .output()
        .expect("lanigon");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text, at)
}

#[track_caller]
fn refused(test: &str, folder: &str, prepare: impl FnOnce(&Path), why: &str) {
    let (code, text, _) = new(test, folder, prepare);
    assert_eq!((code, text.as_str()), (Some(2), why));
}

#[test]
fn nothing_is_overwritten() {
    let full = |at: &Path| {
        fs::create_dir(at.join("mine")).expect("a folder");
        fs::write(at.join("mine/work"), "years").expect("a file");
    };
    refused(
        "new-full",
        "mine",
        full,
        "error: mine exists and is not empty\n",
    );
    let file = |at: &Path| fs::write(at.join("mine"), "years").expect("a file");
    refused(
        "new-file",
        "mine",
        file,
        "error: mine: Not a directory (os error 20)\n",
    );
}

#[test]
fn a_name_must_be_one_of_a_crate() {
    let why = |name| {
        format!(
            "error: \"{name}\" cannot be a project's name: small letters, digits, - and _, a letter first\n"
        )
    };
    for name in ["Mine", "9lives", "my nic"] {
        refused("new-name", name, |_| (), &why(name));
    }
    refused("new-root", "/", |_| (), "error: / has no name\n");
}

#[test]
fn an_empty_folder_is_welcome_and_gives_its_name() {
    let empty = |at: &Path| fs::create_dir(at.join("my-nic")).expect("a folder");
    let (code, text, at) = new("new-empty", "my-nic", empty);
    assert_eq!((code, text.as_str()), (Some(0), ""));
    let read = |path: &str| fs::read_to_string(at.join("my-nic").join(path)).expect(path);
    assert!(read("firmware/Cargo.toml").contains("name = \"my-nic\""));
    assert!(read("Cargo.toml").contains("name = \"my-nic-host\""));
    let test = read("tests/my-nic.rs");
    assert!(test.contains("my_nic_host::next"), "{test}");
    assert!(
        test.contains("firmware/target/tigon2/release/my-nic"),
        "{test}"
    );
}
