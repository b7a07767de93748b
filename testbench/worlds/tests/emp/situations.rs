//! Ten situations of the protocol, each as the sequence of both firmwares' events without times: posts,
//! frames, acks and statuses.
//!
//! The nodes share one clock, so the order is exact. A line shows each pause of 100 us or more, and each
//! fault on the cable. To accept a change: `INSTA_UPDATE=always cargo test -p lanigon-worlds emp
//! situations`, and read the difference.

use emulator::tigon2::board::Tigon2;
use std::fmt::Write;

use defs::emp::descriptor::Code;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use emulator::tigon2::dma::Direction;
use emulator::tigon2::dma::stall::StallFrom;
use host_lib::emp::{Completion, Emp, ReceiveTimeout, Source, Tag};
use host_lib::window::System;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::faults::{self, Fault};
use lanigon_worlds::nodes::START;

use super::support::{buffer, message, pair, text};

/// Length of a message of two ack groups: three frames, then one.
const LENGTH: u32 = 5000;
const PAUSE: SimTime = SimTime::from_us(100);
/// Limit of every wait.
const LONGEST: SimTime = SimTime::from_us(200_000);

/// Actions of the nodes.
#[derive(Clone, Copy)]
struct Story {
    /// The messages from node 0 to node 1.
    lengths: &'static [u32],
    /// Length of each receive.
    capacity: u32,
    /// Delay of the receives' posts, in us.
    late_us: u64,
    flow_control: bool,
}

const TWO_GROUPS: Story = Story {
    lengths: &[LENGTH],
    capacity: LENGTH,
    late_us: 0,
    flow_control: false,
};

fn ended(result: Result<Completion, impl std::fmt::Display>) -> String {
    match result {
        Ok(done) => format!("{} bytes", done.length),
        Err(error) => error.to_string(),
    }
}

async fn send(mut emp: Emp, story: Story) -> Result<String, String> {
    // The receives are posted by then, unless they are delayed.
    emp.system_mut().compute(50_000).await;
    let mut handles = Vec::new();
    for (number, &length) in story.lengths.iter().enumerate() {
        let source = message(&mut emp, 0, number as u32, length);
        handles.push(emp.post_transmit(1, 7, source).await.map_err(text)?);
    }
    let mut ends = Vec::new();
    for handle in handles {
        ends.push(ended(emp.wait(handle).await));
    }
    Ok(ends.join("; "))
}

async fn receive(mut emp: Emp, story: Story) -> Result<String, String> {
    emp.system_mut().compute(story.late_us * 1000).await;
    let mut handles = Vec::new();
    for _ in story.lengths {
        let space = buffer(&mut emp, story.capacity);
        let handle = emp
            .post_receive(Source::Node(0), Tag::Value(7), space)
            .await;
        handles.push(handle.map_err(text)?);
    }
    let mut ends = Vec::new();
    for handle in handles {
        ends.push(ended(emp.wait(handle).await));
    }
    Ok(ends.join("; "))
}

/// Text of a firmware event about a message. Its arguments: peer, message, and a third.
fn words(name: &str, arguments: &[u32]) -> Option<String> {
    let &[_, message, third] = arguments else {
        return None;
    };
    let code = || Code::from_status(third << defs::emp::descriptor::STATUS_CODE_SHIFT);
    Some(match name {
        "post receive" => format!("post receive: {third} bytes"),
        "post transmit" => format!("post transmit: message {message}, {third} bytes"),
        "retransmit" => format!("retransmit: message {message}, time {third}"),
        "transmit complete" | "receive complete" => {
            format!("{name}: message {message}, {:?}", code()?)
        }
        _ => format!("{name}: message {message}, frame {third}"),
    })
}

fn line(event: &TraceEvent) -> Option<String> {
    let Place::Node(node) = event.place else {
        return None;
    };
    let what = match &event.kind {
        TraceKind::Probe { name, arguments } => words(name, arguments)?,
        TraceKind::Fault { fault, .. } => format!("-- on the cable: {} --", fault.name()),
        _ => return None,
    };
    // The receiver's column is on the right.
    Some(match node {
        0 => what,
        _ => format!("{:40}{what}", ""),
    })
}

