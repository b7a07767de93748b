//! Probes of firmware and logs of instructions: they show, and change nothing.

use std::sync::{Arc, Mutex};

use defs::probe::Kind;
use emulator::board::{CpuId, Inspect, ProbeTable};
use emulator::cpu::clock::TICKS_PER_CYCLE;
use emulator::image::Probe;
use emulator::lanai::timing::Timing;
use emulator::observe::event::{Place, TraceEvent};
use emulator::observe::instructions::{Cause, InstructionLog, Record};
use emulator::observe::stream::Observer;

use crate::bench::{Bench, PROFILES};

/// A loop with work, and marks: each mark has an instruction of its own.
const SOURCE: &str = "
    mov 0, %r8
again:
    nop
    add %r8, 1, %r8
    st %r8, 0x500[%r0]
    nop
    sub.f %r8, 20, %r0
    bne again
    nop
    nop
    nop
end:
    bt end
    nop
    nop";

/// Texts of events.
#[derive(Default, Clone)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Observer for Lines {
    fn event(&mut self, event: &TraceEvent) {
        self.0.lock().unwrap().push(event.to_string());
    }
}

fn probes() -> ProbeTable {
    let probe = |address, kind, text: &str, registers: &[u8]| Probe {
        address,
        kind,
        text: text.into(),
        registers: registers.to_vec(),
    };
    ProbeTable::new(vec![
        probe(4, Kind::StageEnter, "counting", &[]),
        probe(16, Kind::StageExit, "counting", &[]),
        probe(16, Kind::Event, "counted", &[8]),
        probe(16, Kind::Log, "r8 is {}", &[8]),
    ])
}

#[test]
fn probes_show_stages_values_and_lines() {
    for profile in PROFILES {
        let mut bench = Bench::new(profile);
        bench.load(SOURCE);
        bench.board().set_probes(probes());
        let lines = Lines::default();
        bench.world.observe(Box::new(lines.clone()));
        let control = bench.control();
        bench.write(control, 1 << 31);
        bench.run_us(50);
        assert_eq!(bench.word(0x500), 20, "{profile}");
        let board = bench.board();
        assert_eq!(board.stages().len(), 1);
        let total = board.stage_total(CpuId::new(0), 0);
        // Two instructions are within the stage: its marks are skipped.
        assert_eq!((total.visits, total.cycles), (20, 40), "{profile}");
        let lines = lines.0.lock().unwrap();
        let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        assert_eq!(count("counted"), 20, "{profile}: {lines:?}");
        assert_eq!(count("r8 is 20"), 1, "{profile}: {lines:?}");
        assert_eq!(count(" counting"), 40, "{profile}: {lines:?}");
    }
}

/// Sums over an instruction log.
#[derive(Default)]
struct LogSums {
    /// Ticks that the CPU spent besides the instructions' own.
    spent: Vec<(Cause, u64)>,
    /// Number of stores.
    stores: u64,
}

#[derive(Default, Clone)]
struct Waits(Arc<Mutex<LogSums>>);

impl Observer for Waits {
    fn event(&mut self, _: &TraceEvent) {}

    fn sees_instructions(&self) -> bool {
        true
    }

    fn instructions(&mut self, _: Place, _: usize, log: &InstructionLog) {
        let told = &mut *self.0.lock().unwrap();
        for record in log.records() {
            match record {
                Record::Spent { cause, ticks } => told.spent.push((cause, ticks)),
                Record::Executed { pc: STORE, .. } => told.stores += 1,
                _ => {}
            }
        }
    }
}

/// Address of the store at an even word.
const STORE: u32 = 8;

/// A store at an even word, and a load at an odd one.
const ACCESSES: &str = "
    mov 0, %r8
again:
    add.f %r8, 1, %r8
    st %r8, 0x500[%r0]
    ld 0x500[%r0], %r9
    sub.f %r8, 20, %r0
    bne again
    nop
    nop
    nop
end:
    bt end
    nop
    nop";

/// With a LANai 9, the fetch of an even word leaves no bus cycle for its access; with a LANai 4 it does.
#[test]
fn a_log_tells_waits_for_the_memory_bus() {
    for (profile, waits) in [("lanai9.1-133", 1), ("lanai4.3-33", 0)] {
        let mut bench = Bench::running(profile, ACCESSES);
        let seen = Waits::default();
        bench.world.observe(Box::new(seen.clone()));
        bench.run_us(50);
        assert_eq!(bench.word(0x500), 20, "{profile}");
        let told = seen.0.lock().unwrap();
        let contention = (0..waits * 20).map(|_| (Cause::Contention, TICKS_PER_CYCLE));
        assert_eq!(told.spent, contention.collect::<Vec<_>>(), "{profile}");
        assert_eq!(told.stores, 20, "{profile}");
    }
}

/// Addresses whose words a log of node 0 tells.
#[derive(Default, Clone)]
struct Words(Arc<Mutex<Vec<u32>>>);

impl Observer for Words {
    fn event(&mut self, _: &TraceEvent) {}

    fn sees_instructions(&self) -> bool {
        true
    }

    fn instructions(&mut self, place: Place, _: usize, log: &InstructionLog) {
        let words = log.records().filter_map(|record| match record {
            Record::Word { address, .. } if place == Place::Node(0) => Some(address),
            _ => None,
        });
        self.0.lock().unwrap().extend(words);
    }
}

/// Takes one of two ways, forever: the first one if the word at 0x500 is 0.
const TWO_WAYS: &str = "
again:
    ld 0x500[%r0], %r8
    add %r9, 1, %r9
    sub.f %r8, 0, %r0
    bne other
    nop
    nop
    nop
    bt again
    nop
    nop
other:
    add %r9, 2, %r9
    bt again
    nop
    nop";

/// Boards share decoded code; a log that begins later tells what its own CPU executes, whatever the others do.
#[test]
fn a_log_does_not_tell_what_other_boards_execute() {
    let told = |ways: &[u32]| {
        let timing = Timing::built_in("lanai9.1-133").unwrap();
        let count = ways.len() as u16;
        let mut bench = Bench::nodes("lanai9.1-133", timing.generation.pipeline(), count);
        for (node, &way) in ways.iter().enumerate() {
            bench.node = node;
            bench.load(TWO_WAYS);
            bench.board().fabric.sram.set_word(0x500, way);
            let control = bench.control();
            bench.write(control, 1 << 31);
        }
        bench.run_us(20);
        let words = Words::default();
        bench.world.observe(Box::new(words.clone()));
        bench.run_us(20);
        let mut words = words.0.lock().unwrap().clone();
        words.sort_unstable();
        words
    };
    let alone = told(&[0]);
    assert!(alone.contains(&0) && !alone.contains(&0x28), "{alone:x?}");
    assert_eq!(told(&[0, 1]), alone);
}
