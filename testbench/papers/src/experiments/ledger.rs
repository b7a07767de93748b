//! Where the time of one message went, from the sender's call to the receiver's.
//!
//! One quiet message of one frame with its receive posted in advance. Four moments cut its way into
//! parts: the mailbox write, the frame's departure, its arrival, the poll that sees the completion.
//! Within a part each span has the same units of the NIC at work, as the trace tells. Each span ends where
//! the next begins, so the spans add up to the whole exactly, however the work is divided.

use std::collections::BTreeSet;

use defs::emp::control::MAILBOX_TRANSMIT;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use emulator::tigon2::timing::Timing;
use host_lib::emp::{Source, Tag};
use host_lib::window::System;

use super::activity::{self, Activity};
use super::{ExperimentError, Setup, completed};
use lanigon_worlds::outcome::{ResultSlot, RunError};
use lanigon_worlds::pairs::{EmpNode, buffer, text};

/// A span of the message's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Who had it.
    pub owner: &'static str,
    /// What happened.
    pub what: String,
    /// How long it took.
    pub time: SimTime,
}

/// The whole way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Message length.
    pub message_bytes: u32,
    /// The spans, in order.
    pub spans: Vec<Span>,
    /// How long each DMA of it took.
    pub dma: Vec<SimTime>,
}

impl Ledger {
    /// The sum of all spans.
    #[must_use]
    pub fn total(&self) -> SimTime {
        self.spans
            .iter()
            .fold(SimTime::ZERO, |sum, span| sum + span.time)
    }
}

const SENDER: u16 = 0;
const RECEIVER: u16 = 1;

/// Follows one message of `size` bytes. `None` when the trace lacks a milestone.
///
/// # Errors
/// Whatever keeps the exchange from completing.
pub fn follow(setup: &Setup, size: u32) -> Result<Option<Ledger>, ExperimentError> {
    let mut pair = setup.pair()?;
    for node in &mut pair.world.nodes {
        node.trace.keep(true);
    }
    let called = ResultSlot::default();
    let call = called.clone();
    let sender = pair.spawn(0, "sender", move |emp| send(emp, size, call));
    let receiver = pair.spawn(1, "receiver", move |emp| receive(emp, size));
    let end = pair.world.run(&RunLimits {
        interrupt: Some(setup.interrupt.clone()),
        ..RunLimits::default()
    });
    if let Some(Err(message)) = sender.take() {
        let program = "sender";
        return Err(RunError::Program { program, message }.into());
    }
    completed(end)?;
    let (Some(start), Some(Ok(returned))) = (called.take(), receiver.take()) else {
        return Ok(None);
    };
    let mut events: Vec<_> = pair
        .world
        .nodes
        .iter_mut()
        .flat_map(|node| node.trace.take())
        .collect();
    events.sort_by_key(|event| event.time);
    let timing = &setup.profile.timing;
    let way = [start, returned];
    Ok(spans(&events, timing, way).map(|spans| Ledger {
        message_bytes: size,
        spans,
        dma: dma_spans(&events, timing, way),
    }))
}

/// Messages that are sent; the last one is followed. The first one makes the nodes acquainted.
const MESSAGES: u32 = 2;
/// Between messages everything comes to rest.
const SETTLE_NS: u64 = 200_000;

/// Leaves the time at which the last message's call begins.
async fn send(mut emp: EmpNode, size: u32, called: ResultSlot<SimTime>) -> Result<(), String> {
    let out = buffer(&mut emp, size)?;
    for _ in 0..MESSAGES {
        emp.system_mut().compute(SETTLE_NS).await;
        called.set(emp.system().now());
        let transmit = emp.post_transmit(1, 1, out).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    Ok(())
}

/// Gives the time at which the last message was received.
async fn receive(mut emp: EmpNode, size: u32) -> Result<SimTime, String> {
    let space = buffer(&mut emp, size)?;
    for _ in 0..MESSAGES {
        let receive = emp
            .post_receive(Source::Node(0), Tag::Value(1), space)
            .await
            .map_err(text)?;
        emp.wait(receive).await.map_err(text)?;
    }
    Ok(emp.system().now())
}

/// The first event of a node from `from` on that `is`.
fn moment(
    events: &[TraceEvent],
    node: u16,
    from: SimTime,
    is: impl Fn(&TraceKind) -> bool,
) -> Option<SimTime> {
    let mut later = events.iter().filter(|event| event.time >= from);
    let found = later.find(|event| event.place == Place::Node(node) && is(&event.kind));
    found.map(|event| event.time)
}

/// The name of a unit in a ledger.
const fn unit_name(unit: Initiator) -> &'static str {
    match unit {
        Initiator::CpuA => "CPU A",
        Initiator::CpuB => "CPU B",
        Initiator::DmaRead => "read DMA",
        Initiator::DmaWrite => "write DMA",
        _ => "MAC",
    }
}

