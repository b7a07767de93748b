//! A scenario's capture in tshark, with the script of `lanigon dissector`.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod gm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use defs::emp::control::{DEFAULT_ACK_GROUP, DEFAULT_FRAME_BYTES};
use defs::emp::fields::{
    AFTER, ANSWERED_EPOCH, BEFORE, EPOCH, FRAME, FRAMES, Field, GROUP_END, KIND, LENGTH, MESSAGE,
    OFFSET, OLDEST, SOURCE, TAG,
};
use defs::emp::frame::{Kind, data_frame_capacity, header_frame_capacity};
use emulator::observe::capture::{CapturedFrame, FrameObserver, Interface, Note};
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::observe::pcapng::PcapNg;
use lanigon_analysis::capture::dissector;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use crate::tools::is_installed;

/// Kind, source node, message, frame.
type Frame = [u32; 4];

/// Number of transmissions of each frame.
type Frames = BTreeMap<Frame, u32>;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Words of a frame up to the end of the longest header.
type Words = [u32; 9];

/// Length, frames and tag of the scenario's messages.
const MESSAGE_BYTES: u32 = 20_000;
const MESSAGE_FRAMES: u32 = 14;
const STREAM_TAG: u32 = 1;

fn value(field: Field, words: &Words) -> u32 {
    field.of(|word| words[word])
}

/// Counts frames, as decoded by the table of fields.
fn counted(left: &[Words]) -> Frames {
    let mut frames = Frames::new();
    for words in left {
        let frame = [KIND, SOURCE, MESSAGE, FRAME].map(|field| value(field, words));
        *frames.entry(frame).or_default() += 1;
    }
    frames
}

/// Collects the frames that leave nodes.
#[derive(Default)]
struct Leaving {
    from_node: Vec<bool>,
    frames: Arc<Mutex<Vec<Words>>>,
}

impl FrameObserver for Leaving {
    fn begin(&mut self, interfaces: &[Interface]) {
        let names = interfaces.iter().map(|interface| &interface.name);
        // Not `n0 drops`, where a board shows what it does not take.
        let leaves = |name: &str| name.starts_with('n') && name.contains("->");
        self.from_node = names.map(|name| leaves(name)).collect();
    }

    fn frames(&mut self, frames: &[CapturedFrame]) {
        let is_own = |frame: &&CapturedFrame| self.from_node[frame.interface] && !is_damaged(frame);
        let words = frames.iter().filter(is_own).map(|captured| {
            let bytes = &captured.bytes;
            let word = |at| u32::from_be_bytes(bytes[4 * at..][..4].try_into().unwrap());
            std::array::from_fn(word)
        });
        self.frames.lock().unwrap().extend(words);
    }
}

fn is_damaged(frame: &CapturedFrame) -> bool {
    let damaged = |note: &Note| matches!(note, Note::Damaged { .. });
    frame.notes.iter().any(damaged)
}

/// Runs an example scenario; returns the frames that the firmware reports as sent, and those that left
/// nodes.
fn run(scenario: &str, capture: &Path) -> (Frames, Vec<Words>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scenario = Scenario::load(&path.join(scenario)).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    let out = std::fs::File::create(capture).unwrap();
    simulation
        .world
        .capture(Box::new(PcapNg::new(Box::new(out))));
    let leaving = Leaving::default();
    let left = Arc::clone(&leaving.frames);
    simulation.world.capture(Box::new(leaving));
    for node in &mut simulation.world.nodes {
        node.trace.keep(true);
    }
    simulation.run(&RunOptions::default(), |_| {});
    assert!(simulation.world.finish_capturing().is_empty());
    let nodes = simulation.world.nodes.iter_mut();
    let mut sent = Frames::new();
    for frame in nodes.flat_map(|node| node.trace.take()).filter_map(told) {
        *sent.entry(frame).or_default() += 1;
    }
    let left = left.lock().unwrap().clone();
    (sent, left)
}

