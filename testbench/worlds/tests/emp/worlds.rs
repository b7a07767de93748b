//! Worlds of many nodes: independence of threads, and memory use.

use lanigon_worlds::boards::KB;
use lanigon_worlds::profile::built_in;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use emulator::observe::text::TextTrace;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use emulator::tigon2::board::Tigon2;
use host_lib::emp::{Source, Tag};
use host_lib::window::System;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::nodes::{EMP_SRAM_BYTES, START};

use super::support::{IMAGE, Streams, buffer, message, text};

/// Execution of a world, which must not affect its results.
#[derive(Debug, Clone, Copy)]
struct Manner {
    threads: usize,
    skip_idle: bool,
    written: bool,
    kept: bool,
}

const PLAIN: Manner = Manner {
    threads: 1,
    skip_idle: true,
    written: false,
    kept: false,
};

/// All observable results of a run.
#[derive(Debug, PartialEq)]
struct Fingerprint {
    end: RunEnd,
    now: SimTime,
    nodes: Vec<NodePrint>,
}

/// Observable state of a node.
#[derive(Debug, PartialEq)]
struct NodePrint {
    trace_hash: u64,
    events: u64,
    /// Instructions and clock in ticks of each core.
    cores: Vec<(u64, u64)>,
}

impl NodePrint {
    fn of(node: &Node) -> Self {
        let cores = node.board::<Tigon2>().cores.iter();
        let cores = cores.map(|unit| (unit.core.instructions(), unit.core.clock.now));
        Self {
            trace_hash: node.trace.hash(),
            events: node.trace.count(),
            cores: cores.collect(),
        }
    }
}

/// A run, its log lines, and lines of its kept events.
struct Seen {
    fingerprint: Fingerprint,
    written: String,
    kept: String,
}

/// A writer whose text can be read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pairs(count: u16, sram: u32) -> EmpPairs {
    let profile = built_in("tigon2-88mhz").unwrap();
    EmpPairs::new(count, sram, &IMAGE, &profile, &[]).unwrap()
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// Four pairs with different streams, and an idle one.
fn run(manner: Manner, max_time: Option<SimTime>) -> Seen {
    let mut pairs = pairs(5, EMP_SRAM_BYTES);
    for node in &mut pairs.world.nodes {
        node.board_mut::<Tigon2>().skip_idle = manner.skip_idle;
        node.trace.keep(manner.kept);
    }
    let page = Page::default();
    if manner.written {
        let text = TextTrace::new(Box::new(page.clone()));
        pairs.world.observe(Box::new(text));
    }
    for pair in 0..4 {
        let streams = Streams {
            // Hosts compute while their boards must answer.
            late_us: 30 * pair,
            ..Streams::new(pair, 6, 20_000)
        };
        streams.spawn(&mut pairs, 2 * pair as usize);
    }
    for node in [8, 9] {
        pairs.spawn(node, "start", |_| async { Ok(()) });
    }
    let limits = RunLimits {
        threads: threads(manner.threads),
        max_time,
        ..RunLimits::default()
    };
    let end = pairs.world.run(&limits);
    assert!(pairs.world.finish_observing().is_empty());
    let now = pairs.world.now();
    let nodes = &mut pairs.world.nodes;
    assert!(nodes.iter().all(|node| node.now() == now), "{manner:?}");
    let mut kept: Vec<_> = nodes
        .iter_mut()
        .flat_map(|node| node.trace.take())
        .collect();
    kept.sort_by_key(|event| (event.time, event.place));
    let kept = kept.iter().map(|event| format!("{event}\n")).collect();
    let nodes = nodes.iter().map(NodePrint::of).collect();
    let written = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    Seen {
        fingerprint: Fingerprint { end, now, nodes },
        written,
        kept,
    }
}

/// Compares a manner with the plain one, up to the end and up to a limit within a slice.
fn check(manner: Manner) {
    for max_time in [None, Some(SimTime::from_ns(20_777_777))] {
        let (plain, other) = (run(PLAIN, max_time), run(manner, max_time));
        assert_eq!(plain.fingerprint, other.fingerprint, "{manner:?}");
        let ended = matches!(plain.fingerprint.end, RunEnd::Completed);
        assert_eq!(ended, max_time.is_none(), "{:?}", plain.fingerprint.end);
    }
}

#[test]
fn two_threads() {
    check(Manner {
        threads: 2,
        ..PLAIN
    });
}

#[test]
fn three_threads() {
    check(Manner {
        threads: 3,
        ..PLAIN
    });
}

#[test]
fn stepped_on_two_threads() {
    check(Manner {
        threads: 2,
        skip_idle: false,
        ..PLAIN
    });
}

