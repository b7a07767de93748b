//! Runs are deterministic: repeated, observed or not, with idle loops stepped or skipped.

use emulator::tigon2::board::Tigon2;
use lanigon_worlds::profile::built_in;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use emulator::observe::event::{self, TraceEvent};
use emulator::observe::stream::Observer;
use emulator::observe::tracer::Sink;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use lanigon_worlds::calibrate;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::ResultSlot;

use super::support::{IMAGE, Streams, ping_pong, run_well};

/// A profile with its stretch factors.
struct Costs {
    profile: Profile,
    factors: Vec<(String, f64)>,
}

fn costs(name: &str) -> Costs {
    let profile = built_in(name).unwrap();
    let factors = calibrate::factors(&IMAGE, &profile).unwrap();
    Costs { profile, factors }
}

static COSTS: LazyLock<[Costs; 2]> = LazyLock::new(|| ["tigon2-88mhz", "emp-thesis"].map(costs));

#[derive(Debug, Clone, Copy)]
enum Work {
    /// Rounds and message length.
    PingPong(u32, u32),
    /// Both directions at once.
    Streams(Streams),
}

/// Execution and observation of the run, which must not affect it.
#[derive(Debug, Clone, Copy)]
struct Manner {
    skip_idle: bool,
    keep_trace: bool,
    sink: bool,
    /// An observer with all details is added.
    details: bool,
}

const PLAIN: Manner = Manner {
    skip_idle: true,
    keep_trace: false,
    sink: false,
    details: false,
};

/// All observable results of a run.
#[derive(Debug, PartialEq)]
struct Fingerprint {
    trace_hash: u64,
    events: Vec<u64>,
    end: SimTime,
    /// Instructions and clock in ticks of each core.
    cores: Vec<(u64, u64)>,
}

/// Counts events.
struct Counting(ResultSlot<u64>);

impl Sink for Counting {
    fn event(&mut self, _: &TraceEvent) {
        self.0.with(|count| *count.get_or_insert(0) += 1);
    }
}

/// Requests all details, and counts them by kind.
struct Details(ResultSlot<BTreeMap<&'static str, u64>>);

impl Observer for Details {
    fn details(&self) -> event::Details {
        event::Details::all()
    }

    fn event(&mut self, event: &TraceEvent) {
        self.0.with(|counts| {
            let counts = counts.get_or_insert_default();
            *counts.entry(event.kind.name()).or_default() += 1;
        });
    }
}

/// Expected details of a ping-pong.
fn check_details(counts: &BTreeMap<&str, u64>) {
    let count = |name| counts.get(name).copied().unwrap_or(0);
    for name in ["register-read", "register-write", "ring-index", "host-call"] {
        assert!(count(name) > 0, "{name}: {counts:?}");
    }
    assert_eq!(count("host-call"), count("host-return"));
    // A handler may still run at the end, on each node.
    let open = count("handler-enter") - count("handler-exit");
    assert!(count("handler-exit") > 0 && open <= 2, "{counts:?}");
}

fn run(costs: &Costs, work: Work, manner: Manner) -> Fingerprint {
    let mut pair = EmpPairs::one(&IMAGE, &costs.profile, &costs.factors).unwrap();
    let seen = ResultSlot::default();
    for node in &mut pair.world.nodes {
        node.board_mut::<Tigon2>().skip_idle = manner.skip_idle;
        node.trace.keep(manner.keep_trace);
        if manner.sink {
            node.trace.add_sink(Box::new(Counting(seen.clone())));
        }
    }
    let details = ResultSlot::default();
    if manner.details {
        pair.world.observe(Box::new(Details(details.clone())));
    }
    match work {
        Work::PingPong(rounds, length) => {
            run_well(
                &mut pair,
                move |emp| ping_pong(emp, 0, rounds, length),
                move |emp| ping_pong(emp, 1, rounds, length),
            );
        }
        Work::Streams(streams) => {
            streams.run(&mut pair);
        }
    }
    assert!(pair.world.finish_observing().is_empty());
    assert_eq!(details.with(|counts| counts.is_some()), manner.details);
    details.take().iter().for_each(check_details);
    let nodes = &mut pair.world.nodes;
    let events: Vec<_> = nodes.iter().map(|node| node.trace.count()).collect();
    let total = events.iter().sum();
    let kept: usize = nodes.iter_mut().map(|node| node.trace.take().len()).sum();
    assert_eq!(kept as u64, if manner.keep_trace { total } else { 0 });
    assert_eq!(seen.take(), manner.sink.then_some(total));
    let cores = nodes.iter().flat_map(|node| &node.board::<Tigon2>().cores);
    let cores = cores.map(|unit| (unit.core.instructions(), unit.core.clock.now));
    Fingerprint {
        cores: cores.collect(),
        events,
        trace_hash: pair.world.trace_hash(),
        end: pair.world.now(),
    }
}

const PING_PONG: Work = Work::PingPong(8, 4000);

fn streams(seed: u64) -> Work {
    Work::Streams(Streams::new(seed, 12, 40_000))
}

/// Compares a manner with the plain one, for each load and each profile.
fn check(manner: Manner) {
    for costs in COSTS.iter() {
        for work in [PING_PONG, streams(7)] {
            assert_eq!(
                run(costs, work, PLAIN),
                run(costs, work, manner),
                "{} {work:?}",
                costs.profile.name
            );
        }
    }
}

#[test]
fn repeated() {
    check(PLAIN);
}

#[test]
fn idle_loops_stepped_or_skipped() {
    check(Manner {
        skip_idle: false,
        ..PLAIN
    });
}

#[test]
fn trace_kept_or_not() {
    check(Manner {
        keep_trace: true,
        ..PLAIN
    });
}

#[test]
fn trace_watched_or_not() {
    check(Manner {
        sink: true,
        ..PLAIN
    });
}

#[test]
fn details_recorded_or_not() {
    check(Manner {
        details: true,
        ..PLAIN
    });
}

#[test]
fn another_seed_is_another_run() {
    for costs in COSTS.iter() {
        let hash = |seed| run(costs, streams(seed), PLAIN).trace_hash;
        assert_ne!(hash(7), hash(8), "{}", costs.profile.name);
    }
    let ends = COSTS
        .each_ref()
        .map(|costs| run(costs, PING_PONG, PLAIN).end);
    assert!(
        ends[0] < ends[1],
        "the thesis's stages are longer: {ends:?}"
    );
}