/// The frame that the firmware sends, according to a probe.
fn told(event: TraceEvent) -> Option<Frame> {
    let (Place::Node(node), TraceKind::Probe { name, arguments }) = (event.place, event.kind)
    else {
        return None;
    };
    let &[_, message, frame] = arguments.as_slice() else {
        return None;
    };
    let kind = match &*name {
        "frame sent" if frame == 0 => Kind::Header,
        "frame sent" => Kind::Data,
        "ack sent" => Kind::Ack,
        _ => return None,
    };
    Some([kind as u32, node.into(), message, frame])
}

/// Expected values of fields in the scenario. `epochs` are those of the two nodes.
fn settled(words: &Words, epochs: [u32; 2]) -> Vec<(Field, u32)> {
    let frame = value(FRAME, words);
    let before = frame % DEFAULT_ACK_GROUP;
    let after = (DEFAULT_ACK_GROUP - 1 - before).min(MESSAGE_FRAMES - 1 - frame);
    let group = [
        (SOURCE, 0),
        (EPOCH, epochs[0]),
        (BEFORE, before),
        (AFTER, after),
        (GROUP_END, u32::from(after == 0)),
    ];
    let first = header_frame_capacity(DEFAULT_FRAME_BYTES);
    let more = data_frame_capacity(DEFAULT_FRAME_BYTES);
    match Kind::from_word(value(KIND, words) << KIND.shift) {
        Some(Kind::Header) => {
            let header = [
                (FRAME, 0),
                (TAG, STREAM_TAG),
                (FRAMES, MESSAGE_FRAMES),
                (LENGTH, MESSAGE_BYTES),
            ];
            [&group[..], &header].concat()
        }
        Some(Kind::Data) => [&group[..], &[(OFFSET, first + (frame - 1) * more)]].concat(),
        // An ack refers to the last frame of a group.
        Some(Kind::Ack) => vec![
            (SOURCE, 1),
            (EPOCH, epochs[1]),
            (ANSWERED_EPOCH, epochs[0]),
            (FRAME, frame + after),
        ],
        // The report of a gap names the header frame that is missing.
        Some(Kind::Gap) => vec![(SOURCE, 1), (EPOCH, epochs[1]), (ANSWERED_EPOCH, epochs[0])],
        kind => panic!("a frame that nobody sends here: {kind:?}"),
    }
}

/// Output of tshark for the fields `fields` of frames that match `filter`.
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
    assert!(sent.len() > 500);
    let seen = counted(&left);
    let differ = sent
        .iter()
        .filter(|(frame, count)| seen.get(*frame) != Some(count));
    let differ: Vec<_> = differ.map(|(frame, _)| frame[0]).collect();
    let damaged = [Kind::Ack as u32];
    assert_eq!(differ, damaged, "only the ack that a fault damages");
    let epoch = |source| {
        let own = left.iter().find(|words| value(SOURCE, words) == source);
        value(EPOCH, own.unwrap())
    };
    let epochs = [epoch(0), epoch(1)];
    for words in &left {
        for (field, expected) in settled(words, epochs) {
            assert_eq!(value(field, words), expected, "{}: {words:x?}", field.name);
        }
        if value(KIND, words) == Kind::Header as u32 {
            assert!(value(OLDEST, words) <= value(MESSAGE, words), "{words:x?}");
        }
    }
}

#[test]
fn tshark_shows_what_left_the_nodes() {
    if !is_installed("tshark", "fields of frames") {
        return;
    }
    let capture = file("exact-fault.pcapng");
    let (_, left) = run("exact-fault.toml", &capture);
    let left = counted(&left);
    // A fault damages this ack after it was sent.
    let own = "frame.interface_name matches \"^n.*->\" && !(frame.comment contains \"damaged\")";
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
    if !is_installed("tshark", "faults and checksums") {
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
