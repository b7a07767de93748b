//! Bits of event registers: each change is recorded once, at its time.

use emulator::board::CpuId;
use std::sync::Arc;

use defs::tigon2::regs::{EVENT_A, EVENT_B};
use emulator::debug::Search;
use emulator::observe::event::{Details, Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::tigon2::map::register_address;
use lanigon_debugger::debug::Session;

use super::{PAIR, session};

/// Event registers of all CPUs.
fn registers(session: &Session) -> Vec<[u32; 2]> {
    let nodes = session.history.world().nodes.iter();
    nodes
        .map(|node| {
            [EVENT_A, EVENT_B].map(|offset| {
                let address = register_address(offset);
                node.inspect()
                    .peek(CpuId::default(), address, session.now())
                    .unwrap()
            })
        })
        .collect()
}

/// Bits set on any node in the last `most` events before the current time, after `from`.
fn raised(session: &mut Session, most: usize, from: SimTime) -> Vec<TraceEvent> {
    let search = Search {
        details: Details::EVENTS,
        is: Arc::new(|event| matches!(event.kind, TraceKind::EventRaised { .. })),
    };
    let raised = session.history.events_before(most, &search).unwrap();
    raised.into_iter().filter(|one| one.time > from).collect()
}

/// The bits in these events, by node and CPU; no bit twice.
fn told(raised: &[&TraceEvent], nodes: usize) -> Vec<[u32; 2]> {
    let mut told = vec![[0; 2]; nodes];
    for one in raised {
        let (TraceKind::EventRaised { cpu, bits }, Place::Node(node)) = (&one.kind, one.place)
        else {
            panic!("{one}");
        };
        let told = &mut told[usize::from(node)][*cpu as usize];
        assert_eq!(*told & bits, 0, "told twice: {one}");
        *told |= bits;
    }
    told
}

/// The registers just before and just after a time. (The timer's bit is set exactly at its time.)
fn around(session: &mut Session, time: SimTime) -> [Vec<[u32; 2]>; 2] {
    let instant = SimTime::from_ps(1);
    [time - instant, time + instant].map(|time| {
        session.go_to(time).unwrap();
        registers(session)
    })
}

#[test]
fn each_rise_is_told_at_its_time() {
    let mut session = session(PAIR);
    let start = SimTime::from_us(20_000);
    session.go_to(SimTime::from_us(20_400)).unwrap();
    let raised = raised(&mut session, 400, start);
    assert!(raised.len() > 60, "{}", raised.len());
    for who in [Initiator::Host, Initiator::Receiver, Initiator::Cpu(0)] {
        assert!(raised.iter().any(|one| one.initiator == who), "{who:?}");
    }
    session.go_to(start).unwrap();
    let mut known = registers(&session);
    for now in raised.chunk_by(|a, b| a.time == b.time) {
        let time = now[0].time;
        let told = told(&now.iter().collect::<Vec<_>>(), 2);
        let [before, after] = around(&mut session, time);
        for (node, cpu) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let [known, before, after, told] =
                [&known, &before, &after, &told].map(|all| all[node][cpu]);
            let what = format!("node {node}, CPU {cpu}");
            assert_eq!(before & !known, 0, "{what}: came up before {time}");
            assert_eq!(after & !before, told, "{what} at {time}");
        }
        known = after;
    }
}

#[test]
fn what_a_reset_leaves_did_not_come_up() {
    let text = "seed = 3\n[emp]\ntimeout_us = 1000\nretry_limit = 4\n[network]\ntopology = \"star\"\nnodes = 3
        [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 10\nbytes = [64, 1000]
        [[fault]]\ndo = \"reset\"\nnode = 2\nat_us = 300\npause_us = 200\n";
    let mut session = session(text);
    let reset = SimTime::from_us(20_300);
    session.go_to(SimTime::from_us(20_600)).unwrap();
    let hash = session.history.world().trace_hash();
    let raised = raised(&mut session, 2000, SimTime::from_us(20_250));
    assert_eq!(session.history.world().trace_hash(), hash);
    let of_two = |one: &&TraceEvent| one.place == Place::Node(2);
    assert!(raised.iter().filter(of_two).any(|one| one.time < reset));
    for now in raised.chunk_by(|a, b| a.time == b.time).take(60) {
        let told = told(&now.iter().collect::<Vec<_>>(), 3);
        let [before, after] = around(&mut session, now[0].time);
        for (node, told) in told.iter().enumerate() {
            for cpu in [0, 1] {
                let came_up = after[node][cpu] & !before[node][cpu];
                assert_eq!(came_up, told[cpu], "node {node}, {}", now[0]);
            }
        }
    }
}
