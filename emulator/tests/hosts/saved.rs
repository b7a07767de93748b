//! Snapshots in the midst of every kind of wait go on with the same bits.

use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use host_lib::window::{System, Window};

use crate::bench::{Bench, costs, memory, us, window};
use crate::script::{ACKNOWLEDGE, Act};

/// Three programs on two CPUs that wait in every way.
fn bench() -> Bench {
    let mut costs = costs();
    costs.cpus = 2;
    costs.time_slice = us(7);
    let mut bench = Bench::new(&costs);
    bench.world.keep_logs();
    let page = bench.page.0;
    for (time, act) in [
        (us(20), Act::Memory(bench.page.1, 1)),
        (us(40), Act::Window(0, 1)),
        (us(60), Act::Interrupt),
        (us(90), Act::Memory(bench.page.1 + 4, 1)),
        (us(95), Act::Pulse),
    ] {
        bench.at(time, act);
    }
    bench.spawn("waiter", move |mut machine, notes| async move {
        let found = machine
            .poll_words(&[memory(page, 0, 1)], None, "memory")
            .await;
        notes.add(&machine, format!("{found:?}"));
        let found = machine
            .poll_words(&[window(0, 1)], Some(50_000), "window")
            .await;
        notes.add(&machine, format!("{found:?}"));
        let waited = machine.wait_interrupt(Some(50_000)).await;
        machine.write(ACKNOWLEDGE, 0).await;
        notes.add(&machine, format!("{waited:?}"));
        let words = [window(1, 1), memory(page, 1, 1)];
        let found = machine.poll_words(&words, None, "either").await;
        notes.add(&machine, format!("{found:?}"));
        let words = [memory(page, 2, 1), memory(page, 3, 1)];
        let found = machine.poll_words(&words, Some(10_000), "none").await;
        notes.add(&machine, format!("{found:?}"));
    });
    for name in ["worker", "sleeper"] {
        bench.spawn(name, move |mut machine, notes| async move {
            for _ in 0..4 {
                machine.compute(17_003).await;
                machine.sleep(5_000).await;
                notes.add(&machine, name);
            }
        });
    }
    bench
}

fn pass(bench: &mut Bench, time: SimTime) {
    let limits = RunLimits {
        max_time: Some(time),
        ..RunLimits::default()
    };
    assert!(bench.world.pass_time(&limits));
}

#[test]
fn a_snapshot_goes_on_with_the_same_bits() {
    const END: SimTime = us(400);
    let mut whole = bench();
    pass(&mut whole, END);
    let noted = whole.noted();
    assert_eq!(noted.len(), 5 + 8, "{noted:?}");
    let ended = |bench: &Bench| {
        let times = ["waiter", "worker", "sleeper"].map(|name| bench.cpu_time(name));
        (bench.world.trace_hash(), times)
    };
    for step in 0..130 {
        let time = SimTime::from_ps(step * 997_003);
        let mut first = bench();
        pass(&mut first, time);
        let (state, logs) = (first.world.save().unwrap(), first.world.logs());
        let kept = first.world.checkpoint().unwrap();
        let mut loaded = bench();
        loaded.world.load(&state, &logs).unwrap();
        pass(&mut loaded, END);
        assert_eq!(loaded.noted(), noted, "from {time}");
        assert_eq!(ended(&loaded), ended(&whole), "from {time}");
        // A world that replays the log of the one that came farthest.
        let mut replaying = bench();
        replaying
            .world
            .load_replaying(&kept, &whole.world.logs())
            .unwrap();
        pass(&mut replaying, END);
        assert_eq!(ended(&replaying), ended(&whole), "replayed from {time}");
    }
}
