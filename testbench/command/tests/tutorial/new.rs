//! Errors of `lanigon new`, and projects for several boards. The tutorials use its result.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use emulator::image::Image;
use lanigon_worlds::boards::DEFAULT;

use super::reader::{link, root};
use super::{has_lanai_tools, lanai_firmware};

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
    let why = |name, why| format!("error: \"{name}\" cannot be a project's name: {why}\n");
    for name in ["build", "deps", "examples", "incremental"] {
        let folder = why(name, "cargo has a folder of this name beside the image");
        refused("new-folder", name, |_| (), &folder);
    }
    for name in ["lanigon", "lanigon-defs", "lanigon_kit"] {
        let own = why(name, "crates of Lanigon have such names");
        refused("new-own", name, |_| (), &own);
    }
    for name in ["core", "std", "test", "defs", "lanai_rt"] {
        refused("new-taken", name, |_| (), &why(name, "a crate has it"));
    }
}

#[test]
fn libraries_come_from_a_clone() {
    for source in ["nowhere", "."] {
        let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-source");
        fs::create_dir_all(&at).expect("a folder");
        let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
            .args(["new", "my-nic", "--source", source])
            .current_dir(&at)
            .output()
            .expect("lanigon");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = format!(
            "error: {source}: no clone of Lanigon, since it has no testbench/kit/Cargo.toml; a new project takes its libraries \
             from one: name it by --source DIR\n"
        );
        assert_eq!((output.status.code(), text), (Some(2), why));
        assert!(!at.join("my-nic").exists());
    }
}

#[test]
fn columns_of_the_summary_stand_apart() {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-columns");
    let _ = fs::remove_dir_all(&at);
    fs::create_dir_all(&at).expect("a folder");
    for (board, name) in [("lanai", "a-longer-name"), ("tigon2", "short")] {
        let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
            .args(["new", "--board", board, name])
            .current_dir(&at)
            .output()
            .expect("lanigon");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for row in text.lines().skip(1) {
            assert!(row.trim_start().contains("  "), "{text}");
        }
    }
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

#[test]
fn the_folder_may_be_the_current_one() {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-here/my-nic");
    let _ = fs::remove_dir_all(&at);
    fs::create_dir_all(at.join("inner")).expect("a folder");
    let check = |folder: &Path, name: &str, expected: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
            .args(["new", name])
            .current_dir(folder)
            .output()
            .expect("lanigon");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(text, expected);
    };
    check(
        &at.join("inner"),
        "..",
        "error: .. exists and is not empty\n",
    );
    fs::remove_dir(at.join("inner")).expect("an empty folder");
    check(&at, ".", "");
    let manifest = fs::read_to_string(at.join("firmware/Cargo.toml")).expect("a project");
    assert!(manifest.contains("name = \"my-nic\""), "{manifest}");
}

/// Runs the command with a board in an empty folder; returns its exit code, what it wrote on stderr, and the project.
fn new_for(test: &str, board: &str) -> (Option<i32>, String, PathBuf) {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&at);
    fs::create_dir_all(&at).expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(["new", "--board", board, "my-nic"])
        .current_dir(&at)
        .output()
        .expect("lanigon");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text, at.join("my-nic"))
}

#[test]
fn the_board_chooses_firmware_and_tests() {
    let check = |board: &str, profile: &str, engines: &str| {
        let (code, text, at) = new_for(&format!("new-{board}"), board);
        assert_eq!((code, text.as_str()), (Some(0), ""));
        let read = |path: &str| fs::read_to_string(at.join(path)).expect(path);
        assert!(read("tests/my-nic.rs").contains(&format!(".board(\"{profile}\")")));
        assert!(read("firmware/src/main.rs").contains(&format!("{engines}::initialise()")));
        assert!(at.join("Makefile").exists());
    };
    check("lanai", "lanai9.1-133", "l9");
    check("lanai9.2-200", "lanai9.2-200", "l9");
    check("lanai7", "lanai7.2-66", "l9");
    check("lanai4", "lanai4.3-33", "l4");
    let (code, text, _) = new_for("new-lanai8", "lanai8");
    assert_eq!(code, Some(2));
    let expected = "error: --board: no board \"lanai8\"; did you mean \"lanai4\"? There are tigon2, tigon-n, lanai4, lanai7, lanai9, lanai, ";
    assert!(text.starts_with(expected), "{text}");
    let (code, text, _) = new_for("new-emp-thesis", "emp-thesis");
    assert_eq!(code, Some(2));
    assert!(text.ends_with("name the board: tigon2\n"), "{text}");
}

/// The engines of the LANai 4 have an interface of their own; the tutorial has the others.
#[test]
fn firmware_for_a_lanai_4_is_green_at_once() {
    if !::cases::runs_long("firmware for a lanai 4 is green at once") {
        return;
    }
    if !has_lanai_tools("a new project for a LANai 4") {
        return;
    }
    let (code, text, project) = new_for("new-green", "lanai4");
    assert_eq!((code, text.as_str()), (Some(0), ""));
    link(&lanai_firmware(), &project.join("firmware/target"));
    let output = Command::new("make")
        .arg("test")
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", root().join("target"))
        .output()
        .expect("make");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{error}");
    assert!(text.contains("test result: ok. 2 passed"), "{text}");
}

/// Without LLVM's tools one line says so.
#[test]
fn a_missing_code_generator_is_named() {
    let (code, _, project) = new_for("new-no-llc", "lanai");
    assert_eq!(code, Some(0));
    let output = Command::new("make")
        .args(["--no-print-directory", "test"])
        .current_dir(&project)
        .env("LANIGON_LLVM", "/nonexistent")
        .output()
        .expect("make");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or_default();
    assert!(line.starts_with("LLVM 22's llc is missing"), "{text}");
}

/// Contents of an image that are loaded, with their addresses.
fn loaded(image: &Path) -> Vec<(u32, Vec<u8>)> {
    let bytes = fs::read(image).expect("an image");
    let limits = DEFAULT.image_limits(DEFAULT.usual_sram_bytes);
    let image = Image::parse(&bytes, &limits).expect("a valid image");
    let parts = image.load_parts();
    parts
        .map(|(address, bytes)| (address, bytes.to_vec()))
        .collect()
}

/// Editors run `cargo check`. What gdb needs for locals changes nothing that is loaded.
#[test]
fn firmware_is_checked_without_flags_and_debug_information_changes_no_instruction() {
    let at = new("new-checked", "checked-nic", |_| ())
        .2
        .join("checked-nic/firmware");
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .current_dir(&at)
            .env_remove("RUSTC_BOOTSTRAP");
        let output = command
            .env("CARGO_TARGET_DIR", root().join("target/tutorial/check"))
            .output();
        let output = output.expect("cargo");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && !text.contains("warning"),
            "{arguments:?}: {text}"
        );
    };
    cargo(&["check"]);
    cargo(&["doc", "--no-deps"]);
    let firmware = root().join("target/tutorial/firmware");
    fs::create_dir_all(&firmware).expect("a folder");
    link(&firmware, &at.join("target"));
    let build = |debug: Option<&str>| {
        let mut command = Command::new(at.join("build.sh"));
        if let Some(debug) = debug {
            command.env("CARGO_PROFILE_RELEASE_DEBUG", debug);
        }
        let output = command.output().expect("build.sh");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        let image = firmware.join("tigon2/release/checked-nic");
        (loaded(&image), fs::read(image).expect("an image").len())
    };
    let (usual, short) = build(None);
    let (full, long) = build(Some("full"));
    assert!(usual == full && long > short);
}
