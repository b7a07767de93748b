//! Programs that share CPUs, and what interrupts take from them.

use emulator::profile::costs::{CopyCosts, HostCosts};
use emulator::sim::time::SimTime;
use host_lib::window::{System, Window};

use crate::bench::{Bench, costs, memory, notes, ns, us, window};
use crate::script::{ACKNOWLEDGE, Act, INTERRUPT};

/// Spawns a program that computes and notes its end.
fn computes(bench: &mut Bench, name: &'static str, us: u64) {
    bench.spawn(name, move |mut machine, notes| async move {
        machine.compute(us * 1000).await;
        notes.add(&machine, name);
    });
}

#[test]
fn programs_take_turns_on_a_cpu() {
    let mut bench = Bench::new(&costs());
    computes(&mut bench, "a", 250);
    computes(&mut bench, "b", 150);
    // a: 0 to 100, 202 to 302, 354 to 404; b: 101 to 201, 303 to 353.
    assert_eq!(bench.run(), notes(&[("b", 353_000), ("a", 404_000)]));
    let (a, b) = (bench.cpu_time("a"), bench.cpu_time("b"));
    assert_eq!((a.computing, a.ready), (us(250), us(154)));
    assert_eq!((b.computing, b.ready), (us(150), us(203)));
    assert_eq!((a.on_cpu(), a.blocked, a.stolen), (us(250), us(0), us(0)));
}

#[test]
fn each_program_has_a_cpu_if_there_are_enough() {
    let mut costs = costs();
    costs.cpus = 2;
    let mut bench = Bench::new(&costs);
    computes(&mut bench, "a", 250);
    computes(&mut bench, "b", 150);
    assert_eq!(bench.run(), notes(&[("b", 150_000), ("a", 250_000)]));
    let mut bench = Bench::new(&costs);
    for name in ["a", "b", "c"] {
        computes(&mut bench, name, 150);
    }
    // The slices of a and b end at 100 us: c takes the place of a, a that of b, and b that of a when a ends.
    let expected = [("a", 151_000), ("b", 202_000), ("c", 251_000)];
    assert_eq!(bench.run(), notes(&expected));
}

#[test]
fn an_interrupt_takes_its_time_from_the_program_on_cpu_0() {
    for (cpus, first, second) in [(1, 0, 0), (2, 10_500, 20_000)] {
        let mut costs = costs();
        costs.cpus = cpus;
        let mut bench = Bench::new(&costs);
        bench.at(us(3), Act::Pulse);
        computes(&mut bench, "first", 10);
        if cpus == 1 {
            assert_eq!(bench.run(), notes(&[("first", 10_500)]));
        } else {
            computes(&mut bench, "second", 20);
            assert_eq!(bench.run(), notes(&[("first", first), ("second", second)]));
            assert_eq!(bench.cpu_time("second").stolen, SimTime::ZERO);
        }
        let time = bench.cpu_time("first");
        assert_eq!((time.computing, time.stolen), (us(10), ns(500)));
    }
}

#[test]
fn a_program_that_wakes_takes_the_place_of_one_that_computes() {
    let mut bench = Bench::new(&costs());
    bench.at(us(10), Act::Interrupt);
    bench.spawn("server", |mut machine, notes| async move {
        machine.wait_interrupt(None).await.unwrap();
        notes.add(&machine, "request");
        machine.compute(2_000).await;
        notes.add(&machine, "reply");
    });
    computes(&mut bench, "counter", 50);
    // The counter begins after a switch, at 1 us. The interrupt reaches the kernel at 12 us and takes 0.5 us; the server is
    // runnable 0.3 us later and begins after a switch. The counter has 38.7 us left, and begins after another switch.
    let expected = [("request", 13_800), ("reply", 15_800), ("counter", 55_500)];
    assert_eq!(bench.run(), notes(&expected));
    let (server, counter) = (bench.cpu_time("server"), bench.cpu_time("counter"));
    assert_eq!((server.computing, server.blocked), (us(2), ns(12_800)));
    assert_eq!((counter.computing, counter.stolen), (us(50), ns(500)));
    assert_eq!(counter.ready, us(1) + us(4));
}

#[test]
fn an_access_to_the_window_is_over_before_a_program_gives_way() {
    let mut costs = costs();
    costs.time_slice = ns(100);
    let mut bench = Bench::new(&costs);
    bench.spawn("reader", |mut machine, notes| async move {
        machine.read(0).await;
        notes.add(&machine, "read");
    });
    computes(&mut bench, "other", 1);
    let noted = bench.run();
    let read = costs.pio_read;
    // The answer is there when the other program has had its slices.
    assert_eq!(noted.len(), 2);
    let reader = bench.cpu_time("reader");
    assert_eq!(reader.computing, read);
    assert!(
        noted.iter().all(|(_, ps)| *ps > (read + us(1)).ps()),
        "{noted:?}"
    );
}

