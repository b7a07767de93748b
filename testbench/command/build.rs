//! Puts the firmware images, the example scenarios and the example sweeps into the program, so that it works without the project's folder.
//!
//! The images are those in `firmware/target`. A release build without any builds them first. Without the project around it
//! (a package of this crate alone) nothing is embedded.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Families of boards: folders of images.
const FAMILIES: [&str; 2] = ["tigon2", "lanai"];

fn main() {
    let project =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut text = String::from("own::Embedded { images: &[\n");
    if let Ok(project) = project.canonicalize()
        && project.join("firmware/Makefile").is_file()
    {
        let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
        let folder = |family| project.join("firmware/target").join(family).join("release");
        if is_release && images(&folder(FAMILIES[0])).is_empty() {
            build_firmware(&project, &out);
        }
        // A new image is a new folder here.
        watch(&project.join("firmware/images"));
        watch(&project.join("firmware/lanai/images"));
        for family in FAMILIES {
            let built = images(&folder(family));
            if built.is_empty() {
                // A path that does not exist is looked at in each build.
                watch(&folder(family));
            }
            for (name, path) in built {
                watch(&path);
                let _ = writeln!(
                    text,
                    "own::EmbeddedImage {{ family: {family:?}, name: {name:?}, bytes: include_bytes!({path:?}) }},"
                );
            }
        }
        text += "], scenarios: &[\n";
        embed_texts(&project.join("scenarios"), &mut text);
        text += "], sweeps: &[\n";
        embed_texts(&project.join("examples/sweeps"), &mut text);
    } else {
        text += "], scenarios: &[], sweeps: &[\n";
    }
    text += "] }\n";
    if let Err(error) = fs::write(out.join("embedded.rs"), text) {
        println!("cargo::error={}: {error}", out.display());
    }
}

/// The names and texts of a folder's TOML files.
fn embed_texts(folder: &Path, text: &mut String) {
    watch(folder);
    for (name, path) in files(folder) {
        if let Some(name) = name.strip_suffix(".toml") {
            watch(&path);
            let _ = writeln!(text, "({name:?}, include_str!({path:?})),");
        }
    }
}

/// Tells cargo to run this again when a file or folder changes.
fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// Files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    // The order of a folder depends on the file system; a build does not.
    found.sort();
    found
}

/// Images of a folder: they have no extension.
fn images(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found = files(folder);
    found.retain(|(name, _)| !name.contains('.'));
    found
}

/// Builds the images as `make firmware` does, but installs nothing.
fn build_firmware(project: &Path, out: &Path) {
    let mut make = Command::new("make");
    make.arg("-C").arg(project.join("firmware")).arg("images");
    // This build holds the lock of the project's folder for built files.
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if [
            "CARGO_",
            "RUSTC",
            "RUSTFLAGS",
            "TARGET",
            "PROFILE",
            "OPT_LEVEL",
            "MAKEFLAGS",
        ]
        .iter()
        .any(|prefix| name_text.starts_with(prefix))
            && name_text != "CARGO_HOME"
        {
            make.env_remove(&name);
        }
    }
    make.env("CARGO_TARGET_DIR", out.join("linker"));
    let advice = "the firmware images are not built: run `make firmware`, then build again";
    match make.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let reason = String::from_utf8_lossy(&output.stderr);
            let reason = reason.lines().rfind(|line| !line.trim().is_empty());
            println!(
                "cargo::error={advice} ({})",
                reason.unwrap_or("make failed")
            );
        }
        Err(error) => println!("cargo::error={advice} (make: {error})"),
    }
}
