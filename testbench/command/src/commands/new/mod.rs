//! `lanigon new`: a project for user firmware.

mod skeleton;

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};

use super::{Status, board};
use crate::cli::NewArgs;
use crate::output;
use host_lib::lanai::Family;
use lanigon_worlds::boards::{BOARDS, BoardType, DEFAULT};
use lanigon_worlds::files::own;
use skeleton::File;

/// The profile in the templates for boards with a LANai.
const TEMPLATE_PROFILE: &str = "lanai9.1-133";
/// The beginning of a call in them that sends a packet with a CRC-32.
const TEMPLATE_SEND: &str = "l9::send(OUT, OUT, ";

/// Crates whose names a project's crates cannot have.
const TAKEN: [&str; 5] = ["test", "core", "std", "defs", "lanai-rt"];
/// Begin of the names of this project's packages. A project adds `-host` to its own name.
const OWN_NAME: &str = "lanigon";
/// Folders in cargo's folder for built files: no program can have their names.
const FOLDERS_OF_CARGO: [&str; 4] = ["build", "deps", "examples", "incremental"];
/// Parts of this project that new ones need.
const PARTS_OF_A_CLONE: [&str; 2] = ["testbench/kit/Cargo.toml", "firmware/defs/Cargo.toml"];

/// A project to be written.
struct Project<'a> {
    name: &'a str,
    board: &'static BoardType,
    /// Timing profile of its tests.
    profile: &'static str,
    /// Relative path to this project.
    home: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// If there is no such board, the folder is not empty or cannot be written, or it has no path to this project.
pub fn run(args: &NewArgs) -> anyhow::Result<Status> {
    let folder = &args.folder;
    let named = named(folder);
    let (board, profile) = match &args.board {
        Some(name) => board::named(name)?,
        None => (DEFAULT, DEFAULT.profile),
    };
    let skeleton = skeleton::for_board(board);
    if !skeleton.names_board && profile != board.profile {
        bail!(
            "--board: tests of a new project have the board's usual profile; name the board: {}",
            board.name
        );
    }
    let name = name(&named)?;
    check_empty(folder)?;
    let home = home(args.source.as_deref())?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let folder_at = folder
        .canonicalize()
        .with_context(|| folder.display().to_string())?;
    let project = Project {
        name,
        board,
        profile,
        home: relative(&folder_at, &home),
    };
    for file in skeleton.files {
        let path = folder.join(file.path.replace("echo", name));
        write(&path, &project.adapt(file))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    make_executable(&folder.join(skeleton.script))?;
    output::print(&project.summary(folder))?;
    Ok(Status::Done)
}

/// The clone of this project from which a new one takes its libraries.
fn home(source: Option<&Path>) -> anyhow::Result<PathBuf> {
    let home = source.unwrap_or(own::project());
    let missing = PARTS_OF_A_CLONE
        .iter()
        .find(|part| !home.join(part).exists());
    if let Some(part) = missing {
        bail!(
            "{}: no clone of Lanigon, since it has no {part}; a new project takes its libraries from one: name it by --source DIR",
            home.display()
        );
    }
    home.canonicalize()
        .with_context(|| home.display().to_string())
}

/// The folder by a path that ends with its name, as `.` and `..` do not.
fn named(folder: &Path) -> PathBuf {
    match (folder.file_name(), folder.canonicalize()) {
        (None, Ok(path)) => path,
        _ => folder.to_owned(),
    }
}

/// Name of the project: that of its folder.
fn name(folder: &Path) -> anyhow::Result<&str> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} has no name", folder.display()))?;
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let first = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !first || !name.chars().all(letters) {
        bail!(
            "\"{name}\" cannot be a project's name: small letters, digits, - and _, a letter first"
        );
    }
    let hals = BOARDS.iter().map(|board| board.hal);
    let mut taken = TAKEN.into_iter().chain(hals);
    let as_crate = name.replace('_', "-");
    if taken.any(|taken| taken == as_crate) {
        bail!("\"{name}\" cannot be a project's name: a crate has it");
    }
    if as_crate == OWN_NAME || as_crate.starts_with(&format!("{OWN_NAME}-")) {
        bail!("\"{name}\" cannot be a project's name: crates of Lanigon have such names");
    }
    if FOLDERS_OF_CARGO.contains(&name) {
        bail!(
            "\"{name}\" cannot be a project's name: cargo has a folder of this name beside the image"
        );
    }
    Ok(name)
}