/// What the units of a NIC were at, at one moment.
fn describe(activities: &[Activity], now: SimTime) -> String {
    let mut at: Vec<_> = activities
        .iter()
        .filter(|activity| activity.from <= now && now < activity.to)
        .collect();
    at.sort_by_key(|activity| activity.unit);
    // The CPUs come first: what they do explains the rest.
    let is_core =
        |activity: &&&Activity| matches!(activity.unit, Initiator::CpuA | Initiator::CpuB);
    let words: Vec<_> = at
        .iter()
        .filter(is_core)
        .chain(at.iter().filter(|activity| !is_core(activity)))
        .map(|activity| match activity.unit {
            Initiator::CpuA | Initiator::CpuB => {
                format!("{} {}", unit_name(activity.unit), activity.what)
            }
            unit => unit_name(unit).to_owned(),
        })
        .collect();
    if words.is_empty() {
        "dispatch".into()
    } else {
        words.join(", ")
    }
}

/// The spans of a NIC's part of the way.
fn nic_spans(
    owner: &'static str,
    activities: &[Activity],
    [start, end]: [SimTime; 2],
) -> Vec<Span> {
    let edges = activities
        .iter()
        .flat_map(|activity| [activity.from, activity.to]);
    let inside = edges.filter(|edge| (start..end).contains(edge));
    let edges: BTreeSet<_> = inside.chain([start, end]).collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let mut spans: Vec<Span> = Vec::new();
    for pair in edges.windows(2) {
        let (time, what) = (pair[1] - pair[0], describe(activities, pair[0]));
        match spans.last_mut() {
            Some(last) if last.what == what => last.time += time,
            _ => spans.push(Span { owner, what, time }),
        }
    }
    spans
}

fn spans(
    events: &[TraceEvent],
    timing: &Timing,
    [start, returned]: [SimTime; 2],
) -> Option<Vec<Span>> {
    let told = moment(
        events,
        SENDER,
        start,
        |kind| matches!(kind, TraceKind::MailboxWrite { index, .. } if *index == MAILBOX_TRANSMIT),
    )?;
    let sent = moment(events, SENDER, told, |kind| {
        matches!(kind, TraceKind::FrameSent { .. })
    })?;
    let received = moment(events, RECEIVER, sent, |kind| {
        matches!(kind, TraceKind::FrameReceived { .. })
    })?;
    let seen = moment(events, RECEIVER, received, |kind| {
        matches!(kind, TraceKind::PollSatisfied { .. })
    })?;
    let of_node = |node, span| activity::of_node(events, node, timing, span);
    let span = |owner, what: &str, from: SimTime, to: SimTime| Span {
        owner,
        what: what.into(),
        time: to.saturating_sub(from),
    };
    let post = "translate, fill and write the descriptor, write the mailbox";
    let (sending, receiving) = ([told, sent], [received, seen]);
    let mut spans = vec![span("sender host", post, start, told)];
    spans.extend(nic_spans("sender NIC", &of_node(SENDER, sending), sending));
    let wire = "from the MAC's start to the frame in the receiver's SRAM";
    spans.push(span("wire", wire, sent, received));
    spans.extend(nic_spans(
        "receiver NIC",
        &of_node(RECEIVER, receiving),
        receiving,
    ));
    let back = "the way back of the poll that saw it";
    spans.push(span("receiver host", back, seen, returned));
    Some(spans)
}

/// How long DMA transfers take, from start to end.
fn dma_spans(events: &[TraceEvent], timing: &Timing, span: [SimTime; 2]) -> Vec<SimTime> {
    let nodes = [SENDER, RECEIVER].into_iter();
    nodes
        .flat_map(|node| activity::of_node(events, node, timing, span))
        .filter(|activity| matches!(activity.unit, Initiator::DmaRead | Initiator::DmaWrite))
        .map(|activity| activity.to - activity.from)
        .collect()
}
