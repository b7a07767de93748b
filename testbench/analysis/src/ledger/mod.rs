//! Where the time of a message went: every picosecond from its sender's call to its receiver's return.
//!
//! The way of a message is that of its *last* frame: the one whose transfer to host memory completed it. What
//! happens on that way one after the other are spans; each ends where the next one begins, so they add up to the
//! whole, exactly. What is done at the same time for other frames is not on the way. `docs/ledger.md` says how
//! each part is defined.

pub mod args;
pub mod average;
pub mod select;
pub mod svg;
pub mod text;
mod way;

use std::collections::BTreeMap;

use emulator::sim::time::SimTime;
use emulator::tigon2::timing::Timing;

use crate::messages::{Cpu, Message, MessageId, Work};
use lanigon_worlds::wire::frame_time;

/// Whose time it is.
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
    /// The name in ledgers.
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

/// A span of a message's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Whose time it is.
    pub owner: Owner,
    /// What happened, or what was waited for.
    pub what: String,
    /// When it began.
    pub from: SimTime,
    /// When it ended.
    pub to: SimTime,
}

impl Span {
    /// How long it took.
    #[must_use]
    pub fn time(&self) -> SimTime {
        self.to.saturating_sub(self.from)
    }

    /// Whether nothing was done for the message in it.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        self.what.starts_with("wait")
    }
}

/// The ledger of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Which message.
    pub id: MessageId,
    /// Its length.
    pub length: u32,
    /// Its frames.
    pub frames: u16,
    /// How many of its frames were sent again.
    pub resent: usize,
    /// Its tag.
    pub tag: Option<u16>,
    /// In order; each begins where the one before it ends.
    pub spans: Vec<Span>,
}

impl Ledger {
    /// From the first span's begin to the last one's end.
    #[must_use]
    pub fn total(&self) -> SimTime {
        match (self.spans.first(), self.spans.last()) {
            (Some(first), Some(last)) => last.to.saturating_sub(first.from),
            _ => SimTime::ZERO,
        }
    }

    /// The parts: what each owner spent on each thing, in the order in which they first occur.
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

/// What all CPUs and MACs were at, and for whom.
#[derive(Debug)]
pub struct Desk {
    timing: Timing,
    /// By node and CPU, in the order of time.
    works: BTreeMap<(u16, Cpu), Vec<Work>>,
    /// Stages of messages, by node, CPU and begin: the message's index.
    owners: BTreeMap<(u16, Cpu, SimTime), usize>,
    /// Frames that MACs sent, by node: when each began, and when the wire had all of it.
    sendings: BTreeMap<u16, BTreeMap<SimTime, SimTime>>,
}

impl Desk {
    /// The activities of a run: its messages, and all stages of all CPUs.
    #[must_use]
    pub fn new(timing: &Timing, messages: &[Message], works: Vec<Work>) -> Self {
        let mut by_cpu: BTreeMap<(u16, Cpu), Vec<Work>> = BTreeMap::new();
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
                let end = sent.first_bit + frame_time(sent.length.max(SHORTEST), timing);
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
            timing: *timing,
            works: by_cpu,
            owners,
            sendings,
        }
    }

    /// The ledgers of all messages that reached their hosts, in the order of `messages`.
    #[must_use]
    pub fn ledgers(&self, messages: &[Message]) -> Vec<Ledger> {
        let with_index = messages.iter().enumerate();
        with_index
            .filter_map(|(index, message)| way::follow(self, index, message))
            .collect()
    }
}

/// All stages that were about a message.
fn works_of(message: &Message) -> impl Iterator<Item = &Work> {
    let frames = message.frames.iter();
    message.posting.iter().chain(frames.flat_map(|frame| {
        let arrivals = frame.arrivals.iter();
        let received = arrivals.flat_map(|arrival| arrival.works.iter().chain(&arrival.endings));
        frame.works.iter().chain(received)
    }))
}
