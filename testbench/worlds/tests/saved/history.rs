//! Breakpoints, steps and the way back.

use lanigon_worlds::boards::KB;
use std::sync::{Arc, Mutex};

use defs::tigon2::map::SCRATCHPAD_BASE;
use emulator::board::{CpuId, Stops, Watchpoint};
use emulator::debug::{DebugError, Found, History, Search, TimeDirection};
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, World};
use emulator::tigon2::board::Tigon2;
use lanigon_worlds::images;

use super::{result, run_to, simulation};

const TEXT: &str = "image = \"emp-so\"\n[network]\ntopology = \"pair\"
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 8\nbytes = [10, 5000]\n";

fn history() -> History {
    History::new(|| simulation(TEXT).world, None).unwrap()
}

/// Address of a function of the image.
fn function(name: &str) -> u32 {
    let image = images::own_image("emp-so", 1024 * KB).unwrap();
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

/// All matching events of a run without a debugger.
fn all(stops: &Stops) -> Vec<TraceEvent> {
    let mut simulation = simulation(TEXT);
    simulation.world.nodes[1]
        .inspect_mut()
        .set_stops(stops.clone());
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
        match history
            .find(TimeDirection::Forward, &of_stops(), END)
            .unwrap()
        {
            Found::Events(events) => {
                assert_eq!(history.now(), events[0].time);
                if let (TraceKind::Breakpoint, Some(pc)) = (&events[0].kind, events[0].pc) {
                    let cpu = usize::from(events[0].initiator == Initiator::Cpu(1));
                    let core = &history.world().nodes[1].board::<Tigon2>().cores[cpu].core;
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
        match history
            .find(TimeDirection::Backward, &of_stops(), END)
            .unwrap()
        {
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
    check(&Stops::at(breakpoints), 3);
}

#[test]
fn writes_to_memory_are_found_whoever_writes() {
    let watches = vec![Watchpoint {
        address: 0x2_4200,
        length: 0x800,
        cpu: CpuId::new(0),
    }];
    check(&Stops::watching(watches), 10);
}

#[test]
fn watches_of_one_memory_do_not_hide_another() {
    let sram = Watchpoint {
        address: 0x2_4200,
        length: 0x800,
        cpu: CpuId::new(0),
    };
    let scratchpad = |cpu| Watchpoint {
        address: SCRATCHPAD_BASE,
        length: 0x4000,
        cpu,
    };
    let told = |watches: &[Watchpoint]| {
        let watches = watches.to_vec();
        all(&Stops::watching(watches))
    };
    let watches = [sram, scratchpad(CpuId::new(0)), scratchpad(CpuId::new(1))];
    let mut apart = Vec::new();
    for watch in watches {
        let events = told(&[watch]);
        assert!(events.len() > 10, "{watch:?}: {}", events.len());
        apart.extend(events);
    }
    let mut together = told(&watches);
    for events in [&mut apart, &mut together] {
        events.sort_by_key(|event| (event.time, format!("{event:?}")));
    }
    assert!(apart == together);
}

#[test]
fn steps_forwards_and_back_are_the_same() {
    let mut history = history();
    history.go_to(SimTime::from_us(20_030)).unwrap();
    for cpu in [0, 1].map(CpuId::new) {
        let stand = |history: &History| {
            let view = history.world().nodes[0].inspect().cpu(cpu).unwrap();
            (history.now(), view.pc, view.instructions)
        };
        history.step(TimeDirection::Forward, 0, cpu).unwrap();
        let mut forward = vec![stand(&history)];
        for _ in 0..25 {
            history.step(TimeDirection::Forward, 0, cpu).unwrap();
            forward.push(stand(&history));
        }
        let counts = forward.windows(2).map(|two| two[1].2 - two[0].2);
        assert!(counts.into_iter().all(|count| count == 1), "{forward:?}");
        for expected in forward.iter().rev().skip(1) {
            history.step(TimeDirection::Backward, 0, cpu).unwrap();
            assert_eq!(stand(&history), *expected);
        }
    }
    assert_eq!(
        history.step(TimeDirection::Forward, 7, CpuId::new(0)),
        Err(DebugError::NoNode(7))
    );
    let no_cpu = DebugError::NoCpu { node: 0, cpu: 2 };
    let third = CpuId::new(2);
    assert_eq!(history.step(TimeDirection::Forward, 0, third), Err(no_cpu));
}

#[test]
fn a_change_belongs_to_the_history() {
    let mut history = history();
    history.go_to(SimTime::from_us(20_020)).unwrap();
    let word = |history: &History| {
        history.world().nodes[0]
            .board::<Tigon2>()
            .fabric
            .sram
            .word(0xF_FFF0)
    };
    assert_eq!(word(&history), 0);
    history
        .change(|world| {
            world.nodes[0]
                .board_mut::<Tigon2>()
                .fabric
                .sram
                .set_word(0xF_FFF0, 42)
        })
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

#[test]
fn a_change_of_the_past_makes_another_future() {
    let change = |world: &mut World| {
        world.nodes[0]
            .board_mut::<Tigon2>()
            .fabric
            .sram
            .set_word(0x7_FFF0, 42);
    };
    let (at, end) = (SimTime::from_us(20_115), SimTime::from_us(20_900));
    let mut plain = simulation(TEXT).world;
    run_to(&mut plain, at, 1);
    change(&mut plain);
    run_to(&mut plain, end, 1);
    let mut history = history();
    history.go_to(END).unwrap();
    history.go_to(at).unwrap();
    history.change(change).unwrap();
    for time in [end, SimTime::from_us(20_020), end] {
        history.go_to(time).unwrap();
    }
    assert!(result(history.world()) == result(&plain));
}

#[test]
fn calls_of_host_programs_are_found_backwards() {
    let calls = Search {
        details: Details::HOST,
        is: Arc::new(|event| matches!(event.kind, TraceKind::HostCall { .. })),
    };
    let seen = Arc::default();
    let mut world = simulation(TEXT).world;
    world.observe(Box::new(Keep(calls.clone(), Arc::clone(&seen))));
    run_to(&mut world, END, 1);
    world.finish_observing();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let mut history = history();
    history.go_to(END).unwrap();
    for expected in seen.iter().rev().take(5) {
        let found = history.find(TimeDirection::Backward, &calls, END).unwrap();
        let Found::Events(events) = found else {
            panic!("{found:?}");
        };
        assert_eq!(events.last(), Some(expected));
    }
}

/// At each of these times, latest first, the world equals that of a run without a debugger, and a core's
/// steps from there lead back to the previous times.
#[track_caller]
fn check_steps(text: &'static str, places: &[(u64, usize, usize)]) {
    let mut history = History::new(|| simulation(text).world, None).unwrap();
    for &(us, node, cpu) in places {
        let cpu = CpuId::new(cpu);
        let time = SimTime::from_us(us);
        let place = format!("{us} us, node {node}, CPU {}: {text}", cpu.index());
        let mut plain = simulation(text);
        run_to(&mut plain.world, time, 1);
        history.go_to(time).unwrap();
        let visited = result(history.world());
        assert!(visited == result(&plain.world), "{place}");
        let mut moments = Vec::new();
        for _ in 0..5 {
            history.step(TimeDirection::Forward, node, cpu).unwrap();
            moments.push((history.now(), result(history.world())));
        }
        let (_, last) = moments.pop().unwrap();
        for (time, moment) in moments.iter().rev() {
            history.step(TimeDirection::Backward, node, cpu).unwrap();
            assert_eq!(history.now(), *time, "{place}");
            assert!(result(history.world()) == *moment, "{place}");
        }
        for _ in 0..moments.len() {
            history.step(TimeDirection::Forward, node, cpu).unwrap();
        }
        assert!(result(history.world()) == last, "{place}");
        history.go_to(time).unwrap();
        history.step(TimeDirection::Backward, node, cpu).unwrap();
        history.go_to(time).unwrap();
        assert!(result(history.world()) == visited, "{place}");
    }
}

#[test]
fn steps_lead_back_anywhere() {
    check_steps(
        "image = \"emp-so\"\nseed = 7\n[emp]\ntimeout_us = 700\n[network]\ntopology = \"pair\"
        [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 60\nbytes = [10, 5000]
        [faults]\nloss = 0.02\nduplication = 0.02\ncorruption = 0.01\n",
        &[
            (22_500, 0, 1),
            (20_777, 1, 0),
            (21_313, 0, 0),
            (11_000, 1, 1),
            (22_499, 1, 1),
        ],
    );
}

#[test]
fn steps_lead_back_across_a_reset() {
    check_steps(
        "seed = 3\n[emp]\ntimeout_us = 1000\nretry_limit = 4\n[network]\ntopology = \"pair\"
        [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 40\nbytes = [64, 1000, 9000]
        [[fault]]\ndo = \"reset\"\nnode = 1\nat_us = 1000\npause_us = 2000\n",
        // The reset is at 21 000.
        &[
            (26_000, 1, 0),
            (22_000, 1, 0),
            (20_999, 1, 0),
            (23_500, 0, 0),
            (22_999, 1, 0),
        ],
    );
}

#[test]
fn a_core_that_never_ran_cannot_be_stepped() {
    let mut history = History::new(
        || {
            simulation(
                "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"idle\"\nnodes = \"all\"\n",
            )
            .world
        },
        None,
    )
    .unwrap();
    history.go_to(END).unwrap();
    for time in [END, SimTime::from_us(7_000)] {
        history.go_to(time).unwrap();
        for direction in [TimeDirection::Backward, TimeDirection::Forward] {
            let (cpu, name) = (CpuId::new(1), "CPU B");
            let still = DebugError::Still { node: 1, cpu, name };
            assert_eq!(history.step(direction, 1, cpu), Err(still));
            assert_eq!(history.now(), time);
        }
    }
}
