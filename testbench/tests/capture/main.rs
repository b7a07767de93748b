//! A capture of a scenario as tshark shows it, with the script that `lanigon dissector` prints.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use defs::emp::fields::{FRAME, KIND, MESSAGE, SOURCE};
use defs::emp::frame::Kind;
use emulator::observe::capture::{CapturedFrame, FrameObserver, Interface, Note};
use emulator::observe::event::{Place, TraceKind};
use emulator::observe::pcapng::PcapNg;
use testbench::capture::dissector;
use testbench::scenario::Scenario;
use testbench::simulation::{RunOptions, Simulation};

/// Kind, source node, message, frame.
type Frame = [u32; 4];

/// How often each frame left a node.
type Frames = BTreeMap<Frame, u32>;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Reads frames by the table of fields, where they leave nodes.
#[derive(Default)]
struct ByTable {
    from_node: Vec<bool>,
    frames: Arc<Mutex<Frames>>,
}

impl FrameObserver for ByTable {
    fn begin(&mut self, interfaces: &[Interface]) {
        let names = interfaces.iter().map(|interface| &interface.name);
        self.from_node = names.map(|name| name.starts_with('n')).collect();
    }

    fn frames(&mut self, frames: &[CapturedFrame]) {
        let is_own = |frame: &&CapturedFrame| self.from_node[frame.interface] && !is_damaged(frame);
        for captured in frames.iter().filter(is_own) {
            let bytes = captured.frame.bytes();
            let word =
                |index: usize| u32::from_be_bytes(bytes[4 * index..][..4].try_into().unwrap());
            let frame = [KIND, SOURCE, MESSAGE, FRAME].map(|field| field.of(word));
            *self.frames.lock().unwrap().entry(frame).or_default() += 1;
        }
    }
}

fn is_damaged(frame: &CapturedFrame) -> bool {
    let damaged = |note: &Note| matches!(note, Note::Damaged { .. });
    frame.notes.iter().any(damaged)
}

/// Runs a scenario of the examples; gives the frames that the firmware says it sent, and those that left nodes.
fn run(scenario: &str, capture: &Path) -> (Frames, Frames) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let scenario = Scenario::load(&path.join(scenario)).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    let out = std::fs::File::create(capture).unwrap();
    simulation
        .world
        .capture(Box::new(PcapNg::new(Box::new(out))));
    let by_table = ByTable::default();
    let left = Arc::clone(&by_table.frames);
    simulation.world.capture(Box::new(by_table));
    for node in &mut simulation.world.nodes {
        node.trace.keep(true);
    }
    simulation.run(&RunOptions::default(), |_| {});
    assert!(simulation.world.finish_capturing().is_empty());
    let mut sent = Frames::new();
    for event in simulation
        .world
        .nodes
        .iter_mut()
        .flat_map(|node| node.trace.take())
    {
        let (Place::Node(node), TraceKind::Probe { name, arguments }) = (event.place, &event.kind)
        else {
            continue;
        };
        let &[_, message, frame] = arguments.as_slice() else {
            continue;
        };
        let kind = match &**name {
            "frame sent" if frame == 0 => Kind::Header,
            "frame sent" => Kind::Data,
            "ack sent" => Kind::Ack,
            _ => continue,
        };
        *sent
            .entry([kind as u32, node.into(), message, frame])
            .or_default() += 1;
    }
    let left = left.lock().unwrap().clone();
    (sent, left)
}

/// Whether tshark is there; says so if it is not.
fn has_tshark() -> bool {
    let found = Command::new("tshark")
        .arg("-v")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !found {
        eprintln!("tshark is not installed: this test was skipped");
    }
    found
}

/// What tshark shows of the fields `fields` of the frames that `filter` lets pass.
fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let script = capture.with_extension("lua");
    std::fs::write(&script, dissector::script()).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-o", "eth.check_fcs:TRUE", "-X"]);
    command.arg(format!("lua_script:{}", script.display()));
    command
        .arg("-r")
        .arg(capture)
        .args(["-Y", filter, "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().unwrap();
    let (shown, said) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success() && !said.contains("Lua"), "{said}");
    let lines = shown
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect());
    lines.collect()
}

#[test]
fn the_table_of_fields_is_the_firmwares() {
    let (sent, left) = run("exact-fault.toml", &file("table.pcapng"));
    let differ = sent
        .iter()
        .filter(|(frame, count)| left.get(*frame) != Some(count));
    let differ: Vec<_> = differ.map(|(frame, _)| frame[0]).collect();
    assert!(sent.len() > 500);
    assert_eq!(
        differ,
        [Kind::Ack as u32],
        "only the ack that a fault damages"
    );
}

#[test]
fn tshark_shows_what_left_the_nodes() {
    if !has_tshark() {
        return;
    }
    let capture = file("exact-fault.pcapng");
    let (_, left) = run("exact-fault.toml", &capture);
    // The ack that a fault damages is not what was sent.
    let own = "frame.interface_name matches \"^n\" && !(frame.comment contains \"damaged\")";
    let names = [KIND, SOURCE, MESSAGE, FRAME].map(|field| format!("emp.{}", field.name));
    let shown = tshark(&capture, own, &names.each_ref().map(String::as_str));
    let mut frames = Frames::new();
    for line in shown {
        let numbers: Vec<u32> = line.iter().map(|text| text.parse().unwrap()).collect();
        *frames.entry(numbers.try_into().unwrap()).or_default() += 1;
    }
    assert_eq!(frames, left);
}

#[test]
fn tshark_shows_faults_and_checks_the_fcs() {
    if !has_tshark() {
        return;
    }
    let capture = file("faults.pcapng");
    run("exact-fault.toml", &capture);
    let dropped = tshark(
        &capture,
        "frame.comment contains \"dropped\"",
        &["frame.interface_name", "_ws.col.Info"],
    );
    assert_eq!(
        dropped,
        [["n0 -> s0", "DATA msg 16 frame 2 of 14 n0 -> n1"]]
    );
    let bad = tshark(&capture, "eth.fcs.status == 0", &["frame.interface_name"]);
    assert_eq!(bad, [["n1 -> s0"], ["s0 drops"], ["s0 drops"]]);
    let good = tshark(&capture, "eth.fcs.status == 1", &["frame.number"]);
    let all = tshark(&capture, "emp", &["frame.number"]);
    assert_eq!(good.len() + bad.len(), all.len());
}
