//! States of worlds: saved, loaded, and continued with identical results.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod files;
mod history;

use std::num::NonZeroUsize;

use emulator::sim::saved::HostLogs;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::state::{Reader, StateError, Value, Writer};
use emulator::tigon2::board::Tigon2;
use lanigon_worlds::simulation::Simulation;

fn simulation(text: &str) -> Simulation {
    let scenario =
        lanigon_workloads::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}"));
    simulation.world.keep_logs();
    simulation
}

const END: SimTime = SimTime::from_us(31_000);

fn run_to(world: &mut World, time: SimTime, threads: usize) {
    world.pass_time(&RunLimits {
        max_time: Some(time),
        threads: NonZeroUsize::new(threads).unwrap(),
        ..RunLimits::default()
    });
}

/// State of a core: clock, instructions, own cycles, stalls and registers.
type Stand = ([u64; 4], Vec<u32>);

/// All observable results of a run: trace, core states, all memories. (The state of a core's idle detector
/// depends on the time of a pause.)
fn result(world: &World) -> (u64, Vec<Stand>, Vec<u32>) {
    let boards = || world.nodes.iter().map(|node| node.board::<Tigon2>());
    let stands = boards().flat_map(|board| &board.cores).map(|unit| {
        let (core, clock) = (&unit.core, &unit.core.clock);
        let counts = [clock.now, core.instructions(), clock.cycles, clock.stalled];
        let registers = (0..32).map(|index| core.register(index));
        (counts, registers.chain([core.pc()]).collect())
    });
    let words = |board: &Tigon2| (0..board.fabric.sram.size_bytes() as u32).step_by(4);
    let memory =
        boards().flat_map(|board| words(board).map(|address| board.fabric.sram.word(address)));
    (world.trace_hash(), stands.collect(), memory.collect())
}

/// Saves a world at each of these times, with its replay logs as bytes, and compares its continuation with
/// an uninterrupted run.
#[track_caller]
fn check(text: &str, times_us: &[u64]) {
    let mut whole = simulation(text);
    run_to(&mut whole.world, END, 1);
    let whole = result(&whole.world);
    let mut first = simulation(text);
    for (count, &us) in times_us.iter().enumerate() {
        run_to(&mut first.world, SimTime::from_us(us), 1);
        let state = first.world.save().unwrap();
        let mut log = Writer::default();
        first.world.logs().write(&mut log);
        let logs = HostLogs::read(&mut Reader::new(&log.into_bytes())).unwrap();
        let mut second = simulation(text);
        second.world.load(&state, &logs).unwrap();
        assert_eq!(second.world.now(), SimTime::from_us(us));
        assert!(second.world.save().unwrap() == state, "{us} us: {text}");
        run_to(&mut second.world, END, 1 + count % 2);
        let again = result(&second.world);
        assert_eq!(again.0, whole.0, "{us} us: {text}");
        assert_eq!(again.1, whole.1, "{us} us: {text}");
        assert!(again.2 == whole.2, "{us} us: {text}");
    }
    run_to(&mut first.world, END, 2);
    assert!(result(&first.world) == whole, "{text}");
}

#[test]
fn a_pair_goes_on_in_every_scheme() {
    for scheme in ["base", "so", "ro", "dsr", "sr"] {
        let text = format!(
            "image = \"emp-{scheme}\"\n[network]\ntopology = \"pair\"\n
            [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 60\nbytes = [10, 5000]\n"
        );
        check(&text, &[0, 17, 15_000, 20_001, 20_333, 21_234, 30_000]);
    }
}

#[test]
fn a_network_with_faults_goes_on() {
    let text = "seed = 7\n[emp]\ntimeout_us = 700\n[network]\ntopology = \"star\"\nnodes = 5
        [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 30\nmax_bytes = 9000\ntags = 2
        [faults]\nloss = 0.02\nduplication = 0.01\ncorruption = 0.01\ndelay = 0.02\nlongest_delay_us = 200
        [[fault]]\ndo = \"drop\"\nfragment = 0\nmessage = 2\ntimes = 2\n";
    check(text, &[20_000, 20_150, 21_111, 22_222, 25_000]);
}

#[test]
fn machines_that_are_reset_go_on() {
    let text = "seed = 3\n[emp]\ntimeout_us = 1000\nretry_limit = 4\n[network]\ntopology = \"star\"\nnodes = 3
        [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 40\nbytes = [64, 1000, 9000]
        [[fault]]\ndo = \"reset\"\nnode = 2\nat_us = 1000\npause_us = 2000\n";
    check(text, &[20_900, 21_000, 22_000, 23_100, 26_000]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let pair = |messages: u32| {
        simulation(&format!(
            "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = {messages}\nbytes = 10\n"
        ))
    };
    let mut saved = pair(30);
    run_to(&mut saved.world, SimTime::from_us(20_300), 1);
    let (state, logs) = (saved.world.save().unwrap(), saved.world.logs());
    // Every truncated prefix.
    for length in (0..state.len()).step_by(state.len() / 40) {
        let error = pair(30).world.load(&state[..length], &logs).unwrap_err();
        assert!(!matches!(error, StateError::Diverged(_)), "{error}");
    }
    let error = pair(30)
        .world
        .load(&state, &HostLogs::default())
        .unwrap_err();
    assert!(matches!(error, StateError::Shape { .. }), "{error}");
    let star =
        "[network]\ntopology = \"star\"\nnodes = 3\n[[program]]\nrun = \"idle\"\nnodes = \"all\"\n";
    let error = simulation(star).world.load(&state, &logs).unwrap_err();
    assert!(matches!(error, StateError::Shape { .. }), "{error}");
    // Programs that post less than the log has answers for.
    let error = pair(2).world.load(&state, &logs).unwrap_err();
    assert!(matches!(error, StateError::Diverged(_)), "{error}");
}
