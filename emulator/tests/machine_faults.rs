//! Machine faults (resets, DMA channels that pause), and polls of several words.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::future::Future;
use std::sync::{Arc, Mutex};

use defs::tigon2::map::{WINDOW_LOW_SRAM, WINDOW_VIEW};
use defs::tigon2::regs::{
    CPU_PC, DmaState, READ_HOST_LOW, READ_LENGTH, READ_LOCAL, READ_STATE, WINDOW_BASE,
};
use emulator::host::machine::Machine;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::dma::Direction;
use emulator::tigon2::dma::stall::StallFrom;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use host_lib::window::{System, SystemPort, Window, WindowWatch};

/// Notes of the programs, with times in nanoseconds.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<(String, u64)>>>);

impl Notes {
    fn add(&self, machine: &Machine, text: impl Into<String>) {
        let note = (text.into(), machine.now_ps() / 1000);
        self.0.lock().unwrap().push(note);
    }

    fn take(&self) -> Vec<(String, u64)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct Bench {
    world: World,
    notes: Notes,
}

impl Bench {
    fn new() -> Self {
        let timing = Timing::built_in("tigon2-88mhz").unwrap();
        let board = Tigon2::new(SramSize::K512, timing);
        let mut node = Node::new(0, board, &timing.host, 1);
        node.trace.keep(true);
        Self {
            world: World::new(vec![node]),
            notes: Notes::default(),
        }
    }

    fn node(&mut self) -> &mut Node {
        &mut self.world.nodes[0]
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &str,
        program: impl FnOnce(Machine, Notes) -> F,
    ) {
        let notes = self.notes.clone();
        self.node()
            .programs
            .spawn(name, |machine| program(machine, notes));
    }

    /// Spawns a program that notes its start, and then each completed 4 us of work.
    fn spawn_worker(&mut self) {
        let notes = self.notes.clone();
        let work = move |mut machine: Machine, life| {
            let notes = notes.clone();
            async move {
                for step in 0..3 {
                    notes.add(&machine, format!("life {life} step {step}"));
                    machine.compute(4000).await;
                }
            }
        };
        self.node().programs.spawn_restartable("worker", work);
    }

    fn run(&mut self) -> (RunEnd, Vec<(String, u64)>) {
        let end = self.world.run(&RunLimits::default());
        (end, self.notes.take())
    }