#[test]
fn polls_keep_a_cpu_and_sleeps_give_it_up() {
    let mut bench = Bench::new(&costs());
    let page = bench.page.0;
    bench.write_at(us(150), 0, 1);
    bench.spawn("poller", move |mut machine, notes| async move {
        machine
            .poll_words(&[memory(page, 0, 1)], None, "1")
            .await
            .unwrap();
        notes.add(&machine, "found");
    });
    computes(&mut bench, "other", 10);
    // The poller keeps the CPU for its slice; the other one has it from 101 to 111; the poller from 112 on. Its polls begin at
    // 112.000, 112.010 and so on.
    assert_eq!(
        bench.run(),
        notes(&[("other", 111_000), ("found", 150_110)])
    );
    let poller = bench.cpu_time("poller");
    assert_eq!((poller.polling, poller.ready), (us(138) + ns(110), us(12)));

    let mut bench = Bench::new(&costs());
    bench.spawn("sleeper", |mut machine, notes| async move {
        machine.sleep(150_000).await;
        notes.add(&machine, "awake");
    });
    computes(&mut bench, "other", 10);
    assert_eq!(bench.run(), notes(&[("other", 11_000), ("awake", 151_300)]));
    assert_eq!(bench.cpu_time("sleeper").blocked, ns(150_300));
}

#[test]
fn polls_of_the_window_give_way_between_two_reads() {
    let mut bench = Bench::new(&costs());
    bench.at(us(300), Act::Window(0, 1));
    bench.spawn("poller", |mut machine, notes| async move {
        machine
            .poll_words(&[window(0, 1)], None, "1")
            .await
            .unwrap();
        notes.add(&machine, "found");
    });
    computes(&mut bench, "other", 10);
    let noted = bench.run();
    let read = costs().pio_read.ps();
    assert_eq!(noted[0].0, "other");
    let given = noted[0].1 - us(11).ps();
    assert_eq!(given % read, 0);
    assert!((us(100).ps()..us(100).ps() + 2 * read).contains(&given));
    let again = given + us(12).ps();
    let polls = (us(300).ps() - again).div_ceil(read);
    assert!((again + polls * read..=again + (polls + 1) * read).contains(&noted[1].1));
}

#[test]
fn the_interrupt_is_acknowledged_once() {
    let mut bench = Bench::new(&costs());
    bench.at(us(10), Act::Interrupt);
    bench.spawn("driver", |mut machine, notes| async move {
        machine.wait_interrupt(None).await.unwrap();
        machine.write(ACKNOWLEDGE, 0).await;
        machine.compute(1_000).await;
        assert!(machine.wait_interrupt(Some(5_000)).await.is_err());
        notes.add(&machine, "end");
    });
    assert_eq!(bench.run().len(), 1);
    assert_eq!(bench.cpu_time("driver").stolen, SimTime::ZERO);
}

/// A driver that only ever waits for less time than an interrupt needs.
#[test]
fn short_waits_take_an_interrupt_that_is_asserted() {
    for timeout_ns in [0, 1, 500, 1_999, 2_000, 2_499, 2_500, 10_000] {
        let mut bench = Bench::new(&costs());
        bench.at(us(10), Act::Interrupt);
        bench.spawn("driver", move |mut machine, notes| async move {
            while machine.wait_interrupt(Some(timeout_ns)).await.is_err() {
                machine.compute(100).await;
            }
            notes.add(&machine, "taken");
        });
        let notes = bench.run();
        assert_eq!(notes.len(), 1, "{timeout_ns}");
        let late = notes[0].1 - us(10).ps();
        let most = ns(timeout_ns + 100) + INTERRUPT + ns(500 + 1_500);
        assert!(late <= most.ps(), "{timeout_ns}: after {late} ps");
    }
}

#[test]
fn a_copy_takes_the_time_that_the_costs_state() {
    let end = |copy| {
        let mut bench = Bench::new(&HostCosts { copy, ..costs() });
        bench.spawn("copy", move |mut machine, notes| async move {
            machine.charge_copy(1000).await;
            machine.charge_copy(0).await;
            notes.add(&machine, "copied");
        });
        bench.run()
    };
    let (start, byte) = (ns(150), SimTime::from_ps(2500));
    assert_eq!(end(CopyCosts { start, byte }), notes(&[("copied", 2_800)]));
    assert_eq!(end(CopyCosts::default()), notes(&[("copied", 0)]));
}
