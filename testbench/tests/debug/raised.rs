//! Bits of event registers that come up: told once each, at their time.

use std::sync::Arc;

use defs::tigon2::regs::{EVENT_A, EVENT_B};
use emulator::debug::Search;
use emulator::observe::event::{Details, Place, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::tigon2::map::register_address;
use testbench::debug::Session;

use super::{PAIR, session};

/// The event registers of all CPUs.
fn registers(session: &Session) -> Vec<[u32; 2]> {
    let nodes = session.history.world().nodes.iter();
    nodes
        .map(|node| {
            [EVENT_A, EVENT_B].map(|offset| {
                let address = register_address(offset);
                node.board.peek(0, address, session.now()).unwrap()
            })
        })
        .collect()
}

#[test]
fn each_rise_is_told_at_its_time() {
    let mut session = session(PAIR);
    session.go_to(SimTime::from_us(20_400)).unwrap();
    let search = Search {
        details: Details::EVENTS,
        is: Arc::new(|event| matches!(event.kind, TraceKind::EventRaised { .. })),
    };
    let raised = session.history.events_before(400, &search).unwrap();
    let raised: Vec<_> = raised
        .into_iter()
        .filter(|one| one.time > SimTime::from_us(20_000))
        .collect();
    assert!(raised.len() > 60, "{}", raised.len());
    for who in [Initiator::Host, Initiator::MacReceive, Initiator::CpuA] {
        assert!(raised.iter().any(|one| one.initiator == who), "{who}");
    }
    session.go_to(SimTime::from_us(20_000)).unwrap();
    let mut known = registers(&session);
    let mut rest = &raised[..];
    while let Some(first) = rest.first() {
        let (now, later): (Vec<_>, Vec<_>) = rest.iter().partition(|one| one.time == first.time);
        rest = &rest[now.len()..];
        assert_eq!(rest.len(), later.len());
        // The timer's bit is up at that very time.
        session.go_to(first.time - SimTime::from_ps(1)).unwrap();
        let before = registers(&session);
        session.go_to(first.time + SimTime::from_ps(1)).unwrap();
        let after = registers(&session);
        let mut told = vec![[0; 2]; 2];
        for one in now {
            let (TraceKind::EventRaised { cpu, bits }, Place::Node(node)) = (&one.kind, one.place)
            else {
                panic!("{one}");
            };
            let told = &mut told[usize::from(node)][*cpu as usize];
            assert_eq!(*told & bits, 0, "told twice: {one}");
            *told |= bits;
        }
        for (node, cpu) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let [known, before, after, told] =
                [&known, &before, &after, &told].map(|all| all[node][cpu]);
            assert_eq!(
                before & !known,
                0,
                "node {node}, CPU {cpu}: came up before {}",
                first.time
            );
            assert_eq!(
                after & !before,
                told,
                "node {node}, CPU {cpu} at {}",
                first.time
            );
        }
        known = after;
    }
}