    fn trace(&mut self, wanted: impl Fn(&TraceKind) -> bool) -> Vec<String> {
        let events = self.node().trace.take();
        let wanted = |event: &TraceEvent| wanted(&event.kind).then(|| event.to_string());
        events.iter().filter_map(wanted).collect()
    }
}

fn notes(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    let note = |(text, ns): &(&str, u64)| ((*text).to_owned(), *ns);
    expected.iter().map(note).collect()
}

const fn us(us: u64) -> SimTime {
    SimTime::from_us(us)
}

#[test]
fn a_reset_ends_programs_wherever_they_are_and_begins_them_anew() {
    let mut bench = Bench::new();
    bench.spawn_worker();
    bench.spawn("mortal", |mut machine, notes| async move {
        machine.compute(50_000).await;
        notes.add(&machine, "the mortal one has come through");
    });
    bench.node().schedule_reset(us(6), Some(us(10)));
    let (end, noted) = bench.run();
    assert_eq!(end, RunEnd::Completed);
    let expected = [
        ("life 1 step 0", 0),
        ("life 1 step 1", 4000),
        ("life 2 step 0", 16_000),
        ("life 2 step 1", 20_000),
        ("life 2 step 2", 24_000),
    ];
    assert_eq!(noted, notes(&expected));
    let traced = bench.trace(|kind| matches!(kind, TraceKind::Reset | TraceKind::PowerOn));
    let expected = [
        "         6.000000 n0 power     reset",
        "        16.000000 n0 power     on again",
    ];
    assert_eq!(traced, expected);
}

#[test]
fn a_reset_during_the_pause_counts_instead() {
    let mut bench = Bench::new();
    bench.spawn_worker();
    bench.node().schedule_reset(us(1), Some(us(10)));
    bench.node().schedule_reset(us(5), Some(us(2)));
    bench.node().schedule_reset(us(8), None);
    let (end, noted) = bench.run();
    assert_eq!(end, RunEnd::Completed, "nobody comes back");
    let expected = [("life 1 step 0", 0), ("life 2 step 0", 7000)];
    assert_eq!(noted, notes(&expected));
}

#[test]
fn a_reset_machine_has_lost_what_it_knew() {
    let mut bench = Bench::new();
    let notes = bench.notes.clone();
    let program = move |mut machine: Machine, life| {
        let notes = notes.clone();
        async move {
            let address = machine.allocate(4096).unwrap();
            let mut byte = [7];
            machine.read_memory(address, &mut byte).unwrap();
            let counter = machine.read(CPU_PC).await;
            notes.add(
                &machine,
                format!("{life}: {:#x} {byte:?} {counter:#x}", address.0),
            );
            machine.write_memory(address, &[9]).unwrap();
            machine.write(CPU_PC, 0x4000).await;
            machine.write(WINDOW_BASE, 0x800).await;
            // A poll that never succeeds, and a pending write.
            machine.write(WINDOW_LOW_SRAM, 5).await;
            machine.poll_until(WINDOW_LOW_SRAM + 4, 1, 1, "ever").await;
        }
    };
    bench.node().programs.spawn_restartable("program", program);
    bench.node().schedule_reset(us(30), Some(us(10)));
    let (end, noted) = bench.run();
    let RunEnd::Deadlock(lines) = end else {
        panic!("{end:?}");
    };
    assert!(lines[0].contains("program waits for ever"), "{lines:?}");
    let texts: Vec<&str> = noted.iter().map(|(text, _)| text.as_str()).collect();
    // A reset halts the CPUs. Program counters and SRAM are preserved.
    assert_eq!(texts, ["1: 0x10000000 [0] 0x0", "2: 0x10000000 [0] 0x4000"]);
    assert_eq!(
        bench.node().board::<Tigon2>().fabric.window.base(),
        0x800,
        "set anew"
    );
}

#[test]
fn a_reset_of_the_board_leaves_its_host_alone() {
    let mut bench = Bench::new();
    bench.spawn("host", |mut machine, notes| async move {
        let address = machine.allocate(4096).unwrap();
        machine.write_memory(address, &[9]).unwrap();
        machine.write(WINDOW_BASE, 0x800).await;
        machine.compute(10_000).await;
        let mut byte = [0];
        machine.read_memory(address, &mut byte).unwrap();
        let base = machine.read(WINDOW_BASE).await;
        notes.add(&machine, format!("{byte:?} {base:#x}"));
    });
    bench.node().schedule_board_reset(us(6));
    let (end, noted) = bench.run();
    assert_eq!(end, RunEnd::Completed);
    let texts: Vec<&str> = noted.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["[9] 0x0"]);
    let traced = bench.trace(|kind| matches!(kind, TraceKind::Reset | TraceKind::PowerOn));
    assert_eq!(traced, ["         6.000000 n0 power     reset"]);
}

/// End of a transfer of 128 bytes that begins at 10 us, in ns, and its trace lines about pauses.
fn transfer(from: Option<StallFrom>) -> (u64, Vec<String>) {
    let mut bench = Bench::new();
    if let Some(from) = from {
        let fabric = &mut bench.node().board_mut::<Tigon2>().fabric;
        fabric.stall_dma(Direction::Read, from, us(5));
        // Pauses of the other channel have no effect.
        fabric.stall_dma(Direction::Write, StallFrom::Time(us(0)), us(100));
    }
    bench.spawn("host", |mut machine, notes| async move {
        let (_, physical) = machine.allocate_contiguous(4096).unwrap();
        machine.compute(10_000).await;
        for (register, value) in [
            (READ_HOST_LOW, physical.0 as u32),
            (READ_LOCAL, 0x4000),
            (READ_LENGTH, 128),
            (READ_STATE, DmaState::START.bits()),
        ] {
            machine.write(register, value).await;
        }
        let (mask, why) = (DmaState::START.bits(), "the transfer");
        machine.poll_until(READ_STATE, mask, 0, why).await;
        notes.add(&machine, "done");
    });
    let (end, noted) = bench.run();
    assert_eq!(end, RunEnd::Completed);
    let rests = bench.trace(|kind| matches!(kind, TraceKind::DmaRests { .. }));
    (noted[0].1, rests)
}

