//! `lanigon unpack`: the built-in data as files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use lanigon_papers::PAPERS;
use lanigon_worlds::boards::{self, BOARDS};
use lanigon_worlds::files::input::Input;
use lanigon_worlds::files::{output as files, own};

use super::Status;
use crate::cli::UnpackArgs;
use crate::output;

/// Runs the command.
///
/// # Errors
/// If the folder is not empty, or a file cannot be read or written.
pub fn run(args: &UnpackArgs) -> anyhow::Result<Status> {
    let folder = &args.folder;
    super::new::check_empty(folder)?;
    let mut counts = [0; 5];
    let families: BTreeSet<_> = BOARDS.iter().map(|board| board.images).collect();
    for family in families {
        for (name, found) in own::images(family) {
            let bytes = found
                .read(Input::Image)
                .with_context(|| found.to_string())?;
            write(&folder.join("images").join(family).join(name), &bytes)?;
            counts[0] += 1;
        }
    }
    for (name, found) in own::scenarios() {
        let bytes = found
            .read(Input::Scenario)
            .with_context(|| found.to_string())?;
        write(&folder.join("scenarios").join(name + ".toml"), &bytes)?;
        counts[1] += 1;
    }
    for (name, found) in own::sweeps() {
        let bytes = found
            .read(Input::Sweep)
            .with_context(|| found.to_string())?;
        write(&folder.join("sweeps").join(name + ".toml"), &bytes)?;
        counts[4] += 1;
    }
    for (name, text) in boards::profiles().texts() {
        let path = folder.join("profiles").join(format!("{name}.toml"));
        write(&path, text.as_bytes())?;
        counts[2] += 1;
    }
    for table in PAPERS.iter().map(|paper| paper.table) {
        let path = folder.join("published").join(format!("{}.csv", table.name));
        write(&path, table.text.as_bytes())?;
        counts[3] += 1;
    }
    let [images, scenarios, profiles, tables, sweeps] = counts;
    output::print(&format!(
        "{}: {images} images, {scenarios} scenarios, {sweeps} sweeps, {profiles} profiles, {tables} tables of published numbers; use them with --data {0}\n",
        folder.display()
    ))?;
    Ok(Status::Done)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let shown = || path.display().to_string();
    fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).with_context(shown)?;
    files::write(path, bytes).with_context(shown)
}
