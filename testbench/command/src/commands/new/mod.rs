//! `lanigon new`: a project for user firmware.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};

use super::Status;
use crate::cli::NewArgs;
use crate::output;
use lanigon_worlds::boards::DEFAULT;

/// A file of a new project.
struct File {
    path: &'static str,
    text: &'static str,
}

/// Files of a new project. Those that `examples/echo` has too are taken from there: it extends this
/// project.
const FILES: [File; 11] = [
    File {
        path: ".gitignore",
        text: include_str!("skeleton/gitignore"),
    },
    File {
        path: "Cargo.toml",
        text: include_str!("skeleton/manifest.toml"),
    },
    // Known working versions.
    File {
        path: "Cargo.lock",
        text: include_str!("skeleton/lock.toml"),
    },
    File {
        path: "rust-toolchain.toml",
        text: include_str!("skeleton/toolchain.toml"),
    },
    File {
        path: "firmware/.cargo/config.toml",
        text: include_str!("skeleton/firmware-config.toml"),
    },
    File {
        path: "firmware/Cargo.toml",
        text: include_str!("skeleton/firmware-manifest.toml"),
    },
    File {
        path: "firmware/Cargo.lock",
        text: include_str!("skeleton/firmware-lock.toml"),
    },
    File {
        path: "firmware/build.sh",
        text: include_str!("skeleton/build.sh"),
    },
    File {
        path: "firmware/src/main.rs",
        text: include_str!("skeleton/main.rs"),
    },
    File {
        path: "src/lib.rs",
        text: include_str!("skeleton/lib.rs"),
    },
    File {
        path: "tests/echo.rs",
        text: include_str!("skeleton/test.rs"),
    },
];

/// The only executable file.
const SCRIPT: &str = "firmware/build.sh";

/// Runs the command.
///
/// # Errors
/// If the folder is not empty or cannot be written, or has no path to this project.
pub fn run(args: &NewArgs) -> anyhow::Result<Status> {
    let folder = &args.folder;
    let name = name(folder)?;
    check_empty(folder)?;
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let home = home.canonicalize().with_context(|| {
        format!(
            "this lanigon was built in {}, which is not there any more: build it again",
            home.display()
        )
    })?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let folder_at = folder
        .canonicalize()
        .with_context(|| folder.display().to_string())?;
    let to_home = relative(&folder_at, &home);
    for file in &FILES {
        let path = folder.join(file.path.replace("echo", name));
        write(&path, &adapt(file, name, &to_home))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    make_executable(&folder.join(SCRIPT))?;
    output::print(&summary(folder, name))?;
    Ok(Status::Done)
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
    let taken = ["test", "core", "std", "defs", DEFAULT.hal];
    if taken.contains(&&*name.replace('_', "-")) {
        bail!("\"{name}\" cannot be a project's name: a crate has it");
    }
    Ok(name)
}

fn check_empty(folder: &Path) -> anyhow::Result<()> {
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

/// Text of a file for a project with this name, with the relative path to this project.
fn adapt(file: &File, name: &str, to_home: &Path) -> String {
    let home = to_home.display().to_string();
    match file.path {
        "Cargo.lock" | "firmware/Cargo.lock" => file.text.to_owned(),
        path => {
            // The example is two folders below this project; its firmware, three.
            let (example, ours) = if path.starts_with("firmware/") {
                ("../../../", format!("../{home}/"))
            } else {
                ("../../", format!("{home}/"))
            };
            file.text
                .replace(example, &ours)
                .replace("echo-host", &format!("{name}-host"))
                .replace("echo_host", &format!("{}_host", name.replace('-', "_")))
                .replace("name = \"echo\"", &format!("name = \"{name}\""))
                .replace("release/echo", &format!("release/{name}"))
        }
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

fn summary(folder: &Path, name: &str) -> String {
    let rows = [
        ("firmware/src/main.rs".to_owned(), "what the NIC does"),
        (SCRIPT.to_owned(), "builds it"),
        (format!("{}/{name}", DEFAULT.images), "the image, then"),
        ("src/lib.rs".to_owned(), "what the host does"),
        (
            format!("tests/{name}.rs"),
            "tests on emulated boards: cargo test",
        ),
    ];
    let rows = rows.map(|(path, what)| format!("  {path:<38}{what}\n"));
    format!(
        "{}: a firmware project\n{}",
        folder.display(),
        rows.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for bad in ["Echo", "2echo", "an echo", "ech\u{f6}", "core", ".."] {
            assert!(name(&Path::new("x").join(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_project_in_the_examples_is_the_example() {
        for file in FILES.iter().filter(|file| file.text.contains("../..")) {
            assert_eq!(adapt(file, "echo", Path::new("../..")), file.text);
        }
    }
}