#[test]
fn traced_on_three_threads() {
    check(Manner {
        threads: 3,
        written: true,
        kept: true,
        ..PLAIN
    });
}

#[test]
fn the_written_trace_is_the_kept_one_in_order() {
    let seen = [1, 2].map(|threads| {
        let manner = Manner {
            threads,
            written: true,
            kept: true,
            ..PLAIN
        };
        run(manner, None)
    });
    assert!(seen[0].written.lines().count() > 1000);
    assert!(seen[0].written == seen[0].kept, "written and kept differ");
    assert!(seen[0].written == seen[1].written, "threads matter");
}

/// Discards everything.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_reported_and_harms_nobody() {
    let mut pairs = pairs(1, EMP_SRAM_BYTES);
    Streams::new(1, 4, 20_000).spawn(&mut pairs, 0);
    pairs
        .world
        .observe(Box::new(TextTrace::new(Box::new(Full))));
    assert_eq!(pairs.world.run(&RunLimits::default()), RunEnd::Completed);
    let errors = pairs.world.finish_observing();
    let kinds: Vec<_> = errors.iter().map(io::Error::kind).collect();
    assert_eq!(kinds, [io::ErrorKind::StorageFull]);
}

#[test]
fn an_interrupt_is_noticed_within_a_slice() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut pairs = pairs(1, EMP_SRAM_BYTES);
    let wish = Arc::clone(&flag);
    pairs.spawn(0, "impatient", move |mut emp| async move {
        emp.system_mut().compute(30_000).await;
        wish.store(true, Ordering::Relaxed);
        emp.system_mut().compute(1_000_000_000).await;
        Ok(())
    });
    // A busy peer keeps the nodes' times close together.
    pairs.spawn(1, "busy", |mut emp| async move {
        while SimTime::from_ps(emp.system().now_ps()) < SimTime::MAX {
            emp.counters().await;
        }
        Ok(())
    });
    let limits = RunLimits {
        interrupt: Some(flag),
        ..RunLimits::default()
    };
    assert_eq!(pairs.world.run(&limits), RunEnd::Interrupted);
    let now = pairs.world.now();
    assert!(now > START && now < START + SimTime::from_us(100), "{now}");
}

/// Time of a message's acknowledgement by a board whose host polls, or computes.
fn acknowledged(host_polls: bool) -> SimTime {
    let mut pairs = pairs(1, EMP_SRAM_BYTES);
    let sender = pairs.spawn(0, "sender", |mut emp| async move {
        let out = message(&mut emp, 0, 0, 4);
        emp.system_mut().compute(10_000).await;
        let handle = emp.post_transmit(1, 1, out).await.map_err(text)?;
        emp.wait(handle).await.map_err(text)?;
        Ok(SimTime::from_ps(emp.system().now_ps()))
    });
    pairs.spawn(1, "receiver", move |mut emp| async move {
        let space = buffer(&mut emp, 4);
        let receive = emp.post_receive(Source::Node(0), Tag::Value(1), space);
        let handle = receive.await.map_err(text)?;
        if !host_polls {
            emp.system_mut().compute(500_000).await;
        }
        emp.wait(handle).await.map_err(text)?;
        Ok(())
    });
    assert_eq!(pairs.world.run(&RunLimits::default()), RunEnd::Completed);
    sender.take().unwrap().unwrap()
}

#[test]
fn an_answer_comes_in_time_while_the_host_computes() {
    let (polling, computing) = (acknowledged(true), acknowledged(false));
    // Polls occupy the buses at times; nothing else may differ.
    assert!(
        computing <= polling && polling < computing + SimTime::from_us(2),
        "{polling} {computing}"
    );
}

#[test]
fn time_passes_without_programs() {
    let mut pairs = pairs(1, EMP_SRAM_BYTES);
    let end = SimTime::from_us(123_456);
    let limits = RunLimits {
        max_time: Some(end),
        ..RunLimits::default()
    };
    assert!(pairs.world.pass_time(&limits));
    assert!(pairs.world.nodes.iter().all(|node| node.now() == end));
}

#[test]
fn idle_boards_hold_what_they_use() {
    let mut pairs = pairs(32, 1024 * KB);
    for node in 0..64 {
        pairs.spawn(node, "start", |_| async { Ok(()) });
    }
    assert_eq!(pairs.world.run(&RunLimits::default()), RunEnd::Completed);
    let code: u32 = IMAGE
        .load_parts()
        .map(|(_, bytes)| bytes.len() as u32)
        .sum();
    for node in &pairs.world.nodes {
        assert!(node.pending_events() < 8, "{}", node.pending_events());
        let pages = node.board::<Tigon2>().fabric.sram.decoded_pages();
        assert!(pages <= 2 + code as usize / 4096, "{pages} decoded pages");
    }
}
