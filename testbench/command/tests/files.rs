//! Files of users: every input has a limit, and no output destroys an input or an earlier result.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lanigon_worlds::images::image_folder;

use super::{pair, stream};

/// An empty folder. Names are unique per test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("files")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn lanigon(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(line.split_whitespace()).current_dir(folder);
    command.env_remove("RUST_LOG").output().unwrap()
}

/// A folder with a scenario that names its own image and profile.
fn own(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::copy(image_folder().join("emp-base"), folder.join("fw.elf")).unwrap();
    let text = lanigon_worlds::boards::profiles()
        .texts()
        .find(|(name, _)| *name == "tigon2-88mhz")
        .unwrap()
        .1;
    fs::write(folder.join("nic.toml"), text).unwrap();
    let head = "image = \"./fw.elf\"\nprofile = \"./nic.toml\"\n";
    let text = head.to_owned() + &pair(&stream(3, 100));
    fs::write(folder.join("own.toml"), text).unwrap();
    folder
}

#[track_caller]
fn check_refused(folder: &Path, line: &str, reason: &str) {
    let output = lanigon(folder, line);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {error}");
    assert!(error.contains(reason), "{line}: {error}");
    assert!(!error.contains("panicked"), "{line}: {error}");
}

#[test]
fn endless_inputs_are_refused() {
    let folder = own("endless");
    let check = |line: &str, reason| check_refused(&folder, line, reason);
    check(
        "run /dev/zero",
        "larger than 1 MB, the limit for a scenario",
    );
    check("debug /dev/zero", "larger than 1 MB");
    check("gdb /dev/zero", "larger than 1 MB");
    check("profile /dev/zero", "larger than 1 MB");
    check(
        "image /dev/zero",
        "larger than 64 MB, the limit for a firmware image",
    );
    check("exec /dev/zero", "larger than 64 MB");
    check("run --from /dev/zero", "no snapshot");
    check("debug --from /dev/zero", "no snapshot");
    check(
        "debug own.toml --script /dev/zero",
        "larger than 1 MB, the limit for a script",
    );
    check(
        "exec fw.elf --profile /dev/zero",
        "larger than 1 MB, the limit for a timing profile",
    );
    check(
        "acenic --firmware fw.elf --profile /dev/zero",
        "larger than 1 MB",
    );
    check("trace show /dev/zero", "");
    check("timeline /dev/zero --out x", "");
    let board = "profile = \"/dev/zero\"\n".to_owned() + &pair(&stream(1, 1));
    fs::write(folder.join("endless.toml"), board).unwrap();
    check(
        "run endless.toml",
        "larger than 1 MB, the limit for a timing profile",
    );
}

#[test]
fn no_output_replaces_an_input() {
    let folder = own("kept");
    fs::hard_link(folder.join("fw.elf"), folder.join("link.elf")).unwrap();
    fs::hard_link(folder.join("own.toml"), folder.join("link.toml")).unwrap();
    let names = ["fw.elf", "nic.toml", "own.toml"];
    let before = names.map(|name| fs::read(folder.join(name)).unwrap());
    for name in [
        "fw.elf",
        "./fw.elf",
        "link.elf",
        "nic.toml",
        "own.toml",
        "link.toml",
    ] {
        for option in ["--trace", "--pcap", "--timeline", "--snapshot-at 10"] {
            let line = format!("run own.toml {option} {name}");
            check_refused(&folder, &line, "name the same file");
        }
        for option in ["--flame", "--folded"] {
            let line = format!("profile own.toml {option} {name}");
            check_refused(&folder, &line, "name the same file");
        }
    }
    // The name of an example is a file of the data folder.
    fs::create_dir_all(folder.join("data/scenarios")).unwrap();
    let example = super::pair(&super::stream(1, 64));
    fs::write(folder.join("data/scenarios/example.toml"), example).unwrap();
    for option in ["--trace", "--snapshot-at 10"] {
        let line = format!("run example --data data {option} data/scenarios/example.toml");
        check_refused(&folder, &line, "name the same file");
    }
    check_refused(
        &folder,
        "ledger own.toml --svg fw.elf",
        "name the same file",
    );
    check_refused(
        &folder,
        "image fw.elf --linux-form fw.elf",
        "name the same file",
    );
    check_refused(
        &folder,
        "image fw.elf --linux-form link.elf",
        "name the same file",
    );
    let after = names.map(|name| fs::read(folder.join(name)).unwrap());
    assert!(before == after);
}

#[test]
fn outputs_are_complete_or_as_before() {
    let folder = own("complete");
    for name in ["run.trace", "run.pcapng", "flame.svg"] {
        fs::write(folder.join(name), "earlier").unwrap();
    }
    // The request turns out to be wrong after the outputs were opened.
    check_refused(
        &folder,
        "run own.toml --trace run.trace --trace-trigger probe=nothing --pcap run.pcapng",
        "",
    );
    check_refused(
        &folder,
        "profile own.toml --from 1000000 --flame flame.svg",
        "nothing ran",
    );
    for name in ["run.trace", "run.pcapng", "flame.svg"] {
        assert_eq!(fs::read(folder.join(name)).unwrap(), b"earlier", "{name}");
    }
    let run = lanigon(
        &folder,
        "run own.toml --trace run.trace --pcap run.pcapng --timeline run.timeline",
    );
    assert_eq!(run.status.code(), Some(0));
    let shown = lanigon(&folder, "trace stats run.trace");
    assert_eq!(shown.status.code(), Some(0));
    let left: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with('.')),
        "{left:?}"
    );
    // A link stays a link; permissions are the usual ones.
    std::os::unix::fs::symlink("run.trace", folder.join("link.trace")).unwrap();
    assert_eq!(
        lanigon(&folder, "run own.toml --trace link.trace")
            .status
            .code(),
        Some(0)
    );
    assert!(folder.join("link.trace").is_symlink());
    fs::write(folder.join("plain"), "").unwrap();
    let mode = |name: &str| {
        fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(mode("run.timeline"), mode("plain"));
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let folder = own("unwritable");
    for line in [
        "run own.toml --trace nowhere/run.trace",
        "run own.toml --pcap nowhere/run.pcapng",
        "run own.toml --timeline .",
        "run own.toml --snapshot-at 10 nowhere/x.snap",
        "profile own.toml --flame nowhere/x.svg",
        "ledger own.toml --svg nowhere/x.svg",
    ] {
        let output = lanigon(&folder, line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn help_needs_a_place_to_go() {
    for line in [
        "--help",
        "run --help",
        "--version",
        "list",
        "completions bash",
    ] {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
        let status = command.args(line.split_whitespace()).stdout(full).status();
        assert_eq!(status.unwrap().code(), Some(1), "{line}");
    }
}
