//! Follows README.md and pages of docs/ literally, and compares the output with the document. Pages that go on with each other are followed in one
//! folder.
//!
//! Differences between machines and runs are removed on both sides ([`reader`]): cargo's progress,
//! durations, the order of parallel tests, the location of the clone. gdb's output is compared literally
//! (gdb 13); output that varies between gdb versions is not in the document. At the end of the tutorial the
//! project must equal `examples/echo`, file by file.
//!
//! `LANIGON_UPDATE_TUTORIAL=1 cargo test -p lanigon-command tutorial` writes the output into the
//! documents, and the project's files over those of the example: read the difference before committing it.

mod document;
mod new;
mod reader;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use reader::{CLONE, Reader, link, root};

const TUTORIAL: [&str; 2] = ["docs/tutorial.md", "docs/tutorial-search.md"];
const LANAI_TUTORIAL: &str = "docs/lanai-tutorial.md";
/// The scenario of README.md, and the pages that go on with it.
const FIRST_STEPS: [&str; 3] = ["README.md", "docs/run-scenarios.md", "docs/inspect.md"];
const COMMANDS: &str = "docs/commands.md";
const ACENIC: &str = "docs/acenic.md";
const DEBUGGING: &str = "docs/debugging.md";
const GDB: &str = "docs/gdb.md";
/// Pages about GM, FM, and what runs over them.
const GM: [&str; 9] = [
    "docs/gm-scenarios.md",
    "docs/gm-tigon2.md",
    "docs/gm-mapper.md",
    "docs/gm-atomics.md",
    "docs/collectives.md",
    "docs/collectives-results.md",
    "docs/dsm.md",
    "docs/fm.md",
    "docs/mpi.md",
];
const SWEEPS: &str = "docs/sweep.md";
const EXAMPLE: &str = "examples/echo";
/// Folder of the project in the tutorial.
const PROJECT: &str = "echo";
/// Folder of the project in the LANai's tutorial. cargo tells projects in one target folder apart by their names.
const LANAI_PROJECT: &str = "bounce";

/// Files of a project, without those that cargo writes.
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
    let mut reader = Reader::new("reader", "~");
    link(&root(), &reader.folder.join("lanigon"));
    let project = reader.folder.join(PROJECT);
    let firmware = root().join("target/tutorial/firmware");
    fs::create_dir_all(&firmware).expect("a folder");
    reader.builds = vec![
        (project.join("firmware"), firmware),
        (project.clone(), root().join("target")),
    ];
    let [first, second] = TUTORIAL;
    match reader.follow(first) | reader.follow(second) {
        true => update_example(&project),
        false => compare_with_example(&project),
    }
}

/// A project for boards with a LANai.
#[test]
fn the_lanai_tutorial_works_word_by_word() {
    if !has_lanai_tools(LANAI_TUTORIAL) {
        return;
    }
    let mut reader = Reader::new("lanai-reader", "~");
    link(&root(), &reader.folder.join("lanigon"));
    let project = reader.folder.join(LANAI_PROJECT);
    reader.builds = vec![
        (project.join("firmware"), lanai_firmware()),
        (project, root().join("target")),
    ];
    reader.follow(LANAI_TUTORIAL);
}

/// Whether LLVM's tools, which make code for the LANai, are where this project looks for them. If not, says so past the capture of
/// the test's output.
pub(crate) fn has_lanai_tools(what: &str) -> bool {
    let found = Command::new(root().join("scripts/llvm"))
        .arg("find")
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of LLVM 22's llc: {what}"
        );
    }
    found
}

/// Build output of firmware projects for the LANai, kept between tests and runs.
fn lanai_firmware() -> PathBuf {
    let folder = root().join("target/tutorial/lanai-firmware");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn gm_works_word_by_word() {
    if has_lanai_tools("pages about GM") {
        follow("gm", &GM);
    }
}

#[test]
fn the_readme_works_word_by_word() {
    follow("readme", &FIRST_STEPS);
}

#[test]
fn commands_work_word_by_word() {
    follow("commands", &[COMMANDS]);
}

#[test]
fn acenic_works_word_by_word() {
    follow("acenic", &[ACENIC]);
}

#[test]
fn gdb_works_word_by_word() {
    follow("gdb", &[GDB]);
}

/// The reader's files are outside of the clone's tracked files.
#[test]
fn debugging_works_word_by_word() {
    follow("debugging", &[DEBUGGING]);
}

#[test]
fn sweeps_work_word_by_word() {
    follow("sweeps", &[SWEEPS]);
}

/// Follows pages, one after the other, in a clone: a folder with links to all of the clone's files.
fn follow(folder: &str, pages: &[&str]) {
    let mut reader = Reader::new(folder, CLONE);
    for entry in fs::read_dir(root()).expect("the clone") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        link(&path, &reader.folder.join(name));
    }
    for page in pages {
        reader.follow(page);
    }
}

/// The project's files, as they would be in the example's folder.
fn as_example(project: &Path) -> BTreeMap<String, String> {
    let mut files = files(project);
    for text in files.values_mut() {
        // From target/tutorial/reader/echo the clone is four folders up, from examples/echo two.
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
