//! Waits on words of memory and window, and their timeouts.

use emulator::profile::costs::HostCosts;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::window::{
    PollError, PolledWord, System, SystemPort, TimedOut, VirtualAddress, Window, WindowWatch,
};

use crate::bench::{Bench, costs, memory, notes, ns, us, window};
use crate::script::{Act, MOVE, VIEW};

/// Polls `words` with a timeout while the board writes 1 to word 0 of memory and window at `write`; gives the time of the end
/// in nanoseconds, and what came.
fn poll(words: &[PolledWord], timeout_ns: Option<u64>, write: Option<SimTime>) -> (u64, String) {
    poll_on(Bench::new(&costs()), words, timeout_ns, write)
}

fn poll_on(
    mut bench: Bench,
    words: &[PolledWord],
    timeout_ns: Option<u64>,
    write: Option<SimTime>,
) -> (u64, String) {
    if let Some(time) = write {
        bench.write_at(time, 0, 1);
        bench.at(time, Act::Window(0, 1));
    }
    let words = words.to_vec();
    bench.spawn("poller", |mut machine, notes| async move {
        let text = match machine.poll_words(&words, timeout_ns, "a word").await {
            Ok(found) => format!("{} = {}", found.index, found.value),
            Err(error) => error.to_string(),
        };
        notes.add(&machine, text);
    });
    let (text, ps) = bench.run().pop().unwrap();
    assert_eq!(ps % 1000, 0);
    (ps / 1000, text)
}

fn page() -> u64 {
    Bench::new(&costs()).page.0
}

#[test]
fn a_write_of_the_board_ends_a_poll_of_memory() {
    let words = [memory(page(), 0, 1)];
    // Polls begin at 0, 10, 20 ... and take 10 ns, the first of them before the board acts. The one that finds the word misses the cache,
    // which takes 100 ns more.
    for (write, end) in [
        (ns(0), 120),
        (ns(1), 120),
        (ns(1000), 1110),
        (SimTime::from_ps(1_000_001), 1120),
        (ns(1009), 1120),
        (us(50_000), 50_000_110),
    ] {
        assert_eq!(
            poll(&words, None, Some(write)),
            (end, "0 = 1".into()),
            "{write}"
        );
    }
}

#[test]
fn a_timeout_is_looked_at_after_each_fruitless_poll() {
    const LATE: &str = "the wait timed out";
    let words = [memory(page(), 0, 1)];
    for (timeout, write, end, text) in [
        (0, None, 10, LATE),
        (10, None, 10, LATE),
        (11, None, 20, LATE),
        (5_000_003, None, 5_000_010, LATE),
        // The poll at 990 ends with the timeout, or the poll at 1000 finds the word.
        (999, Some(ns(1000)), 1000, LATE),
        (1000, Some(ns(1000)), 1000, LATE),
        (1001, Some(ns(1000)), 1110, "0 = 1"),
        (1_000_000, Some(ns(1000)), 1110, "0 = 1"),
        (u64::MAX, Some(ns(1000)), 1110, "0 = 1"),
    ] {
        let found = poll(&words, Some(timeout), write);
        assert_eq!(found, (end, text.into()), "timeout {timeout}");
    }
}

#[test]
fn a_timeout_of_polls_of_the_window() {
    let (one, _) = poll(&[window(0, 0)], None, None);
    let words = [window(0, 1)];
    let late = "the wait timed out";
    for (timeout, end) in [
        (0, one),
        (one, one),
        (one + 1, 2 * one),
        (100 * one, 100 * one),
    ] {
        let found = poll(&words, Some(timeout), None);
        assert_eq!(found, (end, late.into()), "timeout {timeout}");
    }
    let write = Some(ns(10 * one));
    assert_eq!(poll(&words, Some(10 * one), write).1, late);
    assert_eq!(
        poll(&words, Some(10 * one + 1), write),
        (11 * one, "0 = 1".into())
    );
    assert_eq!(poll(&words, None, write), (11 * one, "0 = 1".into()));
}

/// Beside another program, all polls are events.
#[test]
fn polls_in_several_views_are_as_with_events() {
    let seen = |word: u32, expected| {
        PolledWord::Window(WindowWatch {
            before: Some((MOVE, 4 * word)),
            offset: VIEW,
            mask: u32::MAX,
            expected,
        })
    };
    let several = [seen(1, 1), seen(0, 1), window(2, 1)];
    let last = [window(3, 1), seen(2, 1), seen(0, 1)];
    for words in [&several[..], &last[..], &several[1..2]] {
        for step in 0..120 {
            let write = (step % 8 != 7).then(|| ns(23 * step));
            let timeout = (step % 4 == 3).then_some(41 * step);
            let write = write.or(timeout.is_none().then_some(SimTime::ZERO));
            let two = HostCosts { cpus: 2, ..costs() };
            let alone = poll_on(Bench::new(&two), words, timeout, write);
            let mut bench = Bench::new(&two);
            bench.spawn("other", |_, _| async {});
            let with_events = poll_on(bench, words, timeout, write);
            assert_eq!(alone, with_events, "{write:?}, {timeout:?}");
        }
    }
}

