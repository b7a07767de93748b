//! Processes that speak the protocol themselves, without any MPI: threads of this one.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

mod sockets;
mod spawn;

use lanigon_processes::{Hub, KIND, Mode, Processes};
use lanigon_requests::{
    Access, Answer, Atomic, CallOutcome, Class, Decoder, End, Envelope, Function, Hello, Message,
    Number, Operation, Poll, Region, Request, Segment, SocketCall, VERSION, Welcome,
};
use lanigon_worlds::scenario::programs::Program;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use lanigon_worlds::workload::Workloads;

const WORKLOADS: Workloads = Workloads(&[&KIND]);

/// The process's side of a socket.
struct Process {
    stream: UnixStream,
    decoder: Decoder,
    welcome: Welcome,
    path: PathBuf,
}

impl Process {
    fn connect(path: &Path, rank: usize, ranks: usize) -> Self {
        Self::connect_of("test", path, rank, ranks)
    }

    fn connect_of(job: &str, path: &Path, rank: usize, ranks: usize) -> Self {
        let mut process = Self {
            stream: UnixStream::connect(path).expect("the world's socket"),
            decoder: Decoder::default(),
            welcome: Welcome::default(),
            path: path.into(),
        };
        process.say(&Request::Hello(Hello {
            version: VERSION,
            rank: rank as u32,
            size: ranks as u32,
            process: std::process::id(),
            job: job.into(),
        }));
        if let Some(Answer::Welcome(welcome)) = process.next() {
            process.welcome = welcome;
        }
        process
    }

    fn say(&mut self, request: &Request) {
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        // The world may have ended.
        let _ = self.stream.write_all(&bytes);
    }

    /// The next answer; `None` when the world has ended.
    fn next(&mut self) -> Option<Answer> {
        loop {
            if let Some(answer) = Answer::next(&mut self.decoder).expect("an answer") {
                return Some(answer);
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(count) if count > 0 => self.decoder.extend(&bytes[..count]),
                _ => return None,
            }
        }
    }

    fn send(&mut self, rank: usize, tag: u64, bytes: &[u8]) {
        let is_long = bytes.len() > self.welcome.eager_bytes as usize;
        let envelope = Envelope {
            class: Class::Tagged,
            tag,
            ..Envelope::default()
        };
        self.say(&Request::Send {
            spent_ns: 10,
            token: u64::from(is_long) * (tag + 1),
            message: Message {
                rank: rank as u32,
                envelope,
                bytes: bytes.to_vec(),
            },
        });
    }

    /// Polls once; what comes, and the simulated time.
    fn poll(&mut self, limit_ns: Option<u64>) -> (Vec<Answer>, Option<u64>) {
        let (all, end) = self.poll_for(1, limit_ns);
        (all, end.map(|end| end.time_ns))
    }

    /// Polls once with so many posted receives; what comes, and the end of the answer.
    fn poll_for(&mut self, receives: u32, limit_ns: Option<u64>) -> (Vec<Answer>, Option<End>) {
        let poll = Poll {
            limit_ns,
            receives,
            sends: 0,
        };
        self.say(&Request::Poll { spent_ns: 0, poll });
        let mut all = Vec::new();
        loop {
            match self.next() {
                Some(Answer::End(end)) => return (all, Some(end)),
                Some(answer) => all.push(answer),
                None => return (all, None),
            }
        }
    }

    /// Polls until this many answers have come; fewer if the world has ended.
    fn await_answers(&mut self, count: usize) -> Vec<Answer> {
        let mut all = Vec::new();
        while all.len() < count {
            let (some, time) = self.poll(None);
            all.extend(some);
            if time.is_none() {
                break;
            }
        }
        all
    }

    /// Carries out a call on a socket; `None` when the world has ended.
    fn call(
        &mut self,
        ticket: u64,
        limit_ns: Option<u64>,
        call: SocketCall,
    ) -> Option<CallOutcome> {
        self.say(&Request::Call {
            spent_ns: 0,
            ticket,
            limit_ns,
            call,
        });
        loop {
            let (answers, time) = self.poll(None);
            for answer in answers {
                match answer {
                    Answer::Outcome(of, outcome) if of == ticket => return Some(outcome),
                    _ => {}
                }
            }
            time?;
        }
    }

