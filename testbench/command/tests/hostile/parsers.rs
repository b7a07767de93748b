//! The parsers, each with valid inputs.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use emulator::image::{Image, coff, stack};
use emulator::lanai::chip::Generation;
use emulator::sim::time::SimTime;
use emulator::wire::fault::FaultKind;
use emulator::wire::strikes::{Replacement, Strike};
use host_lib::firmware::linux::LinuxFirmware;
use lanigon_analysis::trace::filter;
use lanigon_debugger::debug::Session;
use lanigon_debugger::debug::condition::Condition;
use lanigon_sweep::file::Sweep;
use lanigon_sweep::store;
use lanigon_worlds::boards::{self, BOARDS, KB};
use lanigon_worlds::faults::{EmpFrame, GmPacket};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::myrinet::program::{ControlProgram, Format};
use lanigon_worlds::replay::RecordedNode;

use super::super::myrinet::{mailbox, mcpshmem};
use super::files;

/// A parser with valid inputs.
pub struct Parser {
    pub name: &'static str,
    pub is_text: bool,
    /// Divisor of the number of all inputs: slow parsers get fewer.
    pub shares: u64,
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Returns the reason for which an input is refused.
    pub parse: fn(&[u8]) -> Option<String>,
}

fn refused<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<String> {
    result.err().map(|error| format!("{error:#}"))
}

