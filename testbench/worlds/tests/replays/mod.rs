//! Recordings of nodes: their files, and scenarios that repeat them. The kit's tests compare repeated runs with recorded ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cases::cases;
use emulator::host::tape::Actions;
use emulator::sim::time::SimTime;
use emulator::wire::fault::FaultKind;
use emulator::wire::strikes::{Replacement, Strike};
use host_lib::window::{System, SystemPort, Window};
use lanigon_worlds::boards::{self, Medium};
use lanigon_worlds::builder::{WorldBuilder, record_layers};
use lanigon_worlds::nodes::{self, START};
use lanigon_worlds::replay::{MAGIC, RecordedNode, Replay, ReplayError, VERSION};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::inputs;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use proptest::prelude::*;

/// A world whose node 0 repeats a recording for 50 us.
const TEXT: &str = "image = \"frame-echo\"\nmax_time_us = 50\n[network]\ntopology = \"pair\"\n\
                    [[program]]\nrun = \"replay\"\nnode = 0\nfile = \"node0.replay\"\n";

/// A folder of one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Actions of a host program that uses most kinds of requests.
fn actions() -> Actions {
    let mut world = WorldBuilder::new();
    let board = boards::DEFAULT;
    let profile = lanigon_worlds::profile::built_in(board.profile).unwrap();
    let parts = nodes::parts(&profile, None, board.scenario_sram_bytes);
    world.node(board, &parts).unwrap();
    let mut world = world.build().unwrap();
    let programs = &mut world.nodes[0].programs;
    programs.keep_tapes();
    programs.spawn("program", |mut machine| async move {
        let (address, _) = machine.allocate_contiguous(100).unwrap();
        machine.write_memory(address, b"some bytes").unwrap();
        machine.translate(address, 100).await.unwrap();
        machine.write_burst(0x800, &[1, 2, 3]).await;
        machine.read(0x804).await;
        machine.sleep(1_000).await;
        machine.compute(300).await;
        machine.wait_interrupt(Some(2_000)).await.unwrap_err();
        machine.poll_until(0x900, 1, 1, "what never comes").await;
    });
    world.pass_time(&emulator::sim::world::RunLimits {
        max_time: Some(SimTime::from_us(100)),
        ..Default::default()
    });
    let tapes = world.nodes[0].programs.tapes();
    tapes.map(|(_, tape)| tape.actions()).next().unwrap()
}

fn recorded() -> RecordedNode {
    let strike = Strike {
        unit: 0,
        faults: vec![FaultKind::Duplicated, FaultKind::Corrupted],
        left: vec![
            Replacement {
                late: SimTime::ZERO,
                damaged: None,
            },
            Replacement {
                late: SimTime::from_us(3),
                damaged: Some((Arc::from([1_u8; 70]), 5)),
            },
        ],
    };
    RecordedNode {
        program: Some(("program".into(), actions())),
        arrivals: vec![(START + SimTime::from_us(5), vec![9; 64])],
        layers: vec![Vec::new(), vec![strike]],
    }
}

/// A scenario whose node 0 repeats `recorded`, with a name for its folder; runs for 50 us.
fn scenario(name: &str, recorded: &RecordedNode) -> Scenario {
    let folder = folder(name);
    std::fs::write(folder.join("node0.replay"), recorded.to_bytes()).unwrap();
    let mut scenario = lanigon_workloads::parse("world.toml", TEXT).unwrap();
    scenario.folder = folder;
    scenario
}

#[test]
fn a_repeated_program_waits_for_what_the_recorded_one_did() {
    let scenario = scenario("replay-waits", &recorded());
    let mut simulation = Simulation::new(&scenario).unwrap();
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    let end = format!("{:?}", outcome.end);
    assert!(
        end.contains("node 0: program waits for what never comes"),
        "{end}"
    );
    assert_eq!(simulation.world.now(), START + SimTime::from_us(50));
    // A snapshot and a sweep tell recordings apart.
    let described = inputs::describe(&scenario).unwrap();
    assert!(described.contains("\nreplay "), "{described}");
    let files: Vec<_> = scenario.files().collect();
    assert_eq!(files, [scenario.folder.join("node0.replay")]);
}