    /// Starts a job of so many processes, which do this.
    fn spawn(
        &mut self,
        count: usize,
        child: impl Fn(Process, usize) + Clone + Send + 'static,
    ) -> Vec<JoinHandle<()>> {
        self.say(&Request::Spawn {
            spent_ns: 0,
            count: count as u32,
        });
        match self.next() {
            Some(Answer::End(_)) => {}
            None => return Vec::new(),
            answer => panic!("{answer:?}"),
        }
        let children = (0..count).map(|rank| {
            let (path, child) = (self.path.clone(), child.clone());
            thread::spawn(move || child(Process::connect_of("child", &path, rank, count), rank))
        });
        children.collect()
    }

    fn leave(mut self) {
        self.say(&Request::Bye);
    }
}

/// Runs a world whose ranks send messages.
fn run(
    network: &str,
    ranks: usize,
    rank: impl Fn(Process, usize) + Clone + Send + 'static,
) -> RunSummary {
    run_in((Mode::Messages, 1), network, ranks, rank)
}

/// Runs a world whose ranks do this, so many on each node.
fn run_in(
    (mode, per_node): (Mode, usize),
    network: &str,
    ranks: usize,
    rank: impl Fn(Process, usize) + Clone + Send + 'static,
) -> RunSummary {
    run_of((mode, per_node), network, (ranks, ranks), rank)
}

/// Runs a world with places for processes that the ranks start.
fn run_of(
    (mode, per_node): (Mode, usize),
    network: &str,
    (ranks, universe): (usize, usize),
    rank: impl Fn(Process, usize) + Clone + Send + 'static,
) -> RunSummary {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("world");
    let hub = Hub::listen(&path, ranks, Arc::new(AtomicBool::new(false))).expect("a socket");
    let hub = hub.with_universe(universe);
    let hub = Arc::new(hub.with_patience(Duration::from_millis(300)));
    let nodes = universe.div_ceil(per_node);
    let program = "[[program]]\nrun = \"process\"\nnodes = \"all\"\n";
    let text = format!("{network}\nnodes = {nodes}\n{program}");
    let mut scenario = WORKLOADS.parse("test", &text).expect("a scenario");
    for spec in &mut scenario.programs {
        if let Program::Workload(_, workload) = &mut spec.program {
            let hub = Some(Arc::clone(&hub));
            *workload = Arc::new(Processes::new(mode, workload.nodes(), per_node, hub));
        }
    }
    let threads: Vec<JoinHandle<()>> = (0..ranks)
        .map(|number| {
            let (path, rank) = (path.clone(), rank.clone());
            thread::spawn(move || rank(Process::connect(&path, number, ranks), number))
        })
        .collect();
    let mut simulation = Simulation::new(&scenario).expect("a simulation");
    let summary = simulation.run(&RunOptions::default(), |_| ());
    drop((simulation, scenario, hub));
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("a rank"));
    summary
}

const GM: &str = "board = \"lanai9.2-200\"\n[network]\ntopology = \"star\"";
const EMP: &str = "board = \"tigon2-88mhz\"\n[network]\ntopology = \"star\"";

/// Ranks of one node and of others exchange messages over the boards.
#[test]
fn several_ranks_of_a_node_share_its_board() {
    for per_node in [2, 3] {
        let run = || run_in((Mode::Messages, per_node), GM, 3, ring);
        let first = run();
        assert!(first.is_good(), "{:?}", first.problems);
        assert_eq!(first.trace_hash, run().trace_hash);
    }
}

/// Messages of all lengths around the ring, in their order.
fn ring(mut process: Process, rank: usize) {
    const LENGTHS: [usize; 6] = [0, 1, 300, 16_384, 16_385, 700_000];
    let bytes = |rank: usize, length: usize| -> Vec<u8> {
        (0..length).map(|at| (at * 7 + rank) as u8).collect()
    };
    let (next, before) = ((rank + 1) % 3, (rank + 2) % 3);
    for (tag, length) in (0..).zip(LENGTHS) {
        process.send(next, tag, &bytes(rank, length));
    }
    // Two of the own sends are long: their ends are told.
    let answers = process.await_answers(LENGTHS.len() + 2);
    let mut messages = answers.into_iter().filter_map(|answer| match answer {
        Answer::Message(message) => Some(message),
        Answer::Done { failed, .. } => {
            assert!(!failed);
            None
        }
        answer => panic!("{answer:?}"),
    });
    for (tag, length) in (0..).zip(LENGTHS) {
        let message = messages.next().expect("a message");
        assert_eq!((message.rank as usize, message.envelope.tag), (before, tag));
        assert!(message.bytes == bytes(before, length));
    }
    process.leave();
}

