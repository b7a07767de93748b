//! The compiler for the LANai, as tests call it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use emulator::cpu::lanai::architecture::LANAI;
use emulator::cpu::lanai::bus::Width;
use emulator::image::{Image, MemoryLimits};
use serde_json::Value;

use super::flat::FlatBus;

/// The compiler, and libraries for the LANai.
pub struct Toolchain {
    /// The project.
    pub root: PathBuf,
    /// `LANIGON_LLVM`.
    tools: String,
    /// Name and file of each library.
    libraries: Vec<(String, PathBuf)>,
}

/// The output of a command; its errors, if it fails.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    text(&output).map_err(|error| format!("{command:?}:\n{error}"))
}

/// The text that a program has printed, by its success.
pub fn text(output: &Output) -> Result<String, String> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Name and file of the libraries that cargo's messages name.
fn libraries(messages: &str) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let mut files = message["filenames"].as_array().into_iter().flatten();
        // Its name has the hash of all settings, unlike that of the library itself.
        let metadata = files.find_map(|file| file.as_str()?.strip_suffix(".rmeta"));
        let name = message["target"]["name"].as_str();
        if let (Some(name), Some(file)) = (name, metadata) {
            found.push((name.to_owned(), format!("{file}.rlib").into()));
        }
    }
    found
}

/// A folder for the files of tests.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

impl Toolchain {
    /// Builds the linker and, with more arguments for cargo, the libraries; none, with a line that says what is skipped, where LLVM's
    /// tools are missing.
    pub fn new(what: &str, arguments: &[&str]) -> Option<Toolchain> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let find = Command::new(root.join("scripts/llvm")).arg("find").output();
        let find = find.expect("scripts/llvm runs");
        if !find.status.success() {
            // Past the capture of the test harness, which hides the output of tests that pass.
            let _ = writeln!(std::io::stderr(), "SKIPPED for lack of llc: {what}");
            return None;
        }
        let mut build = Command::new(root.join("firmware/lanai/build.sh"));
        build.args(["--package", "lanigon-lanai-rt", "--quiet"]);
        build.arg("--message-format=json-render-diagnostics");
        build.args(arguments);
        let messages = output(&mut build).unwrap_or_else(|error| panic!("{error}"));
        Some(Toolchain {
            tools: String::from_utf8_lossy(&find.stdout).trim().to_owned(),
            libraries: libraries(&messages),
            root,
        })
    }

    /// The compiler for the LANai, with these libraries beside the compiler's own.
    pub fn rustc(&self, libraries: &[&str]) -> Command {
        let mut rustc = Command::new("rustc");
        let target = self.root.join("firmware/lanai/lanai.json");
        rustc
            .args(["--edition=2024", "--cap-lints=allow", "-Zunstable-options"])
            .args(["-Cpanic=abort", "-Ccodegen-units=1"])
            .arg(format!("--target={}", target.display()))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("LANIGON_LLVM", &self.tools);
        for (name, file) in &self.libraries {
            let folder = file.parent().unwrap_or(file);
            rustc.arg(format!("-Ldependency={}", folder.display()));
            // As cargo does for crates that source code names without being told to.
            let how = match name.as_str() {
                "core" | "compiler_builtins" => "noprelude:",
                name if libraries.contains(&name) => "",
                _ => continue,
            };
            rustc.arg(format!("--extern={how}{name}={}", file.display()));
        }
        rustc
    }

    /// The compiler for a complete image whose memory has this end.
    pub fn linking(&self, libraries: &[&str], memory_end: u32) -> Command {
        let mut rustc = self.rustc(libraries);
        let path = |path: &str| self.root.join(path).display().to_string();
        rustc
            .arg("-Clto=fat")
            .arg(format!("-L{}", path("firmware/lanai/rt")))
            .arg(format!("-Clinker={}", path("target/release/lanai-link")))
            .arg(format!("-Clink-arg=--memory={memory_end:#x}"))
            .args(["crt0.s", "runtime.s"].map(|file| format!("-Clink-arg=--assemble={file}")));
        rustc
    }
}

/// Reads an image for `memory` bytes of memory.
pub fn image(path: &Path, memory: u32) -> Result<Image, String> {
    let limits = MemoryLimits {
        board: "a board with a LANai",
        architecture: &LANAI,
        sram_bytes: memory,
        scratchpad_base: u32::MAX,
        scratchpad_a_bytes: 0,
        scratchpad_b_bytes: 0,
        dispatch_tables: (&[], 0),
    };
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = std::fs::read(path).map_err(|error| failed(&error))?;
    Image::parse(&file, &limits).map_err(|error| failed(&error))
}

/// A board with the image, whose memory held other values before.
pub fn loaded(image: &Image, memory: u32) -> FlatBus<true> {
    let mut bus = FlatBus::new(memory as usize);
    for address in (0..memory).step_by(4) {
        bus.write(address, Width::Word, 0xDEAD_BEEF);
    }
    for (address, bytes) in image.load_parts() {
        for (address, byte) in (address..).zip(bytes) {
            bus.write(address, Width::Byte, u32::from(*byte));
        }
    }
    bus
}
