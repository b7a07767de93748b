//! Breakpoints, steps and the way back.

use std::sync::{Arc, Mutex};

use emulator::debug::{DebugError, Direction, Found, History, Search};
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::stops::{Stops, Watch};
use testbench::cluster;

use super::{result, run_to, simulation};

const TEXT: &str = "image = \"emp-so\"\n[network]\ntopology = \"pair\"
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 8\nbytes = [10, 5000]\n";

fn history() -> History {
    History::new(|| simulation(TEXT).world, None).unwrap()
}

/// The address of a function of the image.
fn function(name: &str) -> u32 {
    let image = cluster::own_image("emp-so", SramSize::M1).unwrap();
    let symbols: Vec<_> = image
        .symbols
        .iter()
        .filter(|symbol| symbol.name.contains(name))
        .collect();
    assert!(!symbols.is_empty(), "no {name}");
    symbols[0].address
}

fn of_stops() -> Search {
    Search {
        details: Details::STOPS,
        is: Arc::new(|event| {
            matches!(
                event.kind,
                TraceKind::Breakpoint | TraceKind::MemoryWrite { .. }
            )
        }),
    }
}

struct Keep(Search, Arc<Mutex<Vec<TraceEvent>>>);

impl Observer for Keep {
    fn details(&self) -> Details {
        self.0.details
    }

    fn event(&mut self, event: &TraceEvent) {
        if (self.0.is)(event) {
            self.1.lock().unwrap().push(event.clone());
        }
    }
}

const END: SimTime = SimTime::from_us(22_000);

/// All that a run without any debugger tells of these stops.
fn all(stops: &Stops) -> Vec<TraceEvent> {
    let mut simulation = simulation(TEXT);
    simulation.world.nodes[1].board.set_stops(stops.clone());
    let seen = Arc::default();
    simulation
        .world
        .observe(Box::new(Keep(of_stops(), Arc::clone(&seen))));
    run_to(&mut simulation.world, END, 1);
    simulation.world.finish_observing();
    let mut plain = super::simulation(TEXT);
    run_to(&mut plain.world, END, 1);
    assert!(
        result(&simulation.world) == result(&plain.world),
        "stops change nothing"
    );
    std::mem::take(&mut *seen.lock().unwrap())
}

#[track_caller]
fn check(stops: &Stops, at_least: usize) {
    let mut expected: Vec<_> = all(stops);
    expected.retain(|event| event.time > SimTime::from_us(19_990));
    assert!(expected.len() >= at_least, "{}", expected.len());
    let mut history = history();
    history.go_to(SimTime::from_us(19_990)).unwrap();
    history.set_stops(1, stops.clone()).unwrap();
    let mut found = Vec::new();
    loop {
        match history.find(Direction::Forward, &of_stops(), END).unwrap() {
            Found::Events(events) => {
                assert_eq!(history.now(), events[0].time);
                if let (TraceKind::Breakpoint, Some(pc)) = (&events[0].kind, events[0].pc) {
                    let cpu = usize::from(events[0].initiator == Initiator::CpuB);
                    let core = &history.world().nodes[1].board.cores[cpu].core;
                    assert_eq!(core.pc(), pc, "it stands before the instruction");
                }
                found.extend(events);
            }
            Found::Limit | Found::End(RunEnd::Completed) => break,
            other => panic!("{other:?}"),
        }
    }
    found.sort_by_key(|event| event.time);
    assert_eq!(
        found.len(),
        expected
            .iter()
            .filter(|event| event.time <= history.now())
            .count()
    );
    assert!(found == expected[..found.len()]);
    // And back.
    history.go_to(END).unwrap();
    history.go_to(END).unwrap();
    let mut back = Vec::new();
    while back.len() < found.len() {
        match history.find(Direction::Backward, &of_stops(), END).unwrap() {
            Found::Events(events) => back.extend(events.into_iter().rev()),
            other => panic!("{other:?}"),
        }
    }
    back.reverse();
    assert!(back == found);
    history.go_to(END).unwrap();
    let mut plain = simulation(TEXT);
    run_to(&mut plain.world, END, 1);
    assert!(
        result(history.world()) == result(&plain.world),
        "no trace of the debugger"
    );
}

#[test]
fn breakpoints_are_found_forwards_and_backwards() {
    let address = function("receive");
    let breakpoints = [vec![address], vec![address]];
    check(
        &Stops {
            breakpoints,
            ..Stops::default()
        },
        3,
    );
}

#[test]
fn writes_to_memory_are_found_whoever_writes() {
    let watches = vec![Watch {
        address: 0x2_4000,
        length: 0x400,
        cpu: 0,
    }];
    check(
        &Stops {
            watches,
            ..Stops::default()
        },
        10,
    );
}

#[test]
fn steps_forwards_and_back_are_the_same() {
    let mut history = history();
    history.go_to(SimTime::from_us(20_030)).unwrap();
    for cpu in [0, 1] {
        let stand = |history: &History| {
            let core = &history.world().nodes[0].board.cores[cpu].core;
            (history.now(), core.pc(), core.instructions())
        };
        history.step(Direction::Forward, 0, cpu).unwrap();
        let mut forward = vec![stand(&history)];
        for _ in 0..25 {
            history.step(Direction::Forward, 0, cpu).unwrap();
            forward.push(stand(&history));
        }
        let counts = forward.windows(2).map(|two| two[1].2 - two[0].2);
        assert!(counts.into_iter().all(|count| count == 1), "{forward:?}");
        for expected in forward.iter().rev().skip(1) {
            history.step(Direction::Backward, 0, cpu).unwrap();
            assert_eq!(stand(&history), *expected);
        }
    }
    assert_eq!(
        history.step(Direction::Forward, 7, 0),
        Err(DebugError::NoNode(7))
    );
}

#[test]
fn a_change_belongs_to_the_history() {
    let mut history = history();
    history.go_to(SimTime::from_us(20_020)).unwrap();
    let word = |history: &History| history.world().nodes[0].board.fabric.sram.word(0xF_FFF0);
    assert_eq!(word(&history), 0);
    history
        .change(|world| world.nodes[0].board.fabric.sram.set_word(0xF_FFF0, 42))
        .unwrap();
    for (us, expected) in [
        (20_500, 42),
        (20_010, 0),
        (20_020, 42),
        (20_000, 0),
        (21_000, 42),
    ] {
        history.go_to(SimTime::from_us(us)).unwrap();
        assert_eq!(word(&history), expected, "{us} us");
    }
}
