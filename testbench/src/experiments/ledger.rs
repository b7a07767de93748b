//! Where the time of one message went, from the sender's call to the receiver's.
//!
//! One quiet message with its receive posted in advance. The trace of both nodes is searched for
//! milestones in the order in which a message passes them; each span ends where the next begins,
//! so the spans add up to the whole exactly.

use defs::emp::control::MAILBOX_TRANSMIT;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use host_lib::emp::{Source, Tag};
use host_lib::window::System;

use super::latency::{buffer, text};
use super::{ExperimentError, Setup, completed};
use crate::cluster::{EmpNode, EmpPairs, Outcome};

/// A span of the message's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Who had it.
    pub owner: &'static str,
    /// What happened.
    pub what: &'static str,
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

/// The end of a span: the first event on `node`, from the last milestone on, that `is`.
struct Milestone {
    owner: &'static str,
    what: &'static str,
    node: u16,
    is: fn(&TraceEvent) -> bool,
}

const SENDER: u16 = 0;
const RECEIVER: u16 = 1;

fn enters(event: &TraceEvent, name: &str) -> bool {
    matches!(&event.kind, TraceKind::StageEnter { stage } if **stage == *name)
}

fn exits(event: &TraceEvent, name: &str) -> bool {
    matches!(&event.kind, TraceKind::StageExit { stage } if **stage == *name)
}

/// A message's milestones after the sender's call, in the order in which it passes them.
const MILESTONES: &[Milestone] = &[
    Milestone {
        owner: "sender host",
        what: "translate, fill and write the descriptor, write the mailbox",
        node: SENDER,
        is: |e| matches!(e.kind, TraceKind::MailboxWrite { index, .. } if index == MAILBOX_TRANSMIT),
    },
    Milestone {
        owner: "sender NIC",
        what: "dispatch the mailbox event",
        node: SENDER,
        is: |e| enters(e, "send bookkeeping"),
    },
    Milestone {
        owner: "sender NIC",
        what: "send bookkeeping: take the descriptor, open a record, cut a frame",
        node: SENDER,
        is: |e| enters(e, "transmission"),
    },
    Milestone {
        owner: "sender NIC",
        what: "transmission, until its DMA starts",
        node: SENDER,
        is: |e| e.initiator == Initiator::DmaRead && matches!(e.kind, TraceKind::DmaStarted { .. }),
    },
    Milestone {
        owner: "sender NIC",
        what: "transmission goes on and DMA from the host, until the MAC starts",
        node: SENDER,
        is: |e| matches!(e.kind, TraceKind::FrameSent { .. }),
    },
    Milestone {
        owner: "wire",
        what: "frame on the wire and into the receiver's SRAM",
        node: RECEIVER,
        is: |e| matches!(e.kind, TraceKind::FrameReceived { .. }),
    },
    Milestone {
        owner: "receiver NIC",
        what: "dispatch the receive event",
        node: RECEIVER,
        is: |e| enters(e, "receiving"),
    },
    Milestone {
        owner: "receiver NIC",
        what: "receiving: take the frame from the MAC, check its CRC",
        node: RECEIVER,
        is: |e| enters(e, "receive bookkeeping"),
    },
    Milestone {
        owner: "receiver NIC",
        what: "receive bookkeeping",
        node: RECEIVER,
        is: |e| exits(e, "receive bookkeeping"),
    },
    Milestone {
        owner: "receiver NIC",
        what: "send ack",
        node: RECEIVER,
        is: |e| exits(e, "send ack"),
    },
    Milestone {
        owner: "receiver NIC",
        what: "wait for the DMA to the host and dispatch its event",
        node: RECEIVER,
        is: |e| enters(e, "receiving"),
    },
    Milestone {
        owner: "receiver NIC",
        what: "receiving: write the status, until the host's next poll sees it",
        node: RECEIVER,
        is: |e| matches!(e.kind, TraceKind::PollSatisfied { .. }),
    },
];

/// What the last span is.
const RETURN: (&str, &str) = ("receiver host", "the poll's way back");

/// Follows one message of `size` bytes. `None` when the trace lacks a milestone.
///
/// # Errors
/// Whatever keeps the exchange from completing.
pub fn follow(setup: &Setup, size: u32) -> Result<Option<Ledger>, ExperimentError> {
    let mut pair = EmpPairs::one(&setup.image, &setup.profile, &setup.factors)?;
    for node in &mut pair.world.nodes {
        node.trace.keep(true);
    }
    let called = Outcome::default();
    let call = called.clone();
    let sender = pair.spawn(0, "sender", move |emp| send(emp, size, call));
    let receiver = pair.spawn(1, "receiver", move |emp| receive(emp, size));
    let end = pair.world.run(&RunLimits {
        interrupt: Some(setup.interrupt.clone()),
        ..RunLimits::default()
    });
    if let Some(Err(message)) = sender.take() {
        let program = "sender";
        return Err(ExperimentError::Program { program, message });
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
    Ok(spans(&events, start, returned).map(|spans| Ledger {
        message_bytes: size,
        spans,
    }))
}

/// Messages that are sent; the last one is followed. The first one makes the nodes acquainted.
const MESSAGES: u32 = 2;
/// Between messages everything comes to rest.
const SETTLE_NS: u64 = 200_000;

/// Leaves the time at which the last message's call begins.
async fn send(mut emp: EmpNode, size: u32, called: Outcome<SimTime>) -> Result<(), String> {
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

fn spans(events: &[TraceEvent], start: SimTime, returned: SimTime) -> Option<Vec<Span>> {
    let mut now = start;
    let mut rest = &events[events.partition_point(|event| event.time < start)..];
    let mut spans = Vec::new();
    for milestone in MILESTONES {
        let found = rest.iter().position(|event| {
            event.place == Place::Node(milestone.node) && (milestone.is)(event)
        })?;
        spans.push(Span {
            owner: milestone.owner,
            what: milestone.what,
            time: rest[found].time - now,
        });
        now = rest[found].time;
        rest = &rest[found + 1..];
    }
    let (owner, what) = RETURN;
    let time = returned.saturating_sub(now);
    spans.push(Span { owner, what, time });
    Some(spans)
}
