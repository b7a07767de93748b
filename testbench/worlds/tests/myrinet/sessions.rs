//! Sessions of control programs and hosts.

use std::path::Path;

use emulator::image::coff;
use emulator::lanai::board::Lanai;
use emulator::lanai::chip::Generation;
use emulator::sim::world::RunEnd;
use host_lib::myrinet::{EntryKind, HostError, Journal};
use lanigon_worlds::myrinet::diagnosis::Diagnosis;
use lanigon_worlds::myrinet::host::ControlHost;
use lanigon_worlds::myrinet::program::Format;
use lanigon_worlds::myrinet::{self, HostKind, WayBack};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::mailbox;
use super::mcpshmem::{self, Variant};

const BOARDS: [(&str, Generation); 4] = [
    ("lanai4.3-33", Generation::L4),
    ("lanai7.2-66", Generation::L7),
    ("lanai9.1-133", Generation::L9),
    ("lanai9.2-200", Generation::L9),
];

/// A scenario of nodes with this control program, and further lines of the program.
fn scenario(file: &[u8], board: &str, network: &str, lines: &str) -> Scenario {
    let run = HostKind::for_format(Format::detect(file)).program();
    started(file, board, run, network, lines)
}

/// Scenario of a control program with hosts that run the program `run`.
fn started(file: &[u8], board: &str, run: &str, network: &str, lines: &str) -> Scenario {
    let name = format!("{:08x}.mcp", crc32fast::hash(file));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !path.exists() {
        // Tests that write the same file at the same time must not see half of it.
        let own = path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&own, file).unwrap();
        std::fs::rename(&own, &path).unwrap();
    }
    let path = path.display();
    let text = format!(
        "board = \"{board}\"\nimage = \"{path}\"\nmax_time_us = 1e8\n[network]\n{network}\n\
         [[program]]\nrun = \"{run}\"\nnodes = \"all\"\n{lines}"
    );
    lanigon_workloads::parse("test", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a scenario to its end.
fn finish(scenario: &Scenario) -> (Simulation, RunSummary) {
    let mut simulation = Simulation::new(scenario).unwrap();
    let summary = simulation.run(&RunOptions::default(), |_| {});
    (simulation, summary)
}

/// A run with one node.
struct Outcome {
    host: ControlHost,
    simulation: Simulation,
    summary: RunSummary,
}

impl Outcome {
    fn dma_transfers(&self) -> [u64; 2] {
        let board = self.simulation.world.nodes[0].board::<Lanai>();
        board.fabric.dma_transfers()
    }
}

fn play(file: &[u8], board: &str, way_back: Option<WayBack>) -> (RunEnd, Journal, Outcome) {
    let way_back =
        way_back.unwrap_or_else(|| HostKind::for_format(Format::detect(file)).way_back());
    let network = format!("topology = \"{}\"\nnodes = 1", way_back.topology());
    let (simulation, summary) = finish(&scenario(file, board, &network, ""));
    let host = simulation.hosts[&0].clone();
    let (end, journal) = (summary.end.clone(), host.journal.clone());
    let outcome = Outcome {
        host,
        simulation,
        summary,
    };
    (end, journal, outcome)
}

fn text(journal: &Journal) -> String {
    let lines = journal.entries_from(0);
    lines
        .iter()
        .map(|entry| format!("{} {:?} {}\n", entry.time_ps, entry.kind, entry.text))
        .collect()
}

fn shared(chip: Generation, variant: Variant) -> Vec<u8> {
    let (code, data) = mcpshmem::image(chip, variant);
    coff::build(&code, &data, 0x1000)
}

#[test]
fn a_mailbox_program_reaches_all_milestones() {
    let image = mailbox::image(mailbox::Fault::Nothing);
    let (end, journal, outcome) = play(&image, "lanai4.3-33", None);
    let text = text(&journal);
    assert_eq!(end, RunEnd::Completed, "{text}");
    assert!(
        outcome.summary.is_good(),
        "{text}\n{:?}",
        outcome.summary.problems
    );
    let times = journal.entries_from(0);
    assert!(times.is_sorted_by_key(|entry| entry.time_ps));
    let value = |name: &str| {
        let found = journal.values();
        found.iter().find(|value| value.name == name).unwrap().value
    };
    assert_eq!(value("received_messages"), 2);
    assert_eq!(outcome.dma_transfers(), [2, 2]);
}

#[test]
fn shared_structure_programs_reach_all_milestones() {
    for (board, chip) in BOARDS {
        let (end, journal, outcome) = play(&shared(chip, Variant::default()), board, None);
        let text = text(&journal);
        assert_eq!(end, RunEnd::Completed, "{board}\n{text}");
        let problems = &outcome.summary.problems;
        assert!(outcome.summary.is_good(), "{board}\n{text}\n{problems:?}");
        let transfers = 5 * mcpshmem::SIZES.len() as u64;
        assert_eq!(outcome.dma_transfers(), [transfers; 2], "{board}");
        let values: Vec<_> = journal.values().iter().map(|value| value.value).collect();
        assert_eq!(values, mcpshmem::BENCHMARK.map(i64::from), "{board}");
    }
}

#[test]
fn chains_are_found_in_any_order() {
    let check = |exchanged, directions, remark: Option<&str>| {
        let variant = Variant {
            exchanged,
            directions,
            ..Variant::default()
        };
        let (end, journal, outcome) = play(&shared(Generation::L7, variant), "lanai7.2-66", None);
        let text = text(&journal);
        let problems = &outcome.summary.problems;
        assert!(
            outcome.summary.is_good(),
            "{exchanged} {directions}: {end:?} {problems:?}\n{text}"
        );
        let remarks = journal.entries_from(0);
        let mut remarks = remarks
            .iter()
            .filter(|entry| entry.kind == EntryKind::Remark);
        assert_eq!(
            remarks.next().map(|entry| entry.text.as_str()),
            remark,
            "{text}"
        );
    };
    check(false, true, None);
    check(true, true, None);
    check(false, false, None);
    check(true, false, Some("nothing came; DMA chains exchanged"));
}

#[test]
fn the_self_test_packet_waits_in_the_link_until_the_receiver_is_armed() {
    for (board, chip) in BOARDS {
        let variant = Variant {
            arms_late: true,
            ..Variant::default()
        };
        let (_, journal, outcome) = play(&shared(chip, variant), board, None);
        assert!(outcome.summary.is_good(), "{board}\n{}", text(&journal));
    }
}

#[test]
fn the_way_back_is_another_one_if_packets_do_not_come_back() {
    let expects_route = Variant {
        keeps_route: true,
        ..Variant::default()
    };
    let check = |variant, given, found: WayBack, good| {
        let file = shared(Generation::L4, variant);
        let mut tried = Vec::new();
        for way_back in myrinet::ways_back(HostKind::Mcpshmem, given) {
            let (_, _, outcome) = play(&file, "lanai4.3-33", Some(way_back));
            tried.push(way_back);
            if !outcome.host.needs_other_way() {
                assert_eq!(outcome.summary.is_good(), good);
                break;
            }
        }
        assert_eq!(tried.last(), Some(&found));
    };
    check(Variant::default(), None, WayBack::Switch, true);
    check(expects_route, None, WayBack::Cable, true);
    check(expects_route, Some(WayBack::Switch), WayBack::Switch, false);
}

/// Runs a program that fails; checks the first missing milestone and the host's error.
fn check(file: &[u8], way_back: Option<WayBack>, missing: &'static str, reason: &str) -> Diagnosis {
    let (_, journal, mut outcome) = play(file, "lanai4.3-33", way_back);
    let text = text(&journal);
    assert_eq!(outcome.host.missing().first(), Some(&missing), "{text}");
    let problems = outcome.summary.problems.join("\n");
    assert!(problems.contains(reason), "{problems}\n{text}");
    let diagnosis = Diagnosis::examine(&mut outcome.simulation.world);
    assert!(!diagnosis.writes.is_empty());
    diagnosis
}

#[test]
fn failures_with_a_mailbox_name_what_is_missing() {
    let faulty = |fault| mailbox::image(fault);
    let hang = check(
        &faulty(mailbox::Fault::HangsAtStart),
        None,
        "ready",
        "state \"ready\" of the channel",
    );
    assert!(hang.executed.len() <= 3, "{hang:?}");
    assert_eq!(hang.writes.last().map(|write| write.name), Some("it"));
    let fault = check(
        &faulty(mailbox::Fault::Faults),
        None,
        "ready",
        "state \"ready\"",
    );
    assert!(fault.state.contains("0xffffffff"), "{}", fault.state);
    assert!(fault.executed.is_empty());
    check(
        &faulty(mailbox::Fault::IgnoresFrames),
        None,
        "frame_taken",
        "the consumption of the queued frame",
    );
    check(
        &faulty(mailbox::Fault::DamagesFrames),
        None,
        "frame_received",
        "first difference at byte 43",
    );
    check(
        &faulty(mailbox::Fault::Nothing),
        Some(WayBack::None),
        "frame_received",
        "the frame on its way back",
    );
}

#[test]
fn failures_with_a_shared_structure_name_what_is_missing() {
    let variant = Variant {
        version: 315,
        ..Variant::default()
    };
    check(
        &shared(Generation::L4, variant),
        None,
        "identification",
        "version 315, the host knows 314",
    );
    let variant = Variant {
        damages: true,
        ..Variant::default()
    };
    check(
        &shared(Generation::L4, variant),
        None,
        "self_test",
        "word 0 of 256 bytes is 0xcccc3332",
    );
    let variant = Variant {
        wrong_from_host: true,
        ..Variant::default()
    };
    check(
        &shared(Generation::L4, variant),
        None,
        "dma_to_host",
        "DMA from the host: the control program received wrong data, 256 bytes",
    );
    check(
        &shared(Generation::L4, Variant::default()),
        Some(WayBack::Cable),
        "self_test",
        "a request or the end of the self-test",
    );
}

#[test]
fn a_program_without_structure_is_told() {
    let mut assembly = super::assembly::Assembly::new(Generation::L9);
    assembly.set_status(1 << 30).set("smp", 0x7000);
    assembly.place("end").branch("bt", "end");
    let file = coff::build(&assembly.image(), &[], 0);
    let (_, _, outcome) = play(&file, "lanai9.1-133", None);
    assert_eq!(outcome.host.missing().first(), Some(&"handshake"));
    let error = outcome.host.error();
    let Some(HostError::NoStructure { register, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(register, 0x7000);
}

#[test]
fn adapters_with_a_mailbox_meet() {
    let image = mailbox::image(mailbox::Fault::Nothing);
    let check = |network: &str, nodes: i64| {
        let lines = "frames = 9\nbytes = [64, 8432, 1000]\n";
        let (simulation, summary) = finish(&scenario(&image, "lanai4", network, lines));
        let journals = simulation.hosts.values().map(|host| text(&host.journal));
        let journals: Vec<_> = journals.collect();
        assert!(
            summary.is_good(),
            "{:?}\n{}",
            summary.problems,
            journals.join("\n")
        );
        for host in &summary.hosts {
            let frames = 9 * (nodes - 1);
            assert_eq!(host.values["frames_sent"], frames, "{host:?}");
            assert_eq!(host.values["frames_received"], frames, "{host:?}");
            assert!(host.values["received_messages"] >= frames, "{host:?}");
        }
        summary.trace_hash
    };
    let pair = check("topology = \"pair\"", 2);
    assert_eq!(pair, check("topology = \"pair\"", 2));
    check("topology = \"star\"\nnodes = 3", 3);
}

#[test]
fn a_lost_frame_ends_the_exchange() {
    let image = mailbox::image(mailbox::Fault::Nothing);
    let cut = "frames = 1000\nbytes = 4096\n[[fault]]\ndo = \"cut\"\nnodes = 0\nat_us = 20_000\n";
    let (_, summary) = finish(&scenario(&image, "lanai4", "topology = \"pair\"", cut));
    assert!(!summary.is_good());
    for problem in &summary.problems {
        assert!(
            problem.contains("of 1000 frames of 02:4c:61:6e:00:0"),
            "{problem}"
        );
        assert!(
            problem.contains("missing milestone: all_frames"),
            "{problem}"
        );
    }
    assert_eq!(summary.problems.len(), 2, "{:?}", summary.problems);
}

#[test]
fn adapters_with_a_shared_structure_meet_at_a_crossbar() {
    for (board, chip) in BOARDS {
        let file = shared(chip, Variant::default());
        let network = "topology = \"star\"\nnodes = 2";
        let (simulation, summary) = finish(&scenario(&file, board, network, ""));
        assert!(summary.is_good(), "{board} {:?}", summary.problems);
        for (node, host) in &simulation.hosts {
            let entries = text(&host.journal);
            assert!(
                entries.contains(&format!("node number {}", node + 1)),
                "{entries}"
            );
        }
        assert_eq!(simulation.warnings.len(), 0);
    }
}

#[test]
fn a_program_for_another_chip_is_a_warning() {
    let other = shared(Generation::L7, Variant::default());
    for run in ["mcp-shmem", "start"] {
        let check = |board: &str, expected: &[&str]| {
            let scenario = started(&other, board, run, "topology = \"star\"\nnodes = 2", "");
            let simulation = Simulation::new(&scenario).unwrap();
            let warnings: Vec<_> = simulation.warnings.iter().collect();
            let ends = warnings
                .iter()
                .map(|warning| warning.split(": ").last().unwrap());
            assert_eq!(ends.collect::<Vec<_>>(), expected, "{run}");
        };
        check("lanai7.2-66", &[]);
        let warning = "the program says that it is for a LANai 7; the board has a LANai 9";
        check("lanai9", &[warning]);
    }
}

#[test]
fn wrong_scenarios_are_refused() {
    let check = |head: &str, program: &str, reason: &str| {
        let text = format!(
            "{head}\n[network]\ntopology = \"pair\"\n[[program]]\nnodes = \"all\"\n{program}"
        );
        let scenario = lanigon_workloads::parse("test", &text);
        let simulation = scenario.and_then(|scenario| Simulation::new(&scenario));
        let error = simulation.expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    };
    let mailbox = "run = \"mcp-mailbox\"";
    check(
        "",
        mailbox,
        "needs a Myrinet adapter; the board of node 0 is Alteon Tigon2",
    );
    check("board = \"lanai4\"", mailbox, "image = \"FILE\"");
    let given = "board = \"lanai4\"\nimage = \"/nowhere/mcp\"";
    check(given, mailbox, "/nowhere/mcp: No such file");
    let bytes = format!("{mailbox}\nbytes = 65");
    check(given, &bytes, "multiples of 4 bytes");
    check(given, &format!("{mailbox}\nbytes = 60"), "bytes");
    check(given, "run = \"mcp-shmem\"\nframes = 2", "frames");
}