#[test]
fn a_snapshot_of_a_repeated_run_continues_as_the_run_did() {
    let scenario = scenario("replay-saved", &recorded());
    let options = RunOptions::default();
    let whole = Simulation::new(&scenario).unwrap().run(&options, |_| {});
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.keep_logs();
    let half = SimTime::from_us(25);
    simulation.run_to(half, &options, |_| {}).unwrap();
    let saved = simulation.save("world.toml", TEXT, &scenario).unwrap();
    let load = || Simulation::load(lanigon_workloads::ALL, &saved, &scenario.folder);
    let (mut loaded, ..) = load().unwrap();
    let rest = loaded.run(&options, |_| {});
    assert_eq!(rest.trace_hash, whole.trace_hash);
    let mut other = recorded();
    other.arrivals.clear();
    let file = scenario.folder.join("node0.replay");
    std::fs::write(file, other.to_bytes()).unwrap();
    let error = load().expect_err("another recording").to_string();
    assert!(error.contains("another timing"), "{error}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let good = recorded().to_bytes();
    assert!(Replay::parse(&good).is_ok());
    let refused = |bytes: &[u8]| Replay::parse(bytes).expect_err("no recording").to_string();
    assert_eq!(refused(b"something"), "this is no recording of a node");
    let mut newer = good.clone();
    newer[MAGIC.len()] = 9;
    let expected = format!("this recording has version 9; this program reads version {VERSION}");
    assert_eq!(refused(&newer), expected);
    let mut long = recorded();
    long.arrivals[0].1 = vec![0; 2 << 20];
    assert!(matches!(
        Replay::parse(&long.to_bytes()),
        Err(ReplayError::Frame(_))
    ));
    let mut worse = recorded();
    if let Some((_, actions)) = &mut worse.program {
        actions.own.push(99);
    }
    let error = refused(&worse.to_bytes());
    assert!(error.contains("the recorded actions have an invalid tag"));
    for length in 0..good.len() {
        refused(&good[..length]);
    }
    let missing = "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"replay\"\nnode = 1\n\
                   file = \"nowhere.replay\"\n";
    let error = Simulation::new(&lanigon_workloads::parse("x.toml", missing).unwrap());
    let error = error.expect_err("no file").to_string();
    assert!(
        error.starts_with("x.toml:4: program.run: nowhere.replay: "),
        "{error}"
    );
}

#[test]
fn a_scenario_may_choose_the_size_of_a_boards_memory() {
    let world = |more: &str| {
        let text = format!(
            "{more}\n[network]\ntopology = \"none\"\nnodes = 1\n[[program]]\nrun = \"start\"\nnodes = 0\n"
        );
        lanigon_workloads::parse("x.toml", &text)
    };
    assert_eq!(world("").unwrap().nodes[0].sram_bytes(), 512 << 10);
    let larger = world("board_memory_kb = 1024").unwrap();
    assert_eq!(larger.nodes[0].sram_bytes(), 1 << 20);
    let error = world("board_memory_kb = 1000").unwrap_err().to_string();
    assert!(error.contains("board_memory_kb: the board has "), "{error}");
}

#[test]
fn a_record_of_no_faults_is_empty() {
    let mut world = WorldBuilder::new();
    let board = boards::DEFAULT;
    let profile = lanigon_worlds::profile::built_in(board.profile).unwrap();
    let parts = nodes::parts(&profile, None, board.scenario_sram_bytes);
    world.node(board, &parts).unwrap();
    let mut world = world.build().unwrap();
    // There is no cable.
    assert!(record_layers(&mut world, Medium::Ethernet, 0).is_err());
}

proptest! {
    #![proptest_config(cases(200))]

    /// Changed bytes of a file are refused; changed actions, with a correct checksum, are refused or run.
    #[test]
    fn hostile_recordings_cause_no_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        which in 0..3,
    ) {
        let mut file = recorded().to_bytes();
        for (at, value) in &flips {
            let at = at.index(file.len());
            file[at] = *value;
        }
        let _ = Replay::parse(&file);
        let _ = Replay::parse(&noise);
        let mut node = recorded();
        if let Some((_, actions)) = &mut node.program {
            for (at, value) in &flips {
                let at = at.index(actions.own.len());
                actions.own[at] = *value;
            }
            match which {
                0 => actions.own.extend(&noise),
                1 => actions.own.clone_from(&noise),
                _ => actions.handlers.clone_from(&noise),
            }
        }
        if Replay::parse(&node.to_bytes()).is_ok() {
            let scenario = scenario("replay-hostile", &node);
            let _ = Simulation::new(&scenario).map(|mut simulation| {
                simulation.run(&RunOptions::default(), |_| {});
            });
        }
    }
}
