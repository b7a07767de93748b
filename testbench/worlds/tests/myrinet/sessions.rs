//! Sessions of control programs and hosts.

use emulator::image::coff;
use emulator::lanai::chip::Generation;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::myrinet::{HostError, Journal, Kind};
use lanigon_worlds::myrinet::diagnosis::Diagnosis;
use lanigon_worlds::myrinet::program::{ControlProgram, Format};
use lanigon_worlds::myrinet::{self, HostKind, Outcome, Session, Setup, WayBack};

use super::mailbox;
use super::mcpshmem::{self, Variant};

const BOARDS: [(&str, Generation); 4] = [
    ("lanai4.3-33", Generation::L4),
    ("lanai7.2-66", Generation::L7),
    ("lanai9.1-133", Generation::L9),
    ("lanai9.2-200", Generation::L9),
];

fn setup(file: &[u8], board: &str, way_back: Option<WayBack>) -> Setup {
    let kind = HostKind::of(Format::of(file));
    Setup {
        timing: myrinet::timing(board).unwrap(),
        sram_bytes: kind.sram_bytes(),
        kind,
        way_back: way_back.unwrap_or_else(|| kind.way_back()),
    }
}

fn limits() -> RunLimits {
    RunLimits {
        max_time: Some(SimTime::from_us(100_000_000)),
        ..RunLimits::default()
    }
}

fn play(file: &[u8], board: &str, way_back: Option<WayBack>) -> (RunEnd, Journal, Outcome) {
    let setup = setup(file, board, way_back);
    let program = ControlProgram::parse(file, None, None, setup.sram_bytes).unwrap();
    let mut session = Session::new(&program, &setup).unwrap();
    let end = session.run(&limits(), |_| {});
    let outcome = session.outcome();
    (end, session.journal, outcome)
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
    assert!(outcome.is_good(), "{text}\n{outcome:?}");
    let times = journal.entries_from(0);
    assert!(times.is_sorted_by_key(|entry| entry.time_ps));
    let value = |name: &str| {
        let found = journal.values();
        found.iter().find(|value| value.name == name).unwrap().value
    };
    assert_eq!(value("received_messages"), 2);
    assert_eq!(outcome.dma_transfers, [2, 2]);
}

#[test]
fn shared_structure_programs_reach_all_milestones() {
    for (board, chip) in BOARDS {
        let (end, journal, outcome) = play(&shared(chip, Variant::default()), board, None);
        let text = text(&journal);
        assert_eq!(end, RunEnd::Completed, "{board}\n{text}");
        assert!(outcome.is_good(), "{board}\n{text}\n{outcome:?}");
        let transfers = 5 * mcpshmem::SIZES.len() as u64;
        assert_eq!(outcome.dma_transfers, [transfers; 2], "{board}");
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
        let (_, journal, outcome) = play(&shared(Generation::L7, variant), "lanai7.2-66", None);
        let text = text(&journal);
        assert!(outcome.is_good(), "{exchanged} {directions}\n{text}");
        let remarks = journal.entries_from(0);
        let mut remarks = remarks.iter().filter(|entry| entry.kind == Kind::Remark);
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
        assert!(outcome.is_good(), "{board}\n{}", text(&journal));
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
        let setup = setup(&file, "lanai4.3-33", given);
        let program = ControlProgram::parse(&file, None, None, setup.sram_bytes).unwrap();
        let ways = myrinet::ways_back(setup.kind, given);
        let mut tried = Vec::new();
        for way_back in ways {
            let mut session = Session::new(&program, &Setup { way_back, ..setup }).unwrap();
            session.run(&limits(), |_| {});
            let outcome = session.outcome();
            tried.push(way_back);
            if !outcome.needs_other_way() {
                assert_eq!(outcome.is_good(), good);
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
    let (_, journal, outcome) = play(file, "lanai4.3-33", way_back);
    let text = text(&journal);
    assert_eq!(outcome.missing.first(), Some(&missing), "{text}");
    let error = outcome.error.as_ref().map(ToString::to_string);
    let error = error.unwrap_or_default();
    assert!(error.contains(reason), "{error}\n{text}");
    let diagnosis = outcome.diagnosis.expect("a diagnosis");
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
    assert_eq!(outcome.missing.first(), Some(&"handshake"));
    let Some(HostError::NoStructure { register, .. }) = outcome.error else {
        panic!("{:?}", outcome.error)
    };
    assert_eq!(register, 0x7000);
}
