//! A reader who follows a document literally, in a separate folder.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::document::{self, GDB, Step};
use crate::tools::is_installed;

/// First words of cargo's progress lines.
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

/// Name of the clone in the documents.
pub const CLONE: &str = "~/lanigon";

/// The clone.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the project's folder")
}

pub fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}

/// The reader's machine: a folder, and the command.
pub struct Reader {
    /// Initial folder, empty at the start.
    pub folder: PathBuf,
    /// Name of that folder in the documents.
    name: &'static str,
    /// Current folder of the shell.
    at: PathBuf,
    /// Folders of cargo projects, with the location of their build output, which is kept between runs.
    pub builds: Vec<(PathBuf, PathBuf)>,
    /// Running background commands.
    stay: Vec<Child>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        for child in &mut self.stay {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Reader {
    /// A reader with an empty folder, and its name in the document.
    pub fn new(folder: &str, name: &'static str) -> Self {
        let folder = root().join("target/tutorial").join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self {
            at: folder.clone(),
            folder,
            name,
            builds: Vec::new(),
            stay: Vec::new(),
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// A shell that executes a script.
    fn shell(&self, script: &str) -> Command {
        let command = Path::new(env!("CARGO_BIN_EXE_lanigon"));
        let path = format!(
            "{}:{}",
            command.parent().expect("a folder").display(),
            std::env::var("PATH").expect("a path")
        );
        let mut shell = Command::new("bash");
        shell
            .arg("-c")
            .arg(format!("exec 2>&1\n{script}"))
            .current_dir(&self.at)
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", root().join("target"))
            .env("CARGO_TERM_COLOR", "never")
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .env_remove("COLUMNS")
            // The tests may run under `make`; the reader's `make` does not.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .env_remove("MFLAGS")
            .env_remove("DEBUGINFOD_URLS")
            .env_remove("RUST_LOG")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        shell
    }

    /// Runs a line in the shell with its input; returns the terminal's content.
    fn run(&mut self, line: &str, typed: &[&str]) -> String {
        let end = self.folder.join(".at");
        let script = format!("{line}\nstatus=$?\npwd > '{}'\nexit $status", end.display());
        let mut child = self.shell(&script).spawn().expect("bash");
        let mut input = child.stdin.take().expect("its input");
        let text: String = typed.iter().map(|line| format!("{line}\n")).collect();
        // If it has ended early, show its output.
        let _ = input.write_all(text.as_bytes());
        drop(input);
        let output = child.wait_with_output().expect("its output");
        let at = fs::read_to_string(end).expect("where the shell stands");
        self.at = at.trim().into();
        self.keep_what_is_built();
        echoed(&String::from_utf8_lossy(&output.stdout), typed)
    }

    /// Starts a background command; returns its first lines.
    fn begin(&mut self, line: &str, lines: usize) -> String {
        let mut child = self.shell(&format!("exec {line}")).spawn().expect("bash");
        let shown = BufReader::new(child.stdout.as_mut().expect("its output"));
        let shown: Vec<_> = shown.lines().map_while(Result::ok).take(lines).collect();
        self.stay.push(child);
        shown.join("\n")
    }

    /// Build output is kept outside of the project, so that the emulator and `core` are built once.
    fn keep_what_is_built(&self) {
        for (project, built) in &self.builds {
            if project.is_dir() && !project.join("target").exists() {
                link(built, &project.join("target"));
            }
        }
    }

    /// Executes the steps of a document, and panics at a difference. With `LANIGON_UPDATE_TUTORIAL`, the
    /// output is written into the document instead; returns whether it was.
    pub fn follow(&mut self, document: &str) -> bool {
        let path = root().join(document);
        let mut text = fs::read_to_string(&path).expect(document);
        let mut number = 0;
        let mut wrong = Vec::new();
        for step in document::steps(&text) {
            let command = match step {
                Step::File { path, text } => {
                    self.write(&path, &text);
                    continue;
                }
                Step::Command(command) => command,
            };
            if let Some(printed) = self.carry_out(&command) {
                text = document::with_output(&text, number, &printed);
                wrong.push(format!("$ {}\n{}", command.line, printed.join("\n")));
            }
            number += 1;
        }
        let commands = text.lines().filter(|line| line.starts_with("$ "));
        assert_eq!(number, commands.count(), "{document} is read wrongly");
        assert!(number > 0, "{document} has no command");
        if std::env::var_os("LANIGON_UPDATE_TUTORIAL").is_some() {
            fs::write(&path, text).expect(document);
            return true;
        }
        assert!(
            wrong.is_empty(),
            "{document} does not show what these commands print:\n{}",
            wrong.join("\n\n")
        );
        false
    }

    /// Executes a command; returns its output if it differs from the document.
    fn carry_out(&mut self, command: &document::Command) -> Option<Vec<String>> {
        let line = &command.line;
        if let Some(program) = &command.needs
            && !is_installed(program, line)
        {
            return None;
        }
        let printed = match command.stays {
            true => self.begin(line, command.output.len()),
            false => self.run(line, &command.typed()),
        };
        // The folder is in the clone.
        let printed = printed.replace(&self.folder.display().to_string(), self.name);
        let printed = normalised(line, &printed);
        let shown = normalised(line, &command.output.join("\n"));
        (!document::matches(&shown, &printed)).then_some(printed)
    }
}

/// The content of a terminal: unlike `lanigon debug`, gdb does not echo input from a pipe.
fn echoed(printed: &str, typed: &[&str]) -> String {
    let mut pieces = printed.split(GDB);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    let mut typed = typed.iter();
    for piece in pieces {
        let typed = typed.next().copied().unwrap_or_default();
        shown += &format!("{GDB}{typed}\n{piece}");
    }
    shown
}

/// Removes variable parts from printed lines.
fn normalised(command: &str, text: &str) -> Vec<String> {
    let builds = ["cargo", "build.sh", "make"];
    let builds = builds.iter().any(|word| command.contains(word));
    let clone = root().display().to_string();
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
        lines.push(line.trim_end().replace(&clone, CLONE));
    }
    // Tests run in parallel: the order of their lines is irrelevant.
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