#[test]
fn a_channel_rests_from_a_time_or_a_transfer_on() {
    let (usual, rests) = transfer(None);
    assert!(rests.is_empty());
    let check = |from, shift_ns: std::ops::Range<u64>, rests: usize| {
        let (end, traced) = transfer(Some(from));
        assert!(shift_ns.contains(&(end - usual)), "{from:?}: {usual} {end}");
        assert_eq!(traced.len(), rests, "{from:?}: {traced:?}");
    };
    check(StallFrom::Transfer(1), 3500..5500, 1);
    check(StallFrom::Transfer(2), 0..1, 0);
    check(StallFrom::Time(us(10)), 3500..5500, 1);
    check(StallFrom::Time(us(6)), 0..1500, 1);
    check(StallFrom::Time(us(1)), 0..1, 0);
    check(StallFrom::Time(us(100)), 0..1, 0);
}

/// A watch for 1 in the word at `offset`.
const fn watch(before: Option<(u32, u32)>, offset: u32) -> WindowWatch {
    WindowWatch {
        before,
        offset,
        mask: u32::MAX,
        expected: 1,
    }
}

#[test]
fn words_are_polled_in_turn_and_each_read_takes_its_time() {
    let mut bench = Bench::new();
    bench
        .node()
        .board_mut::<Tigon2>()
        .fabric
        .sram
        .set_word(8, 1);
    bench.spawn("poller", |mut machine, notes| async move {
        let read = machine.now();
        machine.read(WINDOW_LOW_SRAM).await;
        let one = (machine.now() - read).ps();
        let watches = [0, 4, 8].map(|at| watch(None, WINDOW_LOW_SRAM + at));
        for (first, reads) in [(2, 1), (1, 2), (0, 3)] {
            let began = machine.now();
            let found = machine.poll_any(&watches[first..], "a word").await;
            assert_eq!(found, Some((2 - first, 1)));
            assert_eq!((machine.now() - began).ps(), reads * one);
        }
        assert_eq!(machine.poll_any(&[], "nothing").await, None);
        notes.add(&machine, "done");
    });
    let (end, noted) = bench.run();
    assert_eq!((end, noted.len()), (RunEnd::Completed, 1));
    let polled = bench.trace(|kind| matches!(kind, TraceKind::PollSatisfied { .. }));
    assert_eq!(polled.len(), 3);
}

/// Polls words in two positions of the view and one in fixed SRAM. `word`, if any, is set at 300 us.
fn poll_views(word: Option<u32>) -> (RunEnd, Vec<(String, u64)>) {
    let mut bench = Bench::new();
    bench.spawn("poller", |mut machine, notes| async move {
        let watches = [
            watch(Some((WINDOW_BASE, 0x4000)), WINDOW_VIEW),
            watch(None, WINDOW_VIEW + 0x7FC),
            watch(Some((WINDOW_BASE, 0x4800)), WINDOW_VIEW),
            watch(None, WINDOW_LOW_SRAM),
        ];
        let found = machine.poll_any(&watches, "one of four").await;
        notes.add(&machine, format!("{found:?}"));
    });
    if let Some(word) = word {
        bench.world.pass_time(&RunLimits {
            max_time: Some(us(300)),
            ..RunLimits::default()
        });
        bench
            .node()
            .board_mut::<Tigon2>()
            .fabric
            .sram
            .set_word(word, 1);
    }
    bench.run()
}

#[test]
fn words_behind_a_view_are_polled_where_they_are() {
    for (word, index) in [(0x4000, 0), (0x47FC, 1), (0x4800, 2), (0, 3)] {
        let (end, noted) = poll_views(Some(word));
        assert_eq!(end, RunEnd::Completed);
        assert_eq!(noted[0].0, format!("Some(({index}, 1))"));
        assert!((300_000..305_000).contains(&noted[0].1), "{noted:?}");
    }
}

#[test]
fn words_that_nobody_changes_are_a_deadlock() {
    let (end, noted) = poll_views(None);
    let RunEnd::Deadlock(lines) = end else {
        panic!("{end:?}");
    };
    assert_eq!(lines[0], "node 0: poller waits for one of four");
    assert!(noted.is_empty());
}
