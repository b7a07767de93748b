//! Processes that other processes start.

use std::thread;

use lanigon_processes::Mode;
use lanigon_requests::{Answer, Request};

use super::{EMP, GM, Process, problem, run_of};

/// A process that another one has started tells both ranks its place, and waits for an answer.
fn child(mut process: Process, rank: usize) {
    for parent in 0..2 {
        process.send(parent, rank as u64, &[process.welcome.number as u8]);
    }
    let answers = process.await_answers(2);
    assert!(matches!(
        &answers[..],
        [Answer::Message(_), Answer::Message(_)]
    ));
    process.leave();
}

/// Takes messages of so many processes that were started, and answers them; their numbers.
fn answer_children(process: &mut Process, count: usize) -> Vec<u32> {
    let answers = process.await_answers(count);
    let numbers = answers.iter().map(|answer| match answer {
        Answer::Message(message) => {
            assert_eq!(message.bytes, [message.rank as u8]);
            message.rank
        }
        answer => panic!("{answer:?}"),
    });
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    for number in &numbers {
        process.send(*number as usize, 0, &[]);
    }
    numbers
}

/// Three times rank 0 starts two processes, which have these numbers: the later ones have places of earlier ones. A message to one that has ended is lost.
fn start_children(numbers: [[u32; 2]; 3], mut process: Process, rank: usize) {
    let mut children = Vec::new();
    for numbers in numbers {
        if rank == 0 {
            children.extend(process.spawn(2, child));
        }
        assert_eq!(answer_children(&mut process, 2), numbers);
        if rank == 0 {
            process.say(&Request::Spawned { spent_ns: 0 });
        }
    }
    process.send(2, 0, &[1]);
    process.send(3, 5, &vec![1; 100_000]);
    let lost = Answer::Done {
        token: 6,
        failed: true,
        value: 0,
    };
    assert_eq!(process.await_answers(1), [lost]);
    process.leave();
    children
        .into_iter()
        .for_each(|child| child.join().expect("a child"));
}

#[test]
fn processes_that_a_rank_starts_get_places() {
    for (network, universe, numbers) in [
        (GM, 6, [[2, 3], [4, 5], [8, 9]]),
        (EMP, 6, [[2, 3], [4, 5], [8, 9]]),
        (GM, 4, [[2, 3], [6, 7], [10, 11]]),
    ] {
        let run = || {
            run_of(
                (Mode::Messages, 1),
                network,
                (2, universe),
                move |process, rank| {
                    start_children(numbers, process, rank);
                },
            )
        };
        let first = run();
        assert!(first.is_good(), "{:?}", first.problems);
        assert_eq!(first.trace_hash, run().trace_hash);
    }
}

/// Says that it starts so many processes.
fn say_spawn(process: &mut Process, count: u32) {
    process.say(&Request::Spawn { spent_ns: 0, count });
}

/// The one rank of a world with three places does this; what the run says.
fn check(rank: fn(Process), said: &str) {
    let summary = run_of((Mode::Messages, 1), GM, (1, 3), move |process, _| {
        rank(process)
    });
    let text = problem(&summary);
    assert!(text.contains(said), "{text}");
}

#[test]
fn processes_that_never_come_end_the_run() {
    let said = "rank 0 has started 2 processes, of which 0 have begun MPI";
    let waits = |mut process: Process| {
        say_spawn(&mut process, 2);
        process.await_answers(1);
    };
    let looks_at_the_time = |mut process: Process| {
        say_spawn(&mut process, 2);
        process.next();
        while process.poll(Some(1000)).1.is_some() {}
    };
    check(waits, said);
    check(looks_at_the_time, said);
}

#[test]
fn processes_without_a_place_end_the_run() {
    let too_many = |mut process: Process| drop(process.spawn(3, |_, _| ()));
    check(
        too_many,
        "asks for 3 processes, and there are 3 places, of which the ranks have 1",
    );
    let too_late = |mut process: Process| {
        process.spawn(1, |mut process, _| {
            process.send(0, 0, &[]);
            process.await_answers(1);
        });
        process.await_answers(1);
        process.say(&Request::Spawned { spent_ns: 0 });
        process.spawn(2, |_, _| ());
    };
    check(too_late, "rank 0 waits for places to start 2 processes");
}

#[test]
fn strange_processes_end_the_run() {
    let uncalled = |mut process: Process| {
        let path = process.path.clone();
        thread::spawn(move || Process::connect_of("other", &path, 0, 1));
        process.await_answers(1);
    };
    check(
        uncalled,
        "starts further ranks otherwise than by MPI_Comm_spawn",
    );
    let of_another_size = |mut process: Process| {
        let path = process.path.clone();
        say_spawn(&mut process, 2);
        thread::spawn(move || Process::connect_of("other", &path, 0, 1));
        process.await_answers(1);
    };
    check(
        of_another_size,
        "rank 0 belongs to a job of 1 processes (other), not to the 2",
    );
    let twice = |mut process: Process| {
        for _ in 0..2 {
            say_spawn(&mut process, 1);
            process.next();
        }
    };
    check(twice, "rank 0 starts processes while it starts others");
    let to_nobody = |mut process: Process| {
        process.send(3, 0, &[]);
        process.await_answers(1);
    };
    check(to_nobody, "rank 0 sends to rank 3");
}
