//! Nodes that run in rounds: results depend on the world only.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use cases::cases;
use emulator::observe::event::TraceEvent;
use emulator::observe::text::TextTrace;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::Forwarding::{self, CutThrough, StoreAndForward};
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::fault::{FaultRates, RandomFaults};
use emulator::wire::port::Port;
use proptest::prelude::*;

use crate::station::{
    GIGABIT, Manner, Received, Station, address, arrivals, frame, run_us, send_at, stations, switch,
};

const STATIONS: u8 = 24;

/// Three switches in a chain with eight stations each, which forward frames to each other; faults on every
/// station's line, and a cut.
pub fn chatting(forwarding: Forwarding) -> World {
    let mut world = stations(STATIONS.into());
    let rates = FaultRates {
        loss: 0.005,
        duplication: 0.02,
        delay: 0.05,
        longest_delay: SimTime::from_us(5),
        corruption: 0.005,
    };
    for index in 0..3 {
        let config = SwitchConfig {
            buffer_bytes: 2_000,
            ..switch(forwarding, 10)
        };
        world
            .add_switch(&config)
            .expect("a world that can be built");
        if index > 0 {
            world
                .connect((index - 1, 9), (index, 8), GIGABIT)
                .expect("a world that can be built");
        }
    }
    for node in 0..usize::from(STATIONS) {
        let (index, port) = (node / 8, node % 8);
        world
            .connect(node, (index, port), GIGABIT)
            .expect("a world that can be built");
        let faults = RandomFaults::new(rates, 3, node as u64).expect("a world that can be built");
        world
            .add_fault(node, Box::new(faults))
            .expect("a world that can be built");
    }
    for node in 0..STATIONS {
        world
            .route_to(node.into(), address(node))
            .expect("a world that can be built");
        let stations = STATIONS;
        let manner = Manner::Chat {
            stations,
            times: 200,
        };
        world.nodes[usize::from(node)].board_mut::<Station>().manner = manner;
        let to = address((node + 1) % STATIONS);
        let length = 64 + 50 * usize::from(node);
        let data = frame(to, node, node * 7 + 1, length);
        send_at(&mut world, node.into(), 100 * u64::from(node), data);
    }
    let [from, until] = [300, 350].map(SimTime::from_us);
    world
        .unplug(5, from, Some(until))
        .expect("a world that can be built");
    world
}

/// Runs the world with this number of threads, in parts that end at these times.
fn outcome(forwarding: Forwarding, threads: usize, parts_us: &[u64]) -> (u64, Vec<Vec<Received>>) {
    let mut world = chatting(forwarding);
    for &us in parts_us {
        run_us(&mut world, us, threads);
    }
    let received = world
        .nodes
        .iter()
        .map(|node| node.board::<Station>().received.clone());
    (world.trace_hash(), received.collect())
}

#[test]
fn threads_and_parts_of_a_run_change_nothing() {
    for forwarding in [StoreAndForward, CutThrough] {
        let expected = outcome(forwarding, 1, &[3000]);
        let frames: usize = expected.1.iter().map(Vec::len).sum();
        assert!(frames > 500, "{frames}");
        for (threads, parts) in [
            (1, &[3000][..]),
            (2, &[3000][..]),
            (3, &[3000][..]),
            (1, &[1, 301, 333, 1777, 3000][..]),
            (2, &[299, 302, 3000][..]),
        ] {
            let same = outcome(forwarding, threads, parts) == expected;
            assert!(same, "{forwarding:?} {threads} {parts:?}");
        }
    }
}

/// Memory to which a trace is written.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut page = self.0.lock().expect("nobody panicked");
        page.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_written_trace_has_everything_in_its_place() {
    let mut world = chatting(CutThrough);
    let page = Page::default();
    world.observe(Box::new(TextTrace::new(Box::new(page.clone()))));
    world.traces().for_each(|trace| trace.keep(true));
    for us in [250, 700, 1500] {
        run_us(&mut world, us, 2);
    }
    assert!(world.finish_observing().is_empty());
    let mut kept: Vec<_> = world.traces().flat_map(|trace| trace.take()).collect();
    kept.sort_by_key(|event| (event.time, event.place));
    let wire = |event: &&TraceEvent| event.initiator == Initiator::Wire;
    assert!(kept.iter().filter(wire).count() > 100);
    let expected: String = kept.iter().map(|event| format!("{event}\n")).collect();
    let written = page.0.lock().unwrap().clone();
    assert!(String::from_utf8(written).unwrap() == expected);
}