#[test]
fn words_of_window_and_memory_are_polled_in_turn() {
    let (one, _) = poll(&[window(0, 0)], None, None);
    let (page, round) = (page(), one + 10);
    let words = [window(1, 1), memory(page, 0, 1)];
    // The write comes during the second round's read of the window: the poll of memory in that round finds it.
    let found = poll(&words, None, Some(ns(round + 1)));
    assert_eq!(found, (2 * round + 100, "1 = 1".into()));
    let found = poll(&words, Some(5 * round + one), None);
    assert_eq!(found, (5 * round + one, "the wait timed out".into()));
    let words = [memory(page, 1, 1), window(0, 1), memory(page, 2, 0)];
    let found = poll(&words, None, None);
    assert_eq!(found, (10 + one + 10 + 100, "2 = 0".into()));
    // Words of memory alone: the turn counts too.
    let words = [memory(page, 1, 1), memory(page, 0, 1), memory(page, 2, 1)];
    for (write, end) in [(1000, 1000 + 110), (1001, 1030 + 110)] {
        assert_eq!(poll(&words, None, Some(ns(write))), (end, "1 = 1".into()));
    }
}

#[test]
fn words_that_cannot_be_polled_are_errors() {
    let mut bench = Bench::new(&costs());
    let page = bench.page.0;
    bench.spawn("poller", move |mut machine, notes| async move {
        let bad = |address| Err(PollError::BadAddress(VirtualAddress(address)));
        let words = [memory(page + 1, 0, 1)];
        assert_eq!(machine.poll_words(&words, None, "odd").await, bad(page + 1));
        let words = [window(0, 1), memory(0, 0, 1)];
        assert_eq!(machine.poll_words(&words, None, "nothing").await, bad(0));
        let none = machine.poll_words(&[], Some(7), "nothing").await;
        assert_eq!(none, Err(PollError::NoWords));
        notes.add(&machine, "end");
    });
    assert_eq!(bench.run(), notes(&[("end", 20)]));
}

#[test]
fn an_interrupt_at_the_timeout() {
    for (timeout, end, came) in [
        (6_999, 6_999, false),
        (7_000, 7_000, false),
        (7_001, 7_000, true),
    ] {
        let mut costs = costs();
        (costs.interrupt_work, costs.wake_up) = (SimTime::ZERO, SimTime::ZERO);
        let mut bench = Bench::new(&costs);
        bench.at(us(5), Act::Interrupt);
        bench.spawn("driver", move |mut machine, notes| async move {
            let waited = machine.wait_interrupt(Some(timeout)).await;
            assert_eq!(waited, came.then_some(()).ok_or(TimedOut));
            notes.add(&machine, "end");
        });
        assert_eq!(bench.run(), notes(&[("end", end)]), "timeout {timeout}");
    }
}

#[test]
fn a_program_sees_what_another_one_writes() {
    let mut costs = costs();
    costs.cpus = 2;
    let mut bench = Bench::new(&costs);
    let page = bench.page.0;
    bench.spawn("poller", move |mut machine, notes| async move {
        let found = machine.poll_words(&[memory(page, 3, 9)], None, "9").await;
        notes.add(&machine, format!("{found:?}"));
    });
    bench.spawn("writer", move |mut machine, notes| async move {
        machine.compute(1234).await;
        let address = VirtualAddress(page + 12);
        machine.write_memory(address, &9_u32.to_le_bytes()).unwrap();
        notes.add(&machine, "written");
    });
    let noted = bench.run();
    assert_eq!(noted[0], ("written".into(), 1_234_000));
    assert_eq!(noted[1].1, 1_350_000);
}

#[test]
fn a_poll_that_nothing_can_end_is_a_deadlock() {
    let mut bench = Bench::new(&costs());
    let page = bench.page.0;
    bench.spawn("poller", move |mut machine, notes| async move {
        machine.read(0).await;
        let found = machine
            .poll_words(&[memory(page, 0, 9)], None, "nine")
            .await;
        notes.add(&machine, format!("{found:?}"));
    });
    let RunEnd::Deadlock(lines) = bench.world.run(&RunLimits::default()) else {
        panic!("the run goes on");
    };
    assert_eq!(lines[0], "node 0: poller waits for nine");
    assert!(
        lines[1].starts_with("node 0: CPU time of poller: computing 0."),
        "{lines:?}"
    );
}
