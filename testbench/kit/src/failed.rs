//! The world of a failed test as a scenario: for `lanigon debug`, `gdb`, `profile`, `ledger` and `run`.
//!
//! A test's host programs are closures, which no scenario can name. So a kit records what they do ([`emulator::host::tape`]), what faults do
//! to frames ([`emulator::wire::strikes`]), and injected frames. When the test fails, it writes a folder:
//!
//! | file | content |
//! |------|---------|
//! | `world.toml` | a scenario: boards, profile, memory, network, and `run = "replay"` for each node |
//! | `node0.replay`, ... | the recording of a node ([`lanigon_worlds::replay`]) |
//! | images, and a profile given as a file | copies |
//!
//! and prints a line with the command that opens it. The scenario has the trace hash of the test's run, up to its end.
//!
//! A test fails when it panics while the kit lives, or when its last run returned an error: whether the test passes that error on, the kit
//! cannot know. Test programs show the line of failed tests only. A [`Search`](super::Search) tries many worlds; only that of the smallest
//! schedule is written.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::env;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::strikes::StrikeLog;
use lanigon_worlds::boards::{self, BoardType, Medium};
use lanigon_worlds::nodes::{HOST_MEGABYTES, START};
use lanigon_worlds::replay::RecordedNode;

use super::builder::{ImageSource, SWITCH_BUFFER_BYTES, SWITCH_LATENCY};

/// Names the folder for the worlds of failed tests; `off`: nothing is recorded.
const VARIABLE: &str = "LANIGON_FAILED_TESTS";
/// The file that tells where cargo's target folder begins.
const TARGET_TAG: &str = "CACHEDIR.TAG";

/// When the worlds of failed tests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WritePolicy {
    /// For failed tests.
    Failed,
    /// Never.
    Nothing,
    /// Always.
    All,
}

thread_local! {
    static LEAVE: Cell<WritePolicy> = const { Cell::new(WritePolicy::Failed) };
}

/// Calls `test` with another choice of the worlds that this thread writes.
pub(super) fn leaving<T>(choice: WritePolicy, test: impl FnOnce() -> T) -> T {
    struct Restore(WritePolicy);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEAVE.set(self.0);
        }
    }
    let _restore = Restore(LEAVE.replace(choice));
    test()
}

/// The fixed parts of a kit's world.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) board: &'static BoardType,
    /// Name or file of the profile.
    pub(super) profile: String,
    /// Byte time and propagation time.
    pub(super) cable: (SimTime, SimTime),
    pub(super) sram_bytes: u32,
    pub(super) switch: bool,
    /// The image of each node; `None`: its board is never started.
    pub(super) images: Vec<Option<ImageSource>>,
}

/// Records of a node.
#[derive(Debug)]
struct NodeRecords {
    layers: Vec<StrikeLog>,
    arrivals: Vec<(SimTime, Vec<u8>)>,
}

/// Everything that a failed test writes.
#[derive(Debug)]
pub(super) struct FailureRecords {
    origin: Origin,
    nodes: Vec<NodeRecords>,
    /// Reasons for which the recorded world may differ from the test's.
    doubts: BTreeSet<&'static str>,
    /// Whether the last run failed.
    pub(super) failed: bool,
}

impl FailureRecords {
    /// Whether the user wants recordings.
    pub(super) fn wanted() -> bool {
        env::var_os(VARIABLE).is_none_or(|value| value != "off")
    }

    pub(super) const fn new(origin: Origin) -> Self {
        Self {
            origin,
            nodes: Vec::new(),
            doubts: BTreeSet::new(),
            failed: false,
        }
    }

    pub(super) fn add_node(&mut self, layers: Vec<StrikeLog>) {
        let arrivals = Vec::new();
        self.nodes.push(NodeRecords { layers, arrivals });
    }

