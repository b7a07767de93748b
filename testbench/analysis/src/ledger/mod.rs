//! Ledger of a message's time: every picosecond from the sender's call to the receiver's return.
//!
//! The path of a message is that of its *last* frame, whose transfer to host memory completed it. The path
//! consists of spans; each ends where the next one begins, so they add up exactly to the whole. Concurrent
//! work on other frames is not on the path. `docs/ledger.md` defines each part.

pub mod average;
pub mod follow;
mod gm;
pub mod select;
pub mod svg;
pub mod text;
mod way;

use std::collections::BTreeMap;

use emulator::sim::time::SimTime;

use crate::messages::{Cpu, Message, MessageId, MessageWork};
use lanigon_worlds::wire_times::FrameTimes;

/// Owner of a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The sending host.
    SenderHost,
    /// The sending board.
    SenderNic,
    /// Links and switches.
    Wire,
    /// The receiving board.
    ReceiverNic,
    /// The receiving host.
    ReceiverHost,
}

impl Owner {
    /// Name in ledgers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SenderHost => "sender host",
            Self::SenderNic => "sender NIC",
            Self::Wire => "wire",
            Self::ReceiverNic => "receiver NIC",
            Self::ReceiverHost => "receiver host",
        }
    }
}

/// A span of a message's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Owner of the time.
    pub owner: Owner,
    /// Name of the work or wait.
    pub what: String,
    /// Start.
    pub from: SimTime,
    /// End.
    pub to: SimTime,
}

impl Span {
    /// Duration.
    #[must_use]
    pub fn time(&self) -> SimTime {
        self.to.saturating_sub(self.from)
    }

    /// Whether the message waited.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        self.what.starts_with("wait")
    }
}

/// Ledger of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Identity of the message.
    pub id: MessageId,
    /// Length in bytes.
    pub length: u32,
    /// Number of frames.
    pub frames: u16,
    /// Number of retransmitted frames.
    pub resent: usize,
    /// Tag of the message, where the protocol has tags.
    pub tag: Option<u16>,
    /// Spans in order; each begins where the previous one ends.
    pub spans: Vec<Span>,
}

impl Ledger {
    /// Time from the start of the first span to the end of the last one.
    #[must_use]
    pub fn total(&self) -> SimTime {
        match (self.spans.first(), self.spans.last()) {
            (Some(first), Some(last)) => last.to.saturating_sub(first.from),
            _ => SimTime::ZERO,
        }
    }

    /// Durations by owner and name, in the order of their occurrence.
    #[must_use]
    pub fn parts(&self) -> Vec<(Owner, &str, SimTime)> {
        let mut parts: Vec<(Owner, &str, SimTime)> = Vec::new();
        for span in &self.spans {
            let same =
                |part: &&mut (Owner, &str, SimTime)| (part.0, part.1) == (span.owner, &span.what);
            match parts.iter_mut().find(same) {
                Some((.., time)) => *time += span.time(),
                None => parts.push((span.owner, &span.what, span.time())),
            }
        }
        parts
    }
}

/// Shortest frame on the wire, without FCS.
const SHORTEST: u32 = defs::emp::frame::MINIMUM_FRAME_BYTES;

/// Activities of all CPUs and MACs, with their messages.
#[derive(Debug)]
pub struct Activities {
    times: FrameTimes,
    /// Stages by node and CPU, in order.
    works: BTreeMap<(u16, Cpu), Vec<MessageWork>>,
    /// Index of the message of each stage, by node, CPU and start.
    owners: BTreeMap<(u16, Cpu, SimTime), usize>,
    /// Frames sent by each node's MAC: start, and end on the wire.
    sendings: BTreeMap<u16, BTreeMap<SimTime, SimTime>>,
}

impl Activities {
    /// Activities of a run, from its messages and all stages of all CPUs.
    #[must_use]
    pub fn new(times: &FrameTimes, messages: &[Message], works: Vec<MessageWork>) -> Self {
        let mut by_cpu: BTreeMap<(u16, Cpu), Vec<MessageWork>> = BTreeMap::new();
        for work in works {
            by_cpu.entry((work.node, work.cpu)).or_default().push(work);
        }
        let mut owners = BTreeMap::new();
        let mut sendings: BTreeMap<u16, BTreeMap<SimTime, SimTime>> = BTreeMap::new();
        for (index, message) in messages.iter().enumerate() {
            for frame in &message.frames {
                let Some(sent) = frame.sent else {
                    continue;
                };
                let node = if frame.is_data() {
                    message.id.from
                } else {
                    message.id.to
                };
                let end = sent.first_bit + times.frame(sent.length.max(SHORTEST));
                sendings
                    .entry(node)
                    .or_default()
                    .insert(sent.first_bit, end);
            }
            for work in works_of(message) {
                owners.insert((work.node, work.cpu, work.from), index);
            }
        }
        Self {
            times: *times,
            works: by_cpu,
            owners,
            sendings,
        }
    }

    /// Ledgers of all delivered messages, in the order of `messages`.
    #[must_use]
    pub fn ledgers(&self, messages: &[Message]) -> Vec<Ledger> {
        let with_index = messages.iter().enumerate();
        with_index
            .filter_map(|(index, message)| way::follow(self, index, message))
            .collect()
    }
}

/// All stages that belong to a message.
fn works_of(message: &Message) -> impl Iterator<Item = &MessageWork> {
    let frames = message.frames.iter();
    message.posting.iter().chain(frames.flat_map(|frame| {
        let arrivals = frame.arrivals.iter();
        let received = arrivals.flat_map(|arrival| arrival.works.iter().chain(&arrival.endings));
        frame.works.iter().chain(received)
    }))
}
