//! Hashes the sources that determine a run, so that results of another emulator are never taken for those of this one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Sources on which a run depends, from the folder of the project; with them each crate of the emulator (`emulator/*/src`).
/// Images and profiles are compared by their contents.
const SOURCES: [&str; 10] = [
    "emulator/src",
    "firmware/defs/src",
    "host-lib/src",
    "host-lib/window/src",
    "testbench/guests/src",
    "testbench/processes/src",
    "testbench/requests/src",
    "testbench/workloads/src",
    "testbench/worlds/src",
    "Cargo.lock",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut sources: Vec<PathBuf> = SOURCES.iter().map(|source| root.join(source)).collect();
    // A published package has no sources of other packages; its version identifies it.
    let crates = fs::read_dir(root.join("emulator")).into_iter().flatten();
    let crates = crates
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("src"));
    sources.extend(crates.filter(|path| path.is_dir()));
    sources.sort();
    for path in sources {
        println!("cargo:rerun-if-changed={}", path.display());
        let files = files(&path).unwrap_or_default();
        for file in files {
            let name = file.strip_prefix(&root).unwrap_or(&file);
            add(&mut hash, name.to_string_lossy().as_bytes());
            add(&mut hash, &fs::read(&file).unwrap_or_default());
        }
    }
    println!("cargo:rustc-env=LANIGON_SOURCE={hash:016x}");
}

/// A file, or all files of a folder, sorted.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.into()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        found.extend(files(&entry?.path())?);
    }
    // The order of a folder depends on the file system; the hash does not.
    found.sort();
    Ok(found)
}

/// FNV-1a over the length and the bytes.
fn add(hash: &mut u64, bytes: &[u8]) {
    let length = (bytes.len() as u64).to_le_bytes();
    for &byte in length.iter().chain(bytes) {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
