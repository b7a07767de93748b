//! Compilation of programs: one crate for the LANai and one for this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use emulator::image::Image;

use super::super::toolchain::{self, Toolchain, output, text};
use super::Call;
use super::board::{IMAGE_END, MEMORY};
use super::program;

/// Programs that the linker refuses, with its reasons.
pub struct Refusals(pub BTreeMap<u64, BTreeSet<String>>);

/// The compilers of programs.
pub struct Builder {
    toolchain: Toolchain,
    folder: PathBuf,
}

impl Builder {
    /// None, with a line that says so, where LLVM's tools are missing.
    pub fn new() -> Option<Builder> {
        Some(Builder {
            toolchain: Toolchain::new("generated programs for the LANai", &[])?,
            folder: toolchain::folder("generated-programs"),
        })
    }

    /// Writes the crate of the programs, with `main` around them.
    fn write(&self, name: &str, seeds: &[u64], main: &str) -> Result<PathBuf, String> {
        let mut source = main.to_owned();
        source.push_str("\nmod programs {\n");
        let mut table = String::new();
        for seed in seeds {
            let _ = writeln!(source, "{}", program::text(*seed));
            let _ = write!(table, "p{seed}::run, ");
        }
        let count = seeds.len();
        let _ = writeln!(
            source,
            "pub static PROGRAMS: [fn(u32, u32) -> u64; {count}] = [{table}];\n}}"
        );
        let file = self.folder.join(format!("{name}.rs"));
        fs::write(&file, source).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }

    /// The image of the programs, or those that the linker refuses.
    pub fn image(&self, level: &str, seeds: &[u64]) -> Result<Result<Image, Refusals>, String> {
        let name = format!("lanai-{level}-{}", seeds.first().unwrap_or(&0));
        let source = self.write(&name, seeds, include_str!("lanai.rs.txt"))?;
        let image = self.folder.join(&name);
        let mut rustc = self.toolchain.linking(&["lanai_rt"], IMAGE_END);
        rustc
            .arg("--crate-name=programs")
            .arg(format!("-Copt-level={level}"))
            .arg(&source)
            .arg("-o")
            .arg(&image);
        let result = rustc.output().map_err(|error| error.to_string())?;
        if let Err(error) = text(&result) {
            let refused = refusals(&error);
            return match refused.is_empty() {
                true => Err(format!("{}:\n{error}", source.display())),
                false => Ok(Err(Refusals(refused))),
            };
        }
        toolchain::image(&image, MEMORY).map(Ok)
    }

    /// The programs for this machine, by the plainest code.
    pub fn native(&self, level: &str, seeds: &[u64]) -> Result<PathBuf, String> {
        let name = format!("native-{level}-{}", seeds.first().unwrap_or(&0));
        let source = self.write(&name, seeds, include_str!("native.rs.txt"))?;
        let program = self.folder.join(&name);
        let mut rustc = Command::new("rustc");
        rustc
            .args([
                "--edition=2024",
                "--crate-name=programs",
                "--cap-lints=allow",
            ])
            .args([
                "-Copt-level=0",
                "-Coverflow-checks=off",
                "-Cdebug-assertions=off",
            ])
            .arg(&source)
            .arg("-o")
            .arg(&program);
        output(&mut rustc)?;
        Ok(program)
    }
}

/// The results of a program for this machine.
pub fn native_results(program: &Path, calls: &[Call]) -> Result<Vec<u64>, String> {
    let mut input = String::new();
    for call in calls {
        let _ = writeln!(input, "{} {} {}", call.index, call.a, call.b);
    }
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let result = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let _ = writer.join();
    let results = text(&result).map_err(|error| format!("{}: {error}", program.display()))?;
    let number = |line: &str| line.parse().map_err(|_| format!("no number: {line}"));
    results.lines().map(number).collect()
}

/// Programs in the linker's list of bad code: lines `programs::programs::p7::f1+0x40 (file): reason`.
fn refusals(error: &str) -> BTreeMap<u64, BTreeSet<String>> {
    let mut refused: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for line in error.lines() {
        let Some((place, reason)) = line.split_once("): ") else {
            continue;
        };
        let Some((_, name)) = place.split_once("programs::programs::p") else {
            continue;
        };
        let digits = name.split(|c: char| !c.is_ascii_digit()).next();
        if let Some(Ok(seed)) = digits.map(str::parse) {
            refused.entry(seed).or_default().insert(reason.to_owned());
        }
    }
    refused
}
