//! Sessions that begin at a snapshot, and snapshots that a session saves.

use std::path::Path;

use emulator::sim::time::SimTime;
use lanigon_debugger::debug::Session;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use lanigon_worlds::workload::Workloads;

use super::{PAIR, shows, simulation};

/// A snapshot saved by a session equals that of `lanigon run --snapshot-at`.
#[test]
fn a_saved_moment_is_that_of_a_run() {
    let scenario = super::scenario(PAIR);
    for us in [250, 333] {
        let mut session = super::session(PAIR);
        session.go_to(SimTime::from_us(20_700)).unwrap();
        session.go_to(SimTime::from_us(20_000 + us)).unwrap();
        let saved = session.snapshot().unwrap();
        let mut run = simulation(PAIR);
        run.keep_logs();
        run.run_to(SimTime::from_us(us), &RunOptions::default(), |_| {})
            .unwrap();
        let kept = run.save("test.toml", PAIR, &scenario).unwrap();
        // The time of a pause affects only the idle detectors' state.
        let [ours, theirs] = [saved, kept].map(|file| {
            let (mut rest, ..) =
                Simulation::load(Workloads::default(), &file, Path::new("")).unwrap();
            let outcome = rest.run(&RunOptions::default(), |_| {});
            assert!(outcome.is_good(), "{us}");
            let nics = format!("{:?}", (outcome.nics, outcome.verdict.messages));
            (rest.world.trace_hash(), rest.world.now(), nics)
        });
        assert_eq!(ours, theirs, "{us}");
    }
}

#[test]
fn a_snapshot_is_where_another_session_begins() {
    let mut first = super::session(PAIR);
    first.go_to(SimTime::from_us(20_250)).unwrap();
    let file = first.snapshot().unwrap();
    let interrupt = lanigon_worlds::interrupt::Interrupt::default();
    let mut second =
        Session::from_snapshot(Workloads::default(), file, Path::new(""), &interrupt).unwrap();
    assert_eq!(second.now(), first.now());
    for us in [20_400, 20_300, 20_310] {
        first.go_to(SimTime::from_us(us)).unwrap();
        second.go_to(SimTime::from_us(us)).unwrap();
        assert_eq!(shows(&mut first, "where"), shows(&mut second, "where"));
        assert_eq!(shows(&mut first, "rs 3"), shows(&mut second, "rs 3"));
    }
    let begin = shows(&mut second, "goto 20000us");
    assert!(begin.contains("the beginning"), "{begin}");
    assert_eq!(second.now(), SimTime::from_us(20_250));
    second.go_to(SimTime::from_us(20_333)).unwrap();
    let later = second.snapshot().unwrap();
    let (mut rest, ..) = Simulation::load(Workloads::default(), &later, Path::new("")).unwrap();
    let mut whole = simulation(PAIR);
    let [rest, whole] = [&mut rest, &mut whole].map(|simulation| {
        let outcome = simulation.run(&RunOptions::default(), |_| {});
        (
            simulation.world.trace_hash(),
            outcome.nics,
            outcome.verdict.messages,
        )
    });
    assert_eq!(format!("{rest:?}"), format!("{whole:?}"));
}

/// Calls of host programs are known in the past, too.
#[test]
fn calls_of_the_past_are_found() {
    let mut session = super::session(PAIR);
    session.go_to(SimTime::from_us(20_700)).unwrap();
    shows(&mut session, "break event kind=host-call node=0");
    let last = shows(&mut session, "rc");
    assert!(last.starts_with("stop 1: "), "{last}");
    let events = shows(&mut session, "events 4 host");
    shows(&mut session, "rc");
    shows(&mut session, "continue");
    assert_eq!(shows(&mut session, "events 4 host"), events);
}