/// A frame that a station of a chain sends to the last one: source, time, length.
#[derive(Debug, Clone)]
struct Sent {
    from: usize,
    time_ns: u64,
    length: u64,
}

const CHAIN: usize = 4;
const LATENCY_NS: u64 = 500;

fn link() -> impl Strategy<Value = Link> {
    (prop::sample::select(vec![1u64, 3, 8, 80]), 0..3000u64).prop_map(|(byte, length)| Link {
        byte_time: SimTime::from_ns(byte),
        propagation: SimTime::from_ns(length),
    })
}

fn sent() -> impl Strategy<Value = Sent> {
    (0..CHAIN, 0..40_000u64, 64..600u64).prop_map(|(from, time_ns, length)| Sent {
        from,
        time_ns,
        length,
    })
}

/// Start times of frames on a link, in nanoseconds: one after the other.
fn follow(link: &Link, wishes: &mut [(u64, usize)], lengths: &[u64]) {
    wishes.sort_by_key(|&(time, _)| time);
    let byte = link.byte_time.ps() / 1000;
    let mut free = 0;
    for (time, which) in wishes {
        *time = (*time).max(free);
        free = *time + byte * (8 + lengths[*which] + 12);
    }
}

/// Arrivals at the end of the chain, calculated switch by switch.
fn calculated(links: &[Link], chain: &[Link], sent: &[Sent]) -> Vec<(u64, u8)> {
    let lengths: Vec<u64> = sent.iter().map(|sent| sent.length).collect();
    let whole = |link: &Link, (first, which): (u64, usize)| {
        let byte = link.byte_time.ps() / 1000;
        let latency = LATENCY_NS + link.propagation.ps() / 1000;
        (first + byte * (8 + lengths[which]) + latency, which)
    };
    let mut passing: Vec<(u64, usize)> = Vec::new();
    for station in 0..CHAIN {
        let own = sent.iter().enumerate().filter(|(_, s)| s.from == station);
        let mut own: Vec<_> = own.map(|(which, s)| (s.time_ns, which)).collect();
        follow(&links[station], &mut own, &lengths);
        // At equal times the station's own line, which was connected first, has priority.
        let mut all: Vec<_> = own
            .into_iter()
            .map(|frame| whole(&links[station], frame))
            .collect();
        all.append(&mut passing);
        passing = all;
        let out = chain[station];
        follow(&out, &mut passing, &lengths);
        if station + 1 < CHAIN {
            passing = passing
                .into_iter()
                .map(|frame| whole(&out, frame))
                .collect();
        }
    }
    let propagation = chain[CHAIN - 1].propagation.ps() / 1000;
    let arrive = passing.into_iter();
    arrive
        .map(|(first, which)| (first + propagation, which as u8))
        .collect()
}

proptest! {
    #![proptest_config(cases(60))]

    /// Stations at each switch of a chain send to one at its end.
    #[test]
    fn a_chain_of_switches_does_what_can_be_calculated(
        links in prop::collection::vec(link(), CHAIN),
        chain in prop::collection::vec(link(), CHAIN),
        sent in prop::collection::vec(sent(), 1..40),
    ) {
        let mut world = stations(CHAIN + 1);
        for (index, link) in links.iter().enumerate() {
            world.add_switch(&switch(StoreAndForward, 3)).unwrap();
            world.connect(index, (index, 0), *link).unwrap();
        }
        for (index, link) in chain.iter().enumerate() {
            let next = match index + 1 {
                CHAIN => Port::Node(CHAIN),
                next => Port::from((next, 1)),
            };
            world.connect((index, 2), next, *link).unwrap();
        }
        let last = address(CHAIN as u8);
        world.route_to(CHAIN, last).unwrap();
        let mut sent = sent;
        // A station's own order is that of its times.
        sent.sort_by_key(|sent| sent.time_ns);
        for (which, frames) in sent.iter().enumerate() {
            let data = frame(last, 0, which as u8, frames.length as usize);
            send_at(&mut world, frames.from, frames.time_ns, data);
        }
        run_us(&mut world, 3_000, 1);
        prop_assert_eq!(arrivals(&world, CHAIN), calculated(&links, &chain, &sent));
    }
}
