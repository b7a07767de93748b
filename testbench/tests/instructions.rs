//! Whoever looks at every instruction changes nothing, and misses none.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

use emulator::observe::event::{Place, TraceEvent};
use emulator::observe::instructions::InstructionLog;
use emulator::observe::instructions::steps::{Action, Steps};
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use testbench::profiler::{Costs, Profiler, report};
use testbench::scenario::Scenario;
use testbench::simulation::{RunOptions, Simulation};

/// What is left of a run: the trace's hash; instructions, cycles and ticks of each CPU.
type Left = (u64, Vec<(u64, u64, u64)>);

fn simulation() -> Simulation {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
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
    let cores = nodes.flat_map(|node| &node.board.cores);
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
        for &record in log.records() {
            *count += match steps.follow(record) {
                Some(Action::Step(step)) => {
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
    let profiler = Profiler::new(&simulation.image, SimTime::ZERO, SimTime::MAX);
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
