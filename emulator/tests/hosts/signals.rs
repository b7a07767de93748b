//! Signals: handlers that run in the place of their programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use host_lib::window::System;

use crate::bench::{Bench, costs, memory, notes, ns, us, window};
use crate::script::Act;

/// The activity of a program while the signal comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    Computes,
    PollsMemory,
    PollsWindow,
    Sleeps,
}

/// A bench with interrupts at these times, whose board writes at 30 us.
pub fn acts(interrupts: &[u64]) -> Bench {
    let mut bench = Bench::new(&costs());
    for time in interrupts {
        bench.at(us(*time), Act::Pulse);
    }
    bench.write_at(us(30), 0, 1);
    bench.at(us(30), Act::Window(0, 1));
    bench
}

/// [`acts`] with [`program`].
fn bench(busy: Busy, interrupts: &[u64]) -> Bench {
    let mut bench = acts(interrupts);
    program(&mut bench, busy);
    bench
}

/// A program with a handler that computes for 2 us.
pub fn program(bench: &mut Bench, busy: Busy) {
    let page = bench.page.0;
    bench.spawn("program", move |mut machine, notes| async move {
        let count = Arc::new(AtomicU32::new(0));
        let (counted, handled) = (Arc::clone(&count), notes.clone());
        let handler = move |mut machine: emulator::host::machine::Machine| {
            let (count, notes) = (Arc::clone(&counted), handled.clone());
            async move {
                notes.add(&machine, "handler");
                machine.compute(2_000).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        machine.handle_interrupts(handler).await;
        match busy {
            Busy::Computes => machine.compute(30_000).await,
            Busy::Sleeps => machine.sleep(30_000).await,
            Busy::PollsMemory => {
                machine.poll_memory_word(page).await;
            }
            Busy::PollsWindow => {
                machine
                    .poll_words(&[window(0, 1)], None, "1")
                    .await
                    .unwrap();
            }
        }
        notes.add(&machine, format!("after {}", count.load(Ordering::Relaxed)));
        machine.ignore_interrupts().await;
        machine.compute(20_000).await;
        notes.add(&machine, "end");
    });
}

trait PollMemoryWord {
    async fn poll_memory_word(&mut self, page: u64);
}

impl PollMemoryWord for emulator::host::machine::Machine {
    async fn poll_memory_word(&mut self, page: u64) {
        self.poll_words(&[memory(page, 0, 1)], None, "1")
            .await
            .unwrap();
    }
}

#[test]
fn a_handler_takes_its_time_from_what_its_program_computes() {
    // The interrupt reaches the kernel at 10 us, takes 0.5 us; the handler begins 1.5 us later, computes 2 us, and the
    // return takes 0.8 us: 4.8 us in all.
    let mut bench = bench(Busy::Computes, &[8]);
    let expected = [("handler", 12_000), ("after 1", 35_100), ("end", 55_400)];
    assert_eq!(bench.run(), notes(&expected));
    let time = bench.cpu_time("program");
    assert_eq!((time.stolen, time.ready), (ns(500), us(0)));
    assert_eq!(time.on_cpu(), ns(55_400));
}

/// The handler polls a word of memory; the program polls another one, which the board writes after the handler has ended.
#[test]
fn a_poll_of_memory_goes_on_after_a_handler_that_polls_too() {
    let mut bench = acts(&[8]);
    let page = bench.page.0;
    bench.write_at(us(20), 1, 1);
    bench.spawn("program", move |mut machine, notes| async move {
        let handled = notes.clone();
        let handler = move |mut machine: emulator::host::machine::Machine| {
            let notes = handled.clone();
            async move {
                let found = machine.poll_words(&[memory(page, 1, 1)], None, "1").await;
                found.unwrap();
                notes.add(&machine, "handler");
            }
        };
        machine.handle_interrupts(handler).await;
        machine.poll_memory_word(page).await;
        notes.add(&machine, "end");
    });
    let noted = bench.run();
    let names: Vec<_> = noted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["handler", "end"], "{noted:?}");
    assert_eq!(noted[1].1, 30_110_000, "{noted:?}");
}

#[test]
fn a_signal_while_the_handler_runs_waits() {
    // The second one comes while the handler runs, which ends at 14.5 us: the kernel takes 0.5 us from it.
    let mut bench = bench(Busy::Computes, &[8, 11]);
    let expected = [
        ("handler", 12_000),
        ("handler", 16_800),
        ("after 2", 30_300 + 2 * 4_800),
    ];
    let noted = bench.run();
    assert_eq!(noted[..3], notes(&expected), "{noted:?}");
}

#[test]
fn a_handler_interrupts_polls_and_sleeps() {
    // The poll goes on at 14.8 us + 300 ns, ...; the write at 30 us is found by the next one.
    let noted = bench(Busy::PollsMemory, &[8]).run();
    assert_eq!(
        noted[..2],
        notes(&[("handler", 12_000), ("after 1", 30_110)])
    );
    // An idle poll of the window ends before the handler begins.
    let noted = bench(Busy::PollsWindow, &[8]).run();
    let (begin, end) = (noted[0].1, noted[1].1);
    assert!((12_000_000..12_900_000).contains(&begin), "{noted:?}");
    assert!((30_200_000..31_000_000).contains(&end), "{noted:?}");
    // A sleep ends when it would have, or after the handler.
    let expected = [("handler", 12_300), ("after 1", 30_600)];
    let program = bench(Busy::Sleeps, &[8]).run();
    assert_eq!(program[0].0, "handler");
    assert_eq!(program[1].1, expected[1].1 * 1000, "{program:?}");
    let program = bench(Busy::Sleeps, &[27]).run();
    assert!(program[1].1 > 33_000_000, "{program:?}");
}

#[test]
fn an_interrupt_without_a_handler_is_no_signal() {
    let mut bench = bench(Busy::Computes, &[40]);
    let expected = [("after 0", 30_300), ("end", 51_100)];
    assert_eq!(bench.run(), notes(&expected));
    assert_eq!(bench.cpu_time("program").stolen, ns(500));
}

#[test]
fn a_snapshot_in_the_midst_of_a_handler() {
    use emulator::sim::time::SimTime;
    use emulator::sim::world::RunLimits;
    for busy in [
        Busy::Computes,
        Busy::PollsMemory,
        Busy::PollsWindow,
        Busy::Sleeps,
    ] {
        let new = || {
            let mut bench = bench(busy, &[8, 11, 27]);
            bench.world.keep_logs();
            bench
        };
        let pass = |bench: &mut Bench, time: SimTime| {
            let max_time = Some(time);
            let limits = RunLimits {
                max_time,
                ..RunLimits::default()
            };
            assert!(bench.world.pass_time(&limits));
        };
        let mut whole = new();
        pass(&mut whole, us(100));
        assert_eq!(whole.noted().last().unwrap().0, "end");
        for step in 0..56 {
            let mut first = new();
            pass(&mut first, SimTime::from_ps(step * 997_003));
            let (state, logs) = (first.world.save().unwrap(), first.world.logs());
            let kept = first.world.checkpoint().unwrap();
            let mut loaded = new();
            loaded.world.load(&state, &logs).unwrap();
            pass(&mut loaded, us(100));
            assert_eq!(loaded.noted(), whole.noted(), "{busy:?} {step}");
            assert_eq!(loaded.world.trace_hash(), whole.world.trace_hash());
            let mut replaying = new();
            replaying
                .world
                .load_replaying(&kept, &whole.world.logs())
                .unwrap();
            pass(&mut replaying, us(100));
            assert_eq!(replaying.world.trace_hash(), whole.world.trace_hash());
            assert_eq!(replaying.cpu_time("program"), whole.cpu_time("program"));
        }
    }
}