pub(super) fn check_empty(folder: &Path) -> anyhow::Result<()> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => bail!("{} exists and is not empty", folder.display()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| folder.display().to_string()),
    }
}

/// Relative path between two absolute folders.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    up.chain(to[shared..].iter().copied()).collect()
}

impl Project<'_> {
    /// Text of a file.
    fn adapt(&self, file: &File) -> String {
        let (name, home) = (self.name, self.home.display().to_string());
        match file.path {
            "Cargo.lock" | "firmware/Cargo.lock" => file.text.to_owned(),
            path => {
                // The example is two folders below this project; its firmware, three.
                let (example, ours) = if path.starts_with("firmware/") {
                    ("../../../", format!("../{home}/"))
                } else {
                    ("../../", format!("{home}/"))
                };
                let text = file
                    .text
                    .replace(example, &ours)
                    .replace("echo-host", &format!("{name}-host"))
                    .replace("echo_host", &format!("{}_host", name.replace('-', "_")))
                    .replace("name = \"echo\"", &format!("name = \"{name}\""))
                    .replace("release/echo", &format!("release/{name}"))
                    .replace(TEMPLATE_PROFILE, self.profile);
                self.adapt_engines(text)
            }
        }
    }

    /// The engines of a LANai 4 have a module of their own, and its sender takes no address for the CRC-32.
    fn adapt_engines(&self, text: String) -> String {
        match self.board.host_view.lanai() {
            Some(Family::Four) => text
                .replace(TEMPLATE_SEND, "l4::send(OUT, ")
                .replace("l9::", "l4::")
                .replace("{entry, l9,", "{entry, l4,"),
            Some(Family::Later) | None => text,
        }
    }

    fn summary(&self, folder: &Path) -> String {
        let (name, skeleton) = (self.name, skeleton::for_board(self.board));
        let image = format!("firmware/target/{}/release/{name}", self.board.images);
        let tests = format!("tests/{name}.rs");
        let on_boards = format!("tests on emulated boards: {}", skeleton.test);
        let rows = [
            ("firmware/src/main.rs", "what the NIC does"),
            (skeleton.script, "builds it"),
            (&image, "the image, then"),
            ("src/lib.rs", "what the host does"),
            (&tests, &on_boards),
        ];
        format!(
            "{}: a firmware project\n{}",
            folder.display(),
            output::aligned(rows)
        )
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| path.display().to_string())
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanigon_worlds::boards::board_type;

    fn lanai(name: &str) -> &'static BoardType {
        board_type(name).expect("a registered type")
    }

    fn project(board: &'static BoardType, profile: &'static str) -> Project<'static> {
        Project {
            name: "echo",
            board,
            profile,
            home: "../..".into(),
        }
    }

    #[test]
    fn ways_between_folders() {
        let check = |from, to, expected: &str| {
            assert_eq!(
                relative(Path::new(from), Path::new(to)),
                Path::new(expected)
            );
        };
        check("/home/me/echo", "/home/me/lanigon", "../lanigon");
        check("/home/me/a/b", "/home/lanigon", "../../../lanigon");
        check("/lanigon/examples/echo", "/lanigon", "../..");
    }

    #[test]
    fn names() {
        for good in ["echo", "my-nic2", "a_b"] {
            assert_eq!(name(&Path::new("x").join(good)).expect("good"), good);
        }
        for bad in [
            "Echo",
            "2echo",
            "an echo",
            "ech\u{f6}",
            "core",
            "..",
            "build",
            "lanigon",
            "lanigon_x",
        ] {
            assert!(name(&Path::new("x").join(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_project_in_the_examples_is_the_example() {
        for (board, profile) in [(DEFAULT, ""), (lanai("lanai9"), TEMPLATE_PROFILE)] {
            for file in skeleton::for_board(board).files {
                assert_eq!(project(board, profile).adapt(file), file.text);
            }
        }
    }

    #[test]
    fn firmware_for_a_lanai_4_uses_its_engines() {
        let project = project(lanai("lanai4"), "lanai4.3-33");
        let files = skeleton::for_board(project.board).files.iter();
        let texts: String = files.map(|file| project.adapt(file)).collect();
        for wrong in ["l9", "OUT, OUT, ", TEMPLATE_PROFILE] {
            assert!(!texts.contains(wrong), "{wrong}");
        }
    }
}