#[test]
fn messages_arrive_whole_and_in_order_in_the_same_time() {
    for network in [GM, EMP] {
        let first = run(network, 3, ring);
        assert!(first.is_good(), "{:?}", first.problems);
        let again = run(network, 3, ring);
        assert_eq!(first.trace_hash, again.trace_hash);
        assert_eq!(first.simulated, again.simulated);
    }
}

#[test]
fn polls_end_at_their_limit() {
    let summary = run(GM, 2, |mut process, rank| {
        let begin_ns = process.welcome.time_ns;
        if rank == 0 {
            let (answers, time_ns) = process.poll(Some(5000));
            assert!(answers.is_empty());
            let passed_ns = time_ns.expect("a time") - begin_ns;
            assert!((5000..6000).contains(&passed_ns), "{passed_ns}");
        }
        process.leave();
    });
    assert!(summary.is_good(), "{:?}", summary.problems);
}

/// Sends an operation; the reply: what it has read, or an error.
fn operate(process: &mut Process, rank: usize, operation: &Operation) -> Result<Vec<u8>, u64> {
    let envelope = Envelope {
        class: Class::Operation,
        tag: 77,
        ..Envelope::default()
    };
    process.say(&Request::Send {
        spent_ns: 10,
        token: 0,
        message: Message {
            rank: rank as u32,
            envelope,
            bytes: operation.bytes(),
        },
    });
    match &process.await_answers(1)[..] {
        [Answer::Message(reply)] => {
            assert_eq!(
                (reply.envelope.class, reply.envelope.tag),
                (Class::Reply, 77)
            );
            let error = reply.envelope.data;
            error.map_or_else(|| Ok(reply.bytes.clone()), Err)
        }
        answers => panic!("{answers:?}"),
    }
}

/// Rank 0 offers memory; both write it, add to it, and read it.
fn access(mut process: Process, rank: usize) {
    let memory = vec![0_u8; 100_000];
    if rank == 0 {
        process.say(&Request::Region {
            spent_ns: 0,
            key: 5,
            region: Some(Region {
                address: memory.as_ptr() as u64,
                bytes: memory.len() as u64,
            }),
        });
        process.send(1, 0, &[]);
    } else {
        process.await_answers(1);
    }
    let operation = |access, offset, bytes, operands: &[u8]| Operation {
        access,
        segments: vec![Segment {
            key: 5,
            offset,
            bytes,
        }],
        operands: operands.to_vec(),
    };
    let place = 40_000 * rank as u64;
    let bytes: Vec<u8> = (0..40_000).map(|at| (at * 3 + rank) as u8).collect();
    let write = operation(Access::Write, place, 40_000, &bytes);
    assert_eq!(operate(&mut process, 0, &write), Ok(Vec::new()));
    let read = operation(Access::Read, place, 40_000, &[]);
    assert!(operate(&mut process, 0, &read) == Ok(bytes));
    let atomic = Atomic {
        function: Function::Sum,
        number: Number::U64,
    };
    let fetch = true;
    let add = operation(
        Access::Compute { atomic, fetch },
        90_000,
        8,
        &[1, 0, 0, 0, 0, 0, 0, 0],
    );
    let mut last = 0;
    for count in 0..5 {
        let old = operate(&mut process, 0, &add).expect("an old value")[0];
        assert!(old >= last + u8::from(count > 0), "{old}");
        last = old;
    }
    let outside = operation(Access::Read, 99_999, 2, &[]);
    assert_eq!(operate(&mut process, 0, &outside), Err(13));
    // Rank 0 waits until the other one has done its part.
    if rank == 0 {
        process.await_answers(1);
        assert_eq!(memory[90_000], 10);
    } else {
        process.send(0, 0, &[]);
    }
    process.leave();
}

#[test]
fn memory_of_processes_is_accessed_without_them() {
    for network in [GM, EMP] {
        let first = run(network, 2, access);
        assert!(first.is_good(), "{:?}", first.problems);
        assert_eq!(first.simulated, run(network, 2, access).simulated);
    }
}

/// The one problem of a run.
fn problem(summary: &RunSummary) -> &str {
    assert_eq!(summary.problems.len(), 1, "{:?}", summary.problems);
    &summary.problems[0]
}