/// Runs a situation and returns its text.
fn tell(pair: &mut EmpPairs, story: Story) -> String {
    for node in 0..2 {
        pair.config_mut(node).flow_control = story.flow_control;
        pair.config_mut(node).retry_limit = 3;
        pair.config_mut(node).receive_timeout = ReceiveTimeout::AfterUs(100_000);
    }
    for trace in pair.world.traces() {
        trace.keep(true);
    }
    let sender = pair.spawn(0, "sender", move |emp| send(emp, story));
    let receiver = pair.spawn(1, "receiver", move |emp| receive(emp, story));
    let limits = RunLimits {
        max_time: Some(START + LONGEST),
        ..RunLimits::default()
    };
    pair.world.run(&limits);
    let mut events: Vec<_> = pair.world.traces().flat_map(|trace| trace.take()).collect();
    events.sort_by_key(|event| (event.time, event.place));
    let mut told = format!("{:40}{}\n", "node 0", "node 1");
    let mut last = START;
    for event in events.iter().filter(|event| event.time >= START) {
        let Some(line) = line(event) else { continue };
        let implied = ["frame matched", "ack received"];
        if story.flow_control && implied.iter().any(|what| line.contains(what)) {
            // Each frame is acknowledged separately: the sent ack implies it.
            continue;
        }
        if event.time.saturating_sub(last) >= PAUSE {
            told += "    ...\n";
        }
        last = event.time;
        // Writing to a string cannot fail.
        let _ = writeln!(told, "{line}");
    }
    for (who, left) in [("sender", sender), ("receiver", receiver)] {
        let end = match left.take() {
            Some(Ok(end)) => end,
            Some(Err(error)) => panic!("{who}: {error}"),
            None => "nothing yet".into(),
        };
        let _ = writeln!(told, "the {who} is told: {end}");
    }
    assert!(told.lines().count() < 60, "too long:\n{told}");
    told
}

/// Returns the text of a situation with faults of the cable.
fn tell_with(faults: &[Fault], story: Story) -> String {
    let mut pair = pair();
    for fault in faults {
        faults::install(&mut pair.world, fault).unwrap();
    }
    tell(&mut pair, story)
}

#[test]
fn a_header_frame_is_lost() {
    insta::assert_snapshot!(tell_with(&[Fault::drop().header()], TWO_GROUPS));
}

#[test]
fn a_data_frame_is_lost() {
    insta::assert_snapshot!(tell_with(&[Fault::drop().fragment(1)], TWO_GROUPS));
}

#[test]
fn an_ack_is_lost() {
    insta::assert_snapshot!(tell_with(&[Fault::drop().ack()], TWO_GROUPS));
}

#[test]
fn a_frame_comes_twice() {
    insta::assert_snapshot!(tell_with(&[Fault::duplicate().fragment(2)], TWO_GROUPS));
}

#[test]
fn a_frame_is_overtaken() {
    let late = Fault::delay(SimTime::from_us(40)).fragment(1);
    insta::assert_snapshot!(tell_with(&[late], TWO_GROUPS));
}

#[test]
fn a_receive_is_posted_too_late() {
    let story = Story {
        lengths: &[1000],
        late_us: 6000,
        ..TWO_GROUPS
    };
    insta::assert_snapshot!(tell_with(&[], story));
}

#[test]
fn a_message_is_longer_than_its_receive() {
    let story = Story {
        capacity: 2000,
        ..TWO_GROUPS
    };
    insta::assert_snapshot!(tell_with(&[], story));
}

#[test]
fn a_frame_is_lost_again_and_again() {
    let lost = Fault::drop().fragment(1).times(3);
    insta::assert_snapshot!(tell_with(&[lost], TWO_GROUPS));
}

#[test]
fn the_other_node_is_gone() {
    // After the first group and its ack all frames are lost.
    let rest = Fault::drop().fragment(3).always();
    let mut pair = pair();
    faults::install(&mut pair.world, &rest).unwrap();
    // So short that no earlier waits precede it.
    pair.config_mut(0).timeout_us = 140;
    insta::assert_snapshot!(tell(&mut pair, TWO_GROUPS));
}

#[test]
fn a_sender_is_slowed_down() {
    const LENGTH: u32 = 20 * 8986 - 8;
    let story = Story {
        lengths: &[LENGTH],
        capacity: LENGTH,
        late_us: 0,
        flow_control: true,
    };
    let mut pair = pair();
    for node in 0..2 {
        let config = pair.config_mut(node);
        (config.frame_bytes, config.ack_group) = (9000, 1);
    }
    // The receiver's write channel pauses: the receive buffer fills, and its acks report it.
    let from = StallFrom::Time(START);
    let fabric = &mut pair.world.nodes[1].board_mut::<Tigon2>().fabric;
    fabric.stall_dma(Direction::Write, from, SimTime::from_us(3000));
    insta::assert_snapshot!(tell(&mut pair, story));
}
