//! One quiet 10-byte round trip, event by event.
//!
//! The snapshot's times are picoseconds of a deterministic run, so every change of firmware, model
//! or profile shows in it. To accept a change: `INSTA_UPDATE=always cargo test -p testbench --test
//! emp golden`, and read the difference.

use defs::emp::control::DESCRIPTORS;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use host_lib::emp::Emp;
use host_lib::window::System;
use lanigon_worlds::nodes::START;

use super::support::{buffer, pair, ping_pong_round, run_well};

/// Delay of the round after the start: epochs are exchanged by then, and the nodes are idle.
const QUIET_NS: u64 = 1_000_000;

async fn second_round(mut emp: Emp, me: u16) -> Result<(), String> {
    let (out, space) = (buffer(&mut emp, 10), buffer(&mut emp, 10));
    ping_pong_round(&mut emp, me, out, space).await?;
    let quiet = START.ps() / 1000 + QUIET_NS - emp.system().now_ps() / 1000;
    emp.system_mut().compute(quiet).await;
    ping_pong_round(&mut emp, me, out, space).await
}

/// Line of an event. A descriptor's address is relative to the array, which lies behind the image, so that
/// it does not depend on the image's size.
fn line(event: &TraceEvent, array: u32) -> String {
    let mut event = event.clone();
    if let TraceKind::MailboxWrite { value, .. } = &mut event.kind {
        *value = value.wrapping_sub(array);
    }
    event.to_string()
}

/// Whether a stage ends at the start of the next one, whose line implies it.
fn ends_into_next(event: &TraceEvent, later: &[TraceEvent]) -> bool {
    let same_core =
        |next: &&TraceEvent| next.place == event.place && next.initiator == event.initiator;
    let next = later.iter().find(same_core);
    matches!(event.kind, TraceKind::StageExit { .. })
        && next.is_some_and(|next| {
            matches!(next.kind, TraceKind::StageEnter { .. }) && next.time == event.time
        })
}

#[test]
fn a_ten_byte_round_trip() {
    let mut pair = pair();
    for node in &mut pair.world.nodes {
        node.trace.keep(true);
    }
    run_well(
        &mut pair,
        |emp| second_round(emp, 0),
        |emp| second_round(emp, 1),
    );
    let begin = START + SimTime::from_ns(QUIET_NS);
    let array = pair.world.nodes[0]
        .board::<Tigon2>()
        .fabric
        .sram
        .word(DESCRIPTORS);
    let traces = pair.world.nodes.iter_mut().map(|node| node.trace.take());
    let mut events: Vec<_> = traces.flatten().filter(|e| e.time >= begin).collect();
    events.sort_by_key(|event| event.time);
    let shown = events
        .iter()
        .enumerate()
        .filter(|(index, event)| !ends_into_next(event, &events[index + 1..]));
    let lines: Vec<_> = shown.map(|(_, event)| line(event, array)).collect();
    assert!((30..100).contains(&lines.len()), "{} lines", lines.len());
    insta::assert_snapshot!(lines.join("\n"));
}
