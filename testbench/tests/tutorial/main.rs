//! Follows docs/tutorial.md word by word in an empty folder, and compares what it prints with what is shown.
//!
//! What differs between machines and runs is taken out on both sides ([`normalised`]): cargo's own progress, durations,
//! the order of tests that run at the same time. At the end the project must be `examples/echo`, file by file.
//!
//! `LANIGON_UPDATE_TUTORIAL=1 cargo test -p testbench --test tutorial` writes what is printed into the tutorial,
//! and the project's files over those of the example: read the difference before it is committed.

mod document;
mod new;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use document::Step;

const TUTORIAL: &str = "docs/tutorial.md";
const EXAMPLE: &str = "examples/echo";
/// The project's folder, as the tutorial names it.
const PROJECT: &str = "echo";
/// Words with which cargo begins a line about its own progress.
const PROGRESS: [&str; 11] = [
    "Adding",
    "Blocking",
    "Compiling",
    "Doc-tests",
    "Downloaded",
    "Downloading",
    "Finished",
    "Locking",
    "Removing",
    "Running",
    "Updating",
];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the project's folder")
}

/// The reader's machine: an empty folder, with this clone beside.
struct Reader {
    folder: PathBuf,
    /// Where its shell stands.
    at: PathBuf,
    /// What was built, kept from one run to the next.
    built: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let home = root().join("target/tutorial");
        let folder = home.join("reader");
        let _ = fs::remove_dir_all(&folder);
        let built = home.join("firmware");
        fs::create_dir_all(&folder).expect("a folder");
        fs::create_dir_all(&built).expect("a folder");
        link(&root(), &folder.join("lanigon"));
        let at = folder.clone();
        Self { folder, at, built }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Runs a line in the shell; gives what it prints.
    fn run(&mut self, line: &str) -> String {
        let end = self.folder.join(".at");
        let script = format!("{line}\nstatus=$?\npwd > '{}'\nexit $status", end.display());
        let command = Path::new(env!("CARGO_BIN_EXE_lanigon"));
        let path = format!(
            "{}:{}",
            command.parent().expect("a folder").display(),
            std::env::var("PATH").expect("a path")
        );
        let output = Command::new("bash")
            .arg("-c")
            .arg(format!("exec 2>&1\n{script}"))
            .current_dir(&self.at)
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", root().join("target"))
            .env("CARGO_TERM_COLOR", "never")
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG")
            .env_remove("RUST_BACKTRACE")
            .output()
            .expect("bash");
        let at = fs::read_to_string(end).expect("where the shell stands");
        self.at = at.trim().into();
        self.keep_what_is_built();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is built outlives the project, so that the emulator and `core` are built once.
    fn keep_what_is_built(&self) {
        let project = self.folder.join(PROJECT);
        for (folder, built) in [
            (project.join("firmware"), &self.built),
            (project, &root().join("target")),
        ] {
            if folder.is_dir() && !folder.join("target").exists() {
                link(built, &folder.join("target"));
            }
        }
    }
}

fn is_installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}

/// What is left of printed lines when everything is taken out that may differ.
fn normalised(command: &str, text: &str) -> Vec<String> {
    let builds = command.contains("cargo") || command.contains("build.sh");
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        let progress = PROGRESS.contains(&word) && line.starts_with(' ');
        if builds && progress {
            continue;
        }
        let line = match line.split_once("; finished in ") {
            Some((result, _)) => result,
            None => line,
        };
        lines.push(line.trim_end().to_owned());
    }
    // Tests run at the same time: the order of their lines says nothing.
    for tests in lines.chunk_by_mut(|a, b| is_test(a) && is_test(b)) {
        tests.sort();
    }
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    let first = lines.iter().position(|line| !line.is_empty());
    lines.drain(..first.unwrap_or(lines.len()));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn is_test(line: &str) -> bool {
    line.starts_with("test ") && line.contains(" ... ")
}

/// The files of a project but those that cargo writes.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            match &*name {
                "target" | "Cargo.lock" => {}
                _ if path.is_dir() => folders.push(path),
                _ => {
                    let place = path.strip_prefix(folder).expect("inside");
                    let text = fs::read_to_string(&path).expect("a text");
                    found.insert(place.display().to_string(), text);
                }
            }
        }
    }
    found
}

#[test]
fn the_tutorial_works_word_by_word() {
    let updates = std::env::var_os("LANIGON_UPDATE_TUTORIAL").is_some();
    let path = root().join(TUTORIAL);
    let mut text = fs::read_to_string(&path).expect(TUTORIAL);
    let mut reader = Reader::new();
    let mut number = 0;
    let mut wrong = Vec::new();
    for step in document::steps(&text) {
        match step {
            Step::File { path, text } => reader.write(&path, &text),
            Step::Command {
                line,
                needs: Some(program),
                ..
            } if !is_installed(&program) => {
                eprintln!("{program} is not installed: skipped: {line}");
                number += 1;
            }
            Step::Command { line, output, .. } => {
                let printed = normalised(&line, &reader.run(&line));
                let shown = normalised(&line, &output.join("\n"));
                if !document::matches(&shown, &printed) {
                    text = document::with_output(&text, number, &printed);
                    wrong.push(format!("$ {line}\n{}", printed.join("\n")));
                }
                number += 1;
            }
        }
    }
    assert!(number > 5, "{TUTORIAL} is read wrongly");
    if updates {
        fs::write(&path, text).expect(TUTORIAL);
        update_example(&reader.folder.join(PROJECT));
        return;
    }
    assert!(
        wrong.is_empty(),
        "{TUTORIAL} does not show what these commands print:\n{}",
        wrong.join("\n\n")
    );
    compare_with_example(&reader.folder.join(PROJECT));
}

/// The project's files, as they would be where the example is.
fn as_example(project: &Path) -> BTreeMap<String, String> {
    let mut files = files(project);
    for text in files.values_mut() {
        // From target/tutorial/reader/echo it is four folders up to the clone, from examples/echo two.
        *text = text.replace("../../../../", "../../");
    }
    files
}

fn compare_with_example(project: &Path) {
    let (ours, theirs) = (as_example(project), files(&root().join(EXAMPLE)));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{EXAMPLE} has other files");
    for (name, text) in &ours {
        assert!(
            *text == theirs[name],
            "{EXAMPLE}/{name} is not what the tutorial makes"
        );
    }
}

fn update_example(project: &Path) {
    for (name, text) in as_example(project) {
        let path = root().join(EXAMPLE).join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}
