//! Snapshot files: continued with equal results, and refused with a reason.

use std::path::Path;

use emulator::sim::time::SimTime;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::snapshot::{SnapshotError, VERSION};
use lanigon_worlds::simulation::{RunOptions, Simulation};

const TEXT: &str =
    "seed = 3\n[emp]\ntimeout_us = 1000\nretry_limit = 4\n[network]\ntopology = \"star\"\nnodes = 3
    [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 30\nbytes = [64, 9000]
    [[fault]]\ndo = \"reset\"\nnode = 2\nat_us = 1000\npause_us = 2000\n
    [[fault]]\ndo = \"drop\"\nmessage = 1\ntimes = 3\n";

fn build(seed: u64) -> (Simulation, Scenario) {
    let mut scenario = lanigon_workloads::parse("test.toml", TEXT).unwrap();
    scenario.seed = seed;
    (Simulation::new(&scenario).unwrap(), scenario)
}

/// Snapshot file of a run at this time.
fn file(us: u64) -> Vec<u8> {
    let (mut simulation, scenario) = build(5);
    simulation.keep_logs();
    let options = RunOptions::default();
    simulation
        .run_to(SimTime::from_us(us), &options, |_| {})
        .unwrap();
    simulation.save("test.toml", TEXT, &scenario).unwrap()
}

#[test]
fn a_run_goes_on_from_a_file_as_if_nothing_had_been() {
    let options = RunOptions::default();
    // Utilisation is an estimate that depends on the time of a pause.
    let result = |simulation: &mut Simulation| {
        let mut outcome = simulation.run(&options, |_| {});
        outcome.boards.clear();
        format!("{outcome:?}")
    };
    let whole = result(&mut build(5).0);
    for us in [0, 400, 1500, 3500] {
        let file = file(us);
        assert!(file.len() < 3_000_000, "{} bytes", file.len());
        let (mut simulation, scenario, label) =
            Simulation::load(lanigon_workloads::ALL, &file, Path::new("")).unwrap();
        assert_eq!(
            (scenario.seed, label.time_ps),
            (5, i128::from(us) * 1_000_000)
        );
        assert_eq!(result(&mut simulation), whole, "{us} us");
    }
}

/// A file with a valid checksum for a changed label.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let label = 16..16 + u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let state = lz4_flex::decompress_size_prepended(&file[label.end + 4..]).unwrap();
    let mut hash = crc32fast::Hasher::new();
    hash.update(&file[label.clone()]);
    hash.update(&state);
    file[label.end..label.end + 4].copy_from_slice(&hash.finalize().to_le_bytes());
    file
}

#[test]
fn what_is_no_snapshot_is_refused() {
    let whole = file(400);
    let load = |bytes: &[u8]| match Simulation::load(lanigon_workloads::ALL, bytes, Path::new("")) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error,
    };
    for length in (0..whole.len()).step_by(whole.len() / 50) {
        let error = load(&whole[..length]);
        let expected = matches!(error, SnapshotError::Foreign | SnapshotError::Damaged(_));
        assert!(expected, "{length}: {error:?}");
    }
    assert!(matches!(load(b"a text"), SnapshotError::Foreign));
    let mut other = whole.clone();
    other[8] += 1;
    assert!(matches!(load(&other), SnapshotError::Version(version) if version == VERSION + 1));
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x10;
    assert!(matches!(load(&damaged), SnapshotError::Damaged(_)));
    let text = String::from_utf8_lossy(&whole).into_owned();
    let at = text.find("\"identity\":\"").unwrap() + "\"identity\":\"".len();
    let mut foreign = whole;
    foreign[at] = if foreign[at] == b'0' { b'1' } else { b'0' };
    assert!(matches!(load(&foreign), SnapshotError::Damaged(_)));
    let error = load(&sealed(foreign));
    assert!(
        matches!(
            &error,
            SnapshotError::Other {
                what: "firmware",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn there_is_nothing_to_save_after_the_end() {
    let (mut simulation, _) = build(5);
    simulation.keep_logs();
    let far = SimTime::from_us(900_000_000);
    let error = simulation
        .run_to(far, &RunOptions::default(), |_| {})
        .unwrap_err();
    assert!(matches!(error, SnapshotError::Over(_)), "{error}");
}