pub const PARSERS: &[Parser] = &[
    Parser {
        name: "scenario",
        is_text: true,
        shares: 30,
        seeds: || read_all("scenarios", ".toml"),
        parse: |bytes| refused(lanigon_workloads::parse("hostile.toml", &text(bytes))),
    },
    Parser {
        name: "profile",
        is_text: true,
        shares: 15,
        seeds: || {
            let profiles = boards::profiles();
            let texts = profiles.texts().map(|(_, text)| text.as_bytes().to_vec());
            texts.collect()
        },
        parse: |bytes| refused(boards::profiles().parse(&text(bytes))),
    },
    Parser {
        name: "sweep",
        is_text: true,
        shares: 15,
        seeds: || read_all("examples/sweeps", ".toml"),
        parse: |bytes| {
            let folder = root().join("examples/sweeps");
            refused(Sweep::parse("hostile.toml", &text(bytes), &folder))
        },
    },
    Parser {
        name: "sweep-plan",
        is_text: true,
        shares: 2,
        seeds: || vec![SWEPT[0].clone()],
        parse: |bytes| {
            in_folder("plan.json", bytes, |folder| {
                refused(store::read_plan(folder))
            })
        },
    },
    Parser {
        name: "sweep-results",
        is_text: true,
        shares: 2,
        seeds: || vec![SWEPT[1].clone()],
        parse: |bytes| {
            in_folder("results.jsonl", bytes, |folder| {
                refused(store::read(folder, &[]))
            })
        },
    },
    Parser {
        name: "filter",
        is_text: true,
        shares: 10,
        seeds: || {
            let examples = [
                "kind=probe",
                "node=0 cpu=a",
                "probe=retransmit,frame dropped time=1..2",
            ];
            examples.map(|text| text.as_bytes().to_vec()).to_vec()
        },
        parse: |bytes| refused(filter::parse(&text(bytes))),
    },
    Parser {
        name: "condition",
        is_text: true,
        shares: 5,
        seeds: || {
            let examples = ["$v0 == 5", "[free] > 16", "[0x800+4] != -1", "$pc >= main"];
            examples.map(|text| text.as_bytes().to_vec()).to_vec()
        },
        parse: |bytes| SESSION.with(|session| refused(Condition::parse(session, &text(bytes)))),
    },
    Parser {
        name: "image",
        is_text: false,
        shares: 8,
        seeds: images,
        parse: image,
    },
    Parser {
        name: "linux-form",
        is_text: false,
        shares: 10,
        seeds: linux_forms,
        parse: |bytes| refused(LinuxFirmware::parse(bytes, 512 * KB)),
    },
    Parser {
        name: "control-program",
        is_text: false,
        shares: 5,
        seeds: control_programs,
        parse: |bytes| {
            let raw = ControlProgram::parse(bytes, Some(Format::Raw), None, 512 * KB);
            let own = refused(ControlProgram::parse(bytes, None, None, 512 * KB));
            own.or(refused(raw))
        },
    },
    Parser {
        name: "frame",
        is_text: false,
        shares: 5,
        seeds: || vec![vec![0; 64], (0..=255).collect()],
        parse: |bytes| {
            let _ = (EmpFrame::parse(bytes), GmPacket::parse(bytes));
            None
        },
    },
    Parser {
        name: "trace",
        is_text: false,
        shares: 2,
        seeds: || vec![files::plain_trace(&MADE[0])],
        parse: files::trace,
    },
    Parser {
        name: "snapshot",
        is_text: false,
        shares: 1,
        seeds: || vec![files::plain_snapshot(&MADE[1])],
        parse: files::snapshot,
    },
    Parser {
        name: "recording",
        is_text: false,
        shares: 5,
        seeds: || vec![files::plain_replay(&recording())],
        parse: files::replay,
    },
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Parses a folder with one file. Each thread has its own: tests run at the same time.
fn in_folder(
    name: &str,
    bytes: &[u8],
    parse: impl FnOnce(&Path) -> Option<String>,
) -> Option<String> {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default().replace("::", "-");
    let folder = scratch(&format!("{test}-{}", std::process::id()));
    std::fs::write(folder.join(name), bytes).unwrap();
    let reason = parse(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    reason.map(|reason| reason.replace(&folder.display().to_string(), "FOLDER"))
}

fn read_all(folder: &str, end: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(end));
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Small images of each family that is built.
fn images() -> Vec<Vec<u8>> {
    let paths = BOARDS.iter().flat_map(|board| {
        let names = ["hello", "timer-tick", "race-two-cpus"];
        names.map(|name| board.image_folder().join(name))
    });
    paths.filter_map(|path| std::fs::read(path).ok()).collect()
}

fn linux_forms() -> Vec<Vec<u8>> {
    let path = boards::DEFAULT.image_folder().join("hello");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile.fw");
    let out = out.to_str().unwrap();
    crate::command_output(&["image", path.to_str().unwrap(), "--linux-form", out]);
    vec![std::fs::read(out).unwrap()]
}

/// A COFF image, and a raw one.
fn control_programs() -> Vec<Vec<u8>> {
    let (code, data) = mcpshmem::image(Generation::L4, mcpshmem::Variant::default());
    let raw = mailbox::image(mailbox::Fault::Nothing);
    vec![coff::build(&code, &data, 0x1000), raw]
}

/// A recording of a node.
fn recording() -> Vec<u8> {
    let strike = Strike {
        unit: 0,
        faults: vec![FaultKind::Duplicated, FaultKind::Corrupted],
        left: vec![Replacement {
            late: SimTime::from_us(3),
            damaged: Some(([1_u8; 70].into(), 5)),
        }],
    };
    let node = RecordedNode {
        program: None,
        arrivals: vec![(SimTime::from_us(5), vec![9; 64])],
        layers: vec![Vec::new(), vec![strike]],
    };
    node.to_bytes()
}

/// A trace and a snapshot of a short run.
static MADE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let [trace, snapshot] = ["hostile.trace", "hostile.snap"]
        .map(|name| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    let [trace, snapshot] = [&trace, &snapshot].map(|path| path.to_str().unwrap());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lanigon"));
    // Files name the scenario as it was asked for: without the folder of this machine an input's number means the same everywhere.
    command
        .current_dir(root())
        .args(["run", "scenarios/pair.toml"])
        .args(["--max-time", "200", "--trace", trace]);
    // The run ends before its messages have: exit code 1.
    command
        .args(["--snapshot-at", "100", snapshot])
        .output()
        .unwrap();
    [trace, snapshot].map(|path| std::fs::read(path).unwrap())
});

/// Plan and results of a small sweep.
static SWEPT: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let folder = scratch("hostile-swept");
    let program = crate::stream(2, 10).replace("[[program]]", "[[scenario.program]]");
    let sweep = format!(
        "[scenario]\nnetwork = {{ topology = \"pair\" }}\n{program}[[axis]]\nname = \"size\"\n\
         key = \"program[0].bytes\"\nvalues = [10, 20]\n[[plot]]\nname = \"p\"\nx = \"size\"\ny = \"latency\"\n\
         [measure]\nlatency = \"latency_us.p50\"\n"
    );
    std::fs::write(folder.join("small.toml"), sweep).unwrap();
    let swept = std::process::Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .current_dir(&folder)
        .args(["sweep", "small.toml", "--out", "out"])
        .output()
        .unwrap();
    assert!(swept.status.success(), "{swept:?}");
    let out = folder.join("out");
    ["plan.json", "results.jsonl"].map(|name| std::fs::read(out.join(name)).unwrap())
});

thread_local! {
    /// A session at the start of a scenario.
    static SESSION: Session = {
        let text = crate::pair(&crate::stream(1, 10));
        let scenario = lanigon_workloads::parse("pair.toml", &text).unwrap();
        Session::new("pair.toml", &text, &scenario, &Interrupt::default()).unwrap()
    };
}

/// An image, and what tools read from it.
fn image(bytes: &[u8]) -> Option<String> {
    let mut reason = None;
    for board in [boards::DEFAULT, boards::board_type("lanai9").unwrap()] {
        let image = match Image::parse(bytes, &board.image_limits(1024 * KB)) {
            Ok(image) => image,
            Err(error) => {
                reason.get_or_insert(error.to_string());
                continue;
            }
        };
        if let Ok(lines) = image.lines() {
            let _ = lines.at(image.entry);
        }
        for cpu in 0..2 {
            let _ = stack::worst_case(&image, cpu);
        }
    }
    reason
}