#[test]
fn a_rank_that_dies_is_named() {
    let summary = run(GM, 3, |mut process, rank| {
        if rank != 1 {
            process.await_answers(1);
        }
    });
    let text = problem(&summary);
    assert!(
        text.contains("rank 1 has ended without MPI_Finalize"),
        "{text}"
    );
}

/// A rank begins to poll while simulated time stands, and gets what is sent to it after that.
#[test]
fn a_rank_that_was_away_gets_messages_again() {
    let stage = Arc::new(AtomicU64::new(0));
    let summary = run(GM, 2, move |mut process, rank| {
        let is = |value| stage.load(Ordering::Relaxed) == value;
        if rank == 0 {
            while !is(2) {
                let (_, end) = process.poll_for(0, None);
                if end.expect("the world goes on").stalled && is(0) {
                    stage.store(1, Ordering::Relaxed);
                }
            }
            process.send(1, 7, b"late");
        } else {
            process.say(&Request::Bye);
            while !is(1) {
                thread::yield_now();
            }
            assert_eq!(process.poll_for(0, None).0, []);
            stage.store(2, Ordering::Relaxed);
            assert_eq!(process.await_answers(1).len(), 1);
        }
        process.leave();
    });
    assert!(summary.is_good(), "{:?}", summary.problems);
}

/// A rank begins to poll while simulated time stands, and gets what was sent to it before that.
#[test]
fn a_rank_that_was_away_gets_what_has_come_for_it() {
    let stage = Arc::new(AtomicU64::new(0));
    let summary = run(GM, 2, move |mut process, rank| {
        if rank == 0 {
            process.send(1, 7, b"early");
            while !process.poll_for(0, None).1.expect("an end").stalled {}
            stage.store(1, Ordering::Relaxed);
            assert_eq!(process.await_answers(1).len(), 1);
        } else {
            process.say(&Request::Bye);
            while stage.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            assert_eq!(process.await_answers(1).len(), 1);
            process.send(0, 8, b"thanks");
        }
        process.leave();
    });
    assert!(summary.is_good(), "{:?}", summary.problems);
}

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    let summary = run(GM, 2, |mut process, _| {
        process.await_answers(1);
    });
    let text = problem(&summary);
    assert!(
        text.contains("rank 1 polls with 1 posted receive and 0 unfinished sends"),
        "{text}"
    );
}

/// The rank that ends all is named, whichever is found to have ended first, and once.
#[test]
fn a_rank_that_aborts_is_named() {
    for aborts in 0..2 {
        let said = Arc::new(Barrier::new(2));
        let summary = run(GM, 2, move |mut process, rank| {
            if rank == aborts {
                process.say(&Request::Abort { code: -7 });
            }
            // A starter ends the others after that.
            said.wait();
        });
        let text = problem(&summary);
        let said = format!("rank {aborts} has called MPI_Abort with code -7");
        assert!(text.contains(&said), "{text}");
        assert_eq!(summary.problems.len(), 1, "{:?}", summary.problems);
    }
}

/// A rank in `MPI_Finalize` waits for the others only.
#[test]
fn a_rank_in_finalize_is_named() {
    let summary = run(GM, 2, |mut process, rank| match rank {
        0 => {
            process.say(&Request::Finalize { spent_ns: 0 });
            while process.poll_for(0, None).1.is_some() {}
        }
        _ => {
            process.await_answers(1);
        }
    });
    let text = problem(&summary);
    assert!(
        text.contains("rank 0 has called MPI_Finalize; rank 1"),
        "{text}"
    );
}

#[test]
fn what_is_no_request_ends_the_run() {
    for bytes in [&[7_u8; 200][..], &[0; 80], &[255; 80]] {
        let bytes = bytes.to_vec();
        let summary = run(GM, 2, move |mut process, rank| {
            if rank == 0 {
                let _ = process.stream.write_all(&bytes);
            }
            process.await_answers(1);
        });
        let text = problem(&summary);
        assert!(text.contains("rank 0: a message of"), "{text}");
    }
}

#[test]
fn sends_to_no_rank_end_the_run() {
    let summary = run(GM, 2, |mut process, rank| {
        if rank == 0 {
            process.send(7, 0, &[]);
        }
        process.await_answers(1);
    });
    let text = problem(&summary);
    assert!(text.contains("rank 0 sends to rank 7"), "{text}");
}
