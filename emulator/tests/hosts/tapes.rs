//! Tapes: what a program did is repeated without it, at the same times.

use std::sync::Arc;

use emulator::host::tape::{Actions, Recording};
use emulator::sim::time::SimTime;
use host_lib::window::{System, SystemPort, VirtualAddress, Window};

use crate::bench::{Bench, costs, memory, us, window};
use crate::script::Act;
use crate::signals::{self, Busy};

/// Trace, end, and the program's CPU time.
type Outcome = (u64, SimTime, String);

fn outcome(bench: &Bench) -> Outcome {
    let time = format!("{:?}", bench.cpu_time("program"));
    (bench.world.trace_hash(), bench.world.now(), time)
}

/// A bench that records the program which is spawned next.
fn recording(mut bench: Bench) -> Bench {
    bench.world.nodes[0].programs.keep_tapes();
    bench
}

fn actions(bench: &Bench) -> Actions {
    let mut tapes = bench.world.nodes[0].programs.tapes();
    let (name, tape) = tapes.next().unwrap();
    assert_eq!((name, tape.full_since()), ("program", None));
    tape.actions()
}

fn repeat(bench: &mut Bench, actions: Actions) -> Outcome {
    let recording = Arc::new(Recording::new(actions).unwrap());
    bench.spawn("program", |machine, _| recording.replay(machine));
    bench.run();
    outcome(bench)
}

#[test]
fn signal_handlers_run_when_the_world_says_so() {
    for busy in [
        Busy::Computes,
        Busy::PollsMemory,
        Busy::PollsWindow,
        Busy::Sleeps,
    ] {
        let interrupts = [8, 11, 27, 33];
        let mut bench = recording(signals::acts(&interrupts));
        signals::program(&mut bench, busy);
        assert!(bench.run().len() > 3);
        let actions = actions(&bench);
        assert!(!actions.handlers.is_empty());
        let repeated = repeat(&mut signals::acts(&interrupts), actions);
        assert_eq!(repeated, outcome(&bench), "{busy:?}");
    }
}

/// The board writes what the program waits for.
fn board() -> Bench {
    let mut bench = Bench::new(&costs());
    bench.write_at(us(40), 1, 5);
    bench.at(us(60), Act::Window(8, 7));
    bench.at(us(90), Act::Pulse);
    bench
}

#[test]
fn every_request_and_every_change_of_memory_is_repeated() {
    let mut bench = recording(board());
    let page = bench.page.0;
    bench.spawn("program", move |mut machine, _| async move {
        let (address, _) = machine.allocate_contiguous(9_000).unwrap();
        machine.write_memory(address, b"contents").unwrap();
        let apart = machine.allocate(20_000).unwrap();
        machine.write_memory(apart, &[7; 5_000]).unwrap();
        machine.translate(apart, 20_000).await.unwrap();
        machine.write_memory(VirtualAddress(1), &[1]).unwrap_err();
        machine.write_burst(0x10, &[1, 2, 3]).await;
        machine.read(0x14).await;
        let words = [memory(page, 1, 5)];
        machine.poll_words(&words, None, "a word").await.unwrap();
        let words = [memory(page, 0, 9), window(2, 7)];
        machine.poll_words(&words, None, "words").await.unwrap();
        let none = machine.poll_words(&words[..1], Some(3_000), "none");
        none.await.unwrap_err();
        machine.poll_until(8, 0xFF, 7, "the window").await;
        machine.sleep(2_000).await;
        machine.wait_interrupt(Some(1_000)).await.unwrap_err();
        machine.wait_interrupt(None).await.unwrap();
        let mut read = [0; 8];
        machine.read_memory(address, &mut read).unwrap();
        machine.compute(u64::from(read[0])).await;
    });
    bench.run();
    let actions = actions(&bench);
    let mut other = board();
    assert_eq!(repeat(&mut other, actions.clone()), outcome(&bench));
    // Cut at any place the bytes are refused, or are fewer actions.
    for length in 0..actions.own.len() {
        let mut cut = actions.clone();
        cut.own.truncate(length);
        if let Ok(recording) = Recording::new(cut) {
            let mut bench = board();
            bench.spawn("program", |machine, _| Arc::new(recording).replay(machine));
            bench.world.pass_time(&emulator::sim::world::RunLimits {
                max_time: Some(us(200)),
                ..Default::default()
            });
            assert!(!bench.world.nodes[0].programs.all_ended(), "{length}");
        }
    }
}
