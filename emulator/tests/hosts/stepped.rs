//! Polls that are skipped end as polls that are carried out one by one, whatever happens meanwhile.

use cases::cases;
use emulator::host::machine::Machine;
use emulator::profile::costs::HostCosts;
use emulator::sim::time::SimTime;
use host_lib::window::{PolledWord, System, SystemPort, VirtualAddress};
use proptest::prelude::*;

use crate::bench::{Bench, costs, memory, window};
use crate::script::Act;

/// The events while a program polls.
#[derive(Debug, Clone)]
struct Scene {
    cpus: u32,
    /// The words: each is to have its index plus one.
    words: u64,
    timeout_ns: Option<u64>,
    /// When the board writes what to which word.
    writes: Vec<(u64, u64, u32)>,
    /// When interrupts come.
    interrupts: Vec<u64>,
    /// Times for which another program computes, sleeps, computes.
    other: Option<(u64, u64, u64)>,
}

/// Costs at which nothing but a write of the board falls together with a poll.
fn odd_costs(cpus: u32) -> HostCosts {
    HostCosts {
        cpus,
        interrupt_work: SimTime::from_ps(500_017),
        wake_up: SimTime::from_ps(300_029),
        context_switch: SimTime::from_ps(1_000_131),
        time_slice: SimTime::from_ps(9_997_251),
        ..costs()
    }
}

fn run(scene: &Scene, skips: bool) -> (Vec<(String, u64)>, Vec<emulator::host::accounts::CpuTime>) {
    let costs = odd_costs(scene.cpus);
    let mut bench = Bench::new(&costs);
    let (page, scene) = (bench.page.0, scene.clone());
    for (ns, word, value) in &scene.writes {
        bench.write_at(SimTime::from_ns(*ns), word % scene.words, *value);
    }
    // What ends every poll.
    bench.write_at(SimTime::from_us(200), 0, 1);
    for ns in &scene.interrupts {
        bench.at(SimTime::from_ps(ns * 1000 + 503), Act::Pulse);
    }
    let (words, timeout) = (scene.words, scene.timeout_ns);
    bench.spawn("poller", move |mut machine, notes| async move {
        let text = match skips {
            true => {
                let polled: Vec<PolledWord> = (0..words)
                    .map(|word| memory(page, word, word as u32 + 1))
                    .collect();
                match machine.poll_words(&polled, timeout, "a word").await {
                    Ok(found) => format!("{} = {}", found.index, found.value),
                    Err(_) => "late".into(),
                }
            }
            false => step(&mut machine, page, words, timeout).await,
        };
        notes.add(&machine, text);
        machine.compute(1000).await;
        notes.add(&machine, "end");
    });
    if let Some((first, sleep, second)) = scene.other {
        bench.spawn("other", move |mut machine, notes| async move {
            machine.compute(first).await;
            machine.sleep(sleep).await;
            notes.add(&machine, "awake");
            machine.compute(second).await;
            notes.add(&machine, "other end");
        });
    }
    let notes = bench.run();
    let programs: &[&str] = if scene.other.is_some() {
        &["poller", "other"]
    } else {
        &["poller"]
    };
    let times = programs.iter().map(|name| bench.cpu_time(name)).collect();
    (notes, times)
}

/// Polls one by one, as a program does that knows no poll.
async fn step(machine: &mut Machine, page: u64, words: u64, timeout_ns: Option<u64>) -> String {
    let begin = machine.now();
    for poll in 0.. {
        let word = poll % words;
        let mut bytes = [0; 4];
        machine
            .read_memory(VirtualAddress(page + 4 * word), &mut bytes)
            .unwrap();
        let value = u32::from_le_bytes(bytes);
        if value == word as u32 + 1 {
            machine.compute(110).await;
            return format!("{word} = {value}");
        }
        machine.compute(10).await;
        let span = machine.now().saturating_sub(begin);
        if timeout_ns.is_some_and(|timeout| span >= SimTime::from_ns(timeout)) {
            return "late".into();
        }
    }
    unreachable!()
}

fn scene() -> impl Strategy<Value = Scene> {
    (
        1_u32..3,
        1_u64..4,
        prop::option::of(0_u64..60_000),
        prop::collection::vec((0_u64..50_000, 0_u64..4, 0_u32..5), 0..6),
        prop::collection::vec(0_u64..50_000, 0..6),
        prop::option::of((1_u64..30_000, 1_u64..20_000, 1_u64..30_000)),
    )
        .prop_map(
            |(cpus, words, timeout_ns, writes, interrupts, other)| Scene {
                cpus,
                words,
                timeout_ns,
                writes,
                interrupts,
                other,
            },
        )
}

/// The notes of a program that polls words of the window in turn. With a `sleeper`, a program that sleeps on the other CPU, each poll
/// is an event.
fn poll_window(scene: &Scene, sleeper: bool) -> Vec<(String, u64)> {
    let mut bench = Bench::new(&odd_costs(2));
    for (ns, word, value) in &scene.writes {
        let act = Act::Window(4 * (word % scene.words) as u32, *value);
        bench.at(SimTime::from_ns(*ns), act);
    }
    bench.at(SimTime::from_us(200), Act::Window(0, 1));
    for ns in &scene.interrupts {
        bench.at(SimTime::from_ps(ns * 1000 + 503), Act::Pulse);
    }
    let (words, timeout) = (scene.words as u32, scene.timeout_ns);
    bench.spawn("poller", move |mut machine, notes| async move {
        let polled: Vec<PolledWord> = (0..words).map(|word| window(word, word + 1)).collect();
        let text = match machine.poll_words(&polled, timeout, "a word").await {
            Ok(found) => format!("{} = {}", found.index, found.value),
            Err(_) => "late".into(),
        };
        notes.add(&machine, text);
        machine.compute(1000).await;
        notes.add(&machine, "end");
    });
    if sleeper {
        bench.spawn("sleeper", |mut machine, _| async move {
            machine.sleep(400_000).await;
        });
    }
    bench.run()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn skipped_polls_end_as_stepped_ones(scene in scene()) {
        let (skipped, skipped_times) = run(&scene, true);
        let (stepped, stepped_times) = run(&scene, false);
        prop_assert_eq!(skipped, stepped);
        for (skipped, stepped) in skipped_times.iter().zip(&stepped_times) {
            prop_assert_eq!(skipped.on_cpu(), stepped.on_cpu());
            prop_assert_eq!((skipped.ready, skipped.blocked), (stepped.ready, stepped.blocked));
            prop_assert_eq!(skipped.stolen, stepped.stolen);
        }
    }

    #[test]
    fn idle_polls_in_turn_end_as_events(scene in scene()) {
        prop_assert_eq!(poll_window(&scene, false), poll_window(&scene, true));
    }
}