    /// A frame was injected.
    pub(super) fn arrives(&mut self, node: usize, time: SimTime, bytes: &[u8]) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.arrivals.push((time, bytes.to_vec()));
        }
    }

    pub(super) fn doubt(&mut self, why: &'static str) {
        self.doubts.insert(why);
    }

    /// Writes the world of a failed test, and prints the command that opens it.
    pub(super) fn leave(mut self, world: &World) {
        let wanted = match LEAVE.get() {
            WritePolicy::Failed => thread::panicking() || self.failed,
            WritePolicy::Nothing => false,
            WritePolicy::All => true,
        };
        if !wanted || world.now() == SimTime::ZERO {
            return;
        }
        let folder = folder();
        let line = match self.write(world, &folder) {
            Ok(()) => self.command(&folder),
            Err(error) => format!(
                "the world of this test cannot be written to {}: {error}",
                folder.display()
            ),
        };
        // Test programs capture what this macro prints, and show it for failed tests.
        #[expect(clippy::print_stderr, reason = "output of a failed test")]
        {
            eprintln!("{line}");
        }
    }

    /// The line with the command that opens the world in a folder.
    fn command(&self, folder: &Path) -> String {
        let path = for_shell(&shown(&folder.join("world.toml")));
        let line = format!("lanigon debug {path}   (or gdb, profile, run --timeline FILE)");
        let doubts: Vec<_> = self.doubts.iter().copied().collect();
        match doubts.as_slice() {
            [] => line,
            doubts => format!("{line}; may differ: {}", doubts.join(", ")),
        }
    }

    fn write(&mut self, world: &World, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut text = self.head(world);
        let images = self.copy_images(folder)?;
        self.write_nodes(&mut text, &images, folder)?;
        self.write_network(&mut text, &images);
        for index in 0..self.nodes.len() {
            if let Some(recorded) = self.recorded(world, index) {
                let file = format!("node{index}.replay");
                fs::write(folder.join(&file), recorded.to_bytes())?;
                let node = self.name(&images, index);
                line(&mut text, "");
                line(&mut text, "[[program]]");
                line(&mut text, "run = \"replay\"");
                line(&mut text, &format!("node = \"{node}\""));
                line(&mut text, &format!("file = \"{file}\""));
            }
        }
        fs::write(folder.join("world.toml"), text)
    }

    /// The first lines of the scenario.
    fn head(&self, world: &World) -> String {
        let end = world.now().saturating_sub(START).max(SimTime::from_ns(1));
        let mut text = String::new();
        line(
            &mut text,
            "# The world of a failed test up to its end. The files beside it belong to it.",
        );
        let hash = world.trace_hash();
        line(&mut text, &format!("# Trace hash: {hash:016x}"));
        let name = quoted(&test_name());
        line(&mut text, &format!("description = {name}"));
        line(&mut text, &format!("max_time_us = {:.6}", end.us()));
        line(
            &mut text,
            &format!("board = \"{}\"", self.origin.board.name),
        );
        let kilobytes = self.origin.sram_bytes / boards::KB;
        line(&mut text, &format!("board_memory_kb = {kilobytes}"));
        line(&mut text, &format!("host_memory_mb = {HOST_MEGABYTES}"));
        text
    }

    /// Copies the images; returns their names in the scenario.
    fn copy_images(&self, folder: &Path) -> io::Result<Vec<Option<String>>> {
        let mut copied: Vec<(&ImageSource, String)> = Vec::new();
        let mut names = Vec::new();
        for source in &self.origin.images {
            let Some(source) = source else {
                names.push(None);
                continue;
            };
            let known = copied.iter().find(|(other, _)| *other == source);
            let name = match known {
                Some((_, name)) => name.clone(),
                None => {
                    let name = format!("image{}-{}", copied.len(), source.file_name());
                    source.copy_to(&folder.join(&name))?;
                    copied.push((source, name.clone()));
                    name
                }
            };
            names.push(Some(name));
        }
        Ok(names)
    }

    /// Whether the nodes need tables of their own: they have different images.
    fn differ(images: &[Option<String>]) -> bool {
        let used: BTreeSet<_> = images.iter().flatten().collect();
        used.len() > 1
    }

    /// The name of a node in the scenario.
    fn name(&self, images: &[Option<String>], node: usize) -> String {
        match Self::differ(images) {
            true => format!("node{node}"),
            false => node.to_string(),
        }
    }

    /// Profile, images and nodes. A board that is never started has the image of another one.
    fn write_nodes(
        &self,
        text: &mut String,
        images: &[Option<String>],
        folder: &Path,
    ) -> io::Result<()> {
        let profile = &self.origin.profile;
        let profile = match boards::profiles().names().any(|known| known == profile) {
            true => profile.as_str(),
            false => {
                fs::copy(profile, folder.join("profile.toml"))?;
                "profile.toml"
            }
        };
        line(text, &format!("profile = \"{profile}\""));
        let Some(first) = images.iter().flatten().next() else {
            return Ok(());
        };
        line(text, &format!("image = {}", quoted(&format!("./{first}"))));
        if Self::differ(images) {
            for (node, image) in images.iter().enumerate() {
                line(text, "");
                line(text, "[[node]]");
                line(text, &format!("name = \"{}\"", self.name(images, node)));
                if let Some(image) = image {
                    line(text, &format!("image = {}", quoted(&format!("./{image}"))));
                }
            }
        }
        Ok(())
    }

    fn write_network(&self, text: &mut String, images: &[Option<String>]) {
        let Origin {
            board,
            cable: (byte_time, propagation),
            switch,
            ..
        } = &self.origin;
        line(text, "");
        line(text, "[network]");
        let topology = if *switch { "star" } else { "pair" };
        line(text, &format!("topology = \"{topology}\""));
        if !Self::differ(images) {
            line(text, &format!("nodes = {}", images.len()));
        }
        let speed_mbit = 8e6 / byte_time.ps() as f64;
        line(text, "");
        line(text, "[network.link]");
        line(text, &format!("speed_mbit = {speed_mbit:?}"));
        line(text, &format!("propagation_ns = {:?}", propagation.ns()));
        // Crossbars have the properties of the profile.
        if *switch && board.medium == Medium::Ethernet {
            line(text, "");
            line(text, "[network.switch]");
            line(text, &format!("latency_ns = {:?}", SWITCH_LATENCY.ns()));
            line(text, &format!("buffer_bytes = {SWITCH_BUFFER_BYTES}"));
        }
    }

    /// Records of a node; `None` if nothing was recorded.
    fn recorded(&mut self, world: &World, index: usize) -> Option<RecordedNode> {
        // A kit's node has one program.
        let program = world.nodes[index].programs.tapes().next();
        if program.is_some_and(|(_, tape)| tape.full_since().is_some()) {
            self.doubt("a host program did more than a recording holds");
        }
        let NodeRecords { layers, arrivals } = &self.nodes[index];
        let recorded = RecordedNode {
            program: program.map(|(name, tape)| (name.to_owned(), tape.actions())),
            arrivals: arrivals.clone(),
            layers: layers.iter().map(StrikeLog::strikes).collect(),
        };
        let acts = recorded.program.is_some()
            || !recorded.arrivals.is_empty()
            || recorded.layers.iter().any(|strikes| !strikes.is_empty());
        acts.then_some(recorded)
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The name of the test: that of its thread.
fn test_name() -> String {
    thread::current().name().unwrap_or("test").to_owned()
}

/// The folder for the test's world.
fn folder() -> PathBuf {
    let parent = match env::var_os(VARIABLE) {
        Some(folder) => folder.into(),
        None => target_folder().join("lanigon"),
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let name = test_name().replace("::", "-");
    parent.join(name.replace(|c| !plain(c), "_"))
}

/// Cargo's target folder of the test program; else `target` in the present folder.
fn target_folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let folders = || program.ancestors().skip(1);
    let tagged = folders().find(|folder| folder.join(TARGET_TAG).is_file());
    // Cargo leaves no tag in a folder that was there before. Test programs lie in `deps` of a profile's folder.
    let profile = || folders().find(|folder| folder.ends_with("deps"))?.parent();
    let found = tagged.or_else(|| profile()?.parent());
    found.unwrap_or(Path::new("target")).to_owned()
}

/// A path as a word of a shell's command.
fn for_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./+,:@%".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// A path relative to the present folder if it is in it. Its folder `target` may be a link.
fn shown(path: &Path) -> PathBuf {
    let Ok(here) = env::current_dir() else {
        return path.to_owned();
    };
    let target = Path::new("target");
    let linked = target.canonicalize().ok();
    let linked = linked.and_then(|linked| Some(target.join(path.strip_prefix(linked).ok()?)));
    let inner = || Some(path.strip_prefix(here).ok()?.to_owned());
    linked.or_else(inner).unwrap_or_else(|| path.to_owned())
}
