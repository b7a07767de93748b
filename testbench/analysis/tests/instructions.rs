//! Instruction logs do not change a run, and are complete.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use emulator::tigon2::board::Tigon2;
use lanigon_worlds::boards::DEFAULT;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

use emulator::observe::event::{Place, TraceEvent};
use emulator::observe::instructions::InstructionLog;
use emulator::observe::instructions::steps::{Action, Steps};
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use lanigon_analysis::profiler::{Costs, Profiler, report};
use lanigon_analysis::trace::instructions::{InstructionSelection, Listing, split};
use lanigon_analysis::trace::open::open;
use lanigon_analysis::trace::record::{RecordOptions, header, with_image};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Final state of a run: trace hash; instructions, cycles and ticks of each CPU.
type Left = (u64, Vec<(u64, u64, u64)>);

fn simulation() -> Simulation {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenario = Scenario::load(&root.join("scenarios/pair.toml")).unwrap();
    Simulation::new(&scenario).unwrap()
}

fn run(simulation: &mut Simulation, threads: usize) -> Left {
    let options = RunOptions {
        threads: NonZeroUsize::new(threads).unwrap(),
        max_time: Some(SimTime::from_us(3_000)),
        ..RunOptions::default()
    };
    simulation.run(&options, |_| ());
    assert!(simulation.world.finish_observing().is_empty());
    let nodes = simulation.world.nodes.iter();
    let cores = nodes.flat_map(|node| &node.board::<Tigon2>().cores);
    let counts = cores.map(|unit| {
        let core = &unit.core;
        (core.instructions(), core.clock.cycles, core.clock.now)
    });
    (simulation.world.trace_hash(), counts.collect())
}

/// Counts instructions.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<Vec<(Steps, u64)>>>);

impl Observer for Counter {
    fn event(&mut self, _: &TraceEvent) {}

    fn sees_instructions(&self) -> bool {
        true
    }

    fn instructions(&mut self, place: Place, cpu: usize, log: &InstructionLog) {
        let Place::Node(node) = place else {
            panic!("{place} executes nothing");
        };
        let mut cores = self.0.lock().unwrap();
        cores.resize_with(4, Default::default);
        let (steps, count) = &mut cores[2 * usize::from(node) + cpu];
        for record in log.records() {
            *count += match steps.follow(record) {
                Some(Action::Executed(step)) => {
                    assert!(steps.word(step.pc).is_some(), "{:#x}", step.pc);
                    1
                }
                Some(Action::Rounds {
                    instructions,
                    rounds,
                    ..
                }) => u64::from(instructions) * rounds,
                Some(Action::Probe { .. }) | None => 0,
            };
        }
    }
}

#[test]
fn looking_changes_nothing_and_misses_nothing() {
    let plain = run(&mut simulation(), 1);
    for threads in [1, 2] {
        let mut simulation = simulation();
        let counter = Counter::default();
        simulation.world.observe(Box::new(counter.clone()));
        assert_eq!(run(&mut simulation, threads), plain, "{threads} threads");
        let cores = counter.0.lock().unwrap();
        for ((steps, count), (instructions, _, now)) in cores.iter().zip(&plain.1) {
            assert_eq!((count, steps.tick()), (instructions, *now));
        }
        assert!(cores[0].1 > 10_000);
    }
}

#[test]
fn profiles_add_up() {
    let mut simulation = simulation();
    let profiler = Profiler::new(&simulation.images, SimTime::ZERO, SimTime::MAX);
    simulation.world.observe(profiler.observer());
    let left = run(&mut simulation, 1);
    let cores = profiler.finish();
    assert_eq!(cores.len(), 4);
    for (core, (instructions, _, now)) in cores.values().zip(left.1) {
        let mut sum = Costs::default();
        for row in report::rows(core) {
            sum += &row.own;
        }
        assert_eq!(sum, report::busy(core));
        assert_eq!(sum.total() + core.idle.total() + core.halted, now);
        assert_eq!(sum.instructions + core.idle.instructions, instructions);
        assert_eq!(core.span(), now);
    }
}

/// Lines of a file, and whether it could be read to its end.
fn listed(path: &Path, wanted: InstructionSelection) -> (Vec<String>, bool) {
    let (header, chunks) = split(open(path).unwrap());
    let mut lines = Vec::new();
    let read = Listing::new(&header, wanted).show(chunks, |line| {
        lines.push(line.trim_end().to_owned());
        true
    });
    (lines, read.is_ok())
}

/// Number of instructions that a line represents.
fn count(line: &str) -> u64 {
    let Some((_, rounds)) = line.split_once("(idle: ") else {
        return 1;
    };
    let numbers = rounds
        .split(' ')
        .filter_map(|word| word.parse::<u64>().ok());
    numbers.product()
}

#[test]
fn a_file_shows_every_instruction() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions.trace");
    let mut simulation = simulation();
    let names = (0..2).map(|node| (format!("n{node}"), DEFAULT));
    let header = header(&"pair", 1, names);
    let header = with_image(header, "emp-base", simulation.images.image_of(0));
    let args = RecordOptions {
        trace: Some(path.clone()),
        instructions: true,
        ..RecordOptions::default()
    };
    let recording = args.begin(&mut simulation.world, || header).unwrap();
    let left = run(&mut simulation, 2);
    recording.finish().unwrap();
    let all = InstructionSelection {
        place: None,
        cpu: None,
        from: SimTime::ZERO,
        until: SimTime::MAX,
    };
    let (lines, whole) = listed(&path, all);
    assert!(whole);
    let executed: u64 = left.1.iter().map(|core| core.0).sum();
    assert_eq!(lines.iter().map(|line| count(line)).sum::<u64>(), executed);
    let time = |line: &&String| line[..17].trim_start().parse::<f64>().unwrap();
    assert!(lines.iter().collect::<Vec<_>>().is_sorted_by_key(time));

    let (from, until) = (SimTime::from_us(20_100), SimTime::from_us(20_110));
    let part = InstructionSelection {
        place: Some(Place::Node(1)),
        cpu: Some(0),
        from,
        until,
    };
    let mut expected = lines.clone();
    expected.retain(|line| line[17..].starts_with(" n1 cpu_a "));
    expected.retain(|line| (from.us()..until.us()).contains(&time(&line)));
    assert!(expected.len() > 100);
    assert_eq!(listed(&path, part), (expected, true));

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let (some, whole) = listed(&path, all);
    assert!(!whole && some.len() > 100);
    let mut all = lines.iter();
    assert!(some.iter().all(|line| all.any(|other| other == line)));
}
