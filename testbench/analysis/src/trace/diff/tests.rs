//! Each class of difference, in small traces.

use emulator::observe::event::TraceKind;
use emulator::wire::fault::FaultKind;

use super::*;
use crate::trace::testing::{event, probe};

/// Two nodes: one sends frames, the other matches them.
fn runs() -> [Vec<TraceEvent>; 2] {
    let mut events = Vec::new();
    for number in 0..6 {
        let ns = u64::from(number) * 1000;
        events.push(event(
            ns,
            0,
            TraceKind::StageEnter {
                stage: "send frame".into(),
            },
        ));
        events.push(probe(ns + 100, 0, "frame sent", &[1, 7, number]));
        events.push(event(
            ns + 200,
            0,
            TraceKind::StageExit {
                stage: "send frame".into(),
            },
        ));
        events.push(probe(ns + 500, 1, "frame matched", &[0, 7, number]));
    }
    [events.clone(), events]
}

fn compare(mut runs: [Vec<TraceEvent>; 2]) -> Difference {
    let header = Header::default();
    let mut comparison = Comparison::new([&header, &header], 2);
    for (run, events) in runs.iter_mut().enumerate() {
        events.sort_by_key(|event| (event.time, event.place));
        for event in events.drain(..) {
            comparison.push(run, event);
        }
    }
    comparison.finish()
}

fn ns(event: &mut TraceEvent, change: impl Fn(u64) -> u64) {
    event.time = SimTime::from_ns(change(event.time.ps() / 1000));
}

#[test]
fn equal_runs() {
    let difference = compare(runs());
    assert!(difference.is_none());
    assert_eq!(difference.text(), "equal     24 events\n");
}

#[test]
fn times_alone() {
    let mut pair = runs();
    // From the third frame on, everything is 50 ns later.
    pair[1]
        .iter_mut()
        .filter(|event| event.time >= SimTime::from_ns(2100))
        .for_each(|event| ns(event, |ns| ns + 50));
    insta::assert_snapshot!(compare(pair).text(), @r#"
    first     n0 at 2.100000 us: only times, 0.050000 us later in B
              in stage "send frame", message 0:7
      both          1.200000 n0 cpu_a     ] send frame
      both          2.000000 n0 cpu_a     [ send frame
      A             2.100000 n0 cpu_a     frame sent 0x1 0x7 0x2
      B             2.150000 n0 cpu_a     frame sent 0x1 0x7 0x2
    why       the same code takes another time: other code, stalls or a wait before it
    then      n1 at 2.500000 us: only times, 0.050000 us later in B

    after it                 equal   shifted    values     order    only A    only B
    probe                        0         8         0         0         0         0
    stage-enter                  0         3         0         0         0         0
    stage-exit                   0         4         0         0         0         0
    "#);
}

#[test]
fn order_of_events_on_different_nodes() {
    let mut pair = runs();
    // Node 1 matches the second frame only after the third one begins.
    ns(&mut pair[1][7], |ns| ns + 600);
    insta::assert_snapshot!(compare(pair).text(), @r#"
    first     n1 at 1.500000 us: only times, 0.600000 us later in B
              in message 0:7
      both          0.500000 n1 cpu_a     frame matched 0x0 0x7 0x0
      A             1.500000 n1 cpu_a     frame matched 0x0 0x7 0x1
      B             2.100000 n1 cpu_a     frame matched 0x0 0x7 0x1
    why       the same code takes another time: other code, stalls or a wait before it
    order     of two events on different places, since their times are shifted:
      first in A           1.500000 n1 cpu_a     frame matched 0x0 0x7 0x1
      first in B           2.000000 n0 cpu_a     [ send frame

    after it                 equal   shifted    values     order    only A    only B
    probe                        4         1         0         0         0         0
    "#);
}

#[test]
fn order_of_events_on_one_node() {
    let mut pair = runs();
    let (a, b) = (pair[1][8].time, pair[1][9].time);
    (pair[1][8].time, pair[1][9].time) = (b, a);
    let difference = compare(pair);
    assert_eq!(difference.places.len(), 1);
    assert_eq!(difference.places[0].first.class, DifferenceClass::Swapped);
}

#[test]
fn a_missing_event() {
    let mut pair = runs();
    pair[1].remove(9);
    insta::assert_snapshot!(compare(pair).text(), @r#"
    first     n0 at 2.100000 us: an event of A is missing in B
              in stage "send frame", message 0:7
      both          1.200000 n0 cpu_a     ] send frame
      both          2.000000 n0 cpu_a     [ send frame
      A             2.100000 n0 cpu_a     frame sent 0x1 0x7 0x2
    why       the firmware takes another way

    after it                 equal   shifted    values     order    only A    only B
    probe                        3         0         0         0         1         0
    stage-enter                  3         0         0         0         0         0
    stage-exit                   4         0         0         0         0         0
    "#);
    let mut pair = runs();
    pair[0].truncate(20);
    let difference = compare(pair);
    assert_eq!(difference.places[0].first.class, DifferenceClass::OnlyB);
    assert_eq!(difference.counts["probe"], [0, 0, 0, 0, 0, 2]);
}

#[test]
fn a_cause_comes_before_what_it_leads_to() {
    let mut pair = runs();
    // The third frame is lost after it was sent: node 1 never matches it, and node 0 sends it again.
    let fault = TraceKind::Fault {
        port: None,
        fault: FaultKind::Lost,
        length: 64,
        fcs: 7,
    };
    pair[1].push(event(2150, 0, fault));
    pair[1].push(probe(2190, 0, "retransmit", &[1, 7, 2]));
    // In run A node 0 does something else later.
    pair[0].push(probe(2195, 0, "ack matched", &[1, 7, 2]));
    let difference = compare(pair);
    let first = &difference.places[0].first;
    assert_eq!(first.class, DifferenceClass::OnlyB);
    let kind = first.b.as_ref().map(|event| event.kind.name());
    assert_eq!(kind, Some("fault"));
}

#[test]
fn other_values() {
    let mut pair = runs();
    pair[1][9] = probe(2100, 0, "frame sent", &[1, 7, 99]);
    let difference = compare(pair);
    assert_eq!(difference.places.len(), 1);
    let first = &difference.places[0].first;
    assert_eq!(first.class, DifferenceClass::Values);
    assert_eq!(first.within, ["stage \"send frame\""]);
    assert_eq!(
        first.message.map(|message| message.to_string()),
        Some("0:7".into())
    );
    assert_eq!(difference.counts["probe"], [3, 0, 1, 0, 0, 0]);
}

#[test]
fn another_setup_is_said_first() {
    let a = Header {
        run: "pair.toml".into(),
        seed: 1,
        ..Header::default()
    };
    let b = Header {
        seed: 2,
        details: vec!["rings".into()],
        ..a.clone()
    };
    assert!(setups(&a, &a).is_empty());
    insta::assert_snapshot!(setups(&a, &b).join("\n"), @r#"
    another seed: 1 | 2
    another set of details (those of one run alone are left out): none | rings
    "#);
    // A detail in one run only is no difference.
    let mut comparison = Comparison::new([&a, &b], 0);
    let (address, value) = (0, 0);
    comparison.push(1, event(5, 0, TraceKind::RingIndex { address, value }));
    assert!(comparison.finish().is_none());
    let end = |latency: &str| End {
        events: 0,
        results: [("latency".to_owned(), latency.to_owned())].into(),
    };
    assert_eq!(results(&end("1"), &end("2")).len(), 1);
    assert!(results(&end("1"), &end("1")).is_empty());
}
