//! Assignment of events to messages, with its state.

use std::collections::{BTreeMap, VecDeque};

use defs::emp::frame::Kind;
use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::profile::costs::HostCosts;
use emulator::sim::initiator::Initiator;

use super::cpu::CpuState;
use super::frames::{ChannelTransfers, Head, RxFrame};
use super::host::HostState;
use super::message::{FrameArrival, FrameWay, MOST_CPUS, Message, MessageId, MessageWork};
use super::names::MessageName;

/// Reference to a frame: index of the message, and of the frame in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameRef {
    pub message: usize,
    pub frame: usize,
}

/// Reference to a reception of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArrivalRef {
    pub frame: FrameRef,
    pub arrival: usize,
}

/// A finished stage with the numbers of its two events.
#[derive(Debug, Clone)]
pub(super) struct FinishedStage {
    pub work: MessageWork,
    pub events: [u64; 2],
}

/// State of a node.
#[derive(Debug, Default)]
pub(super) struct NodeState {
    pub cpus: [CpuState; MOST_CPUS],
    pub host: HostState,
    pub read: ChannelTransfers,
    pub write: ChannelTransfers,
    /// Head of the frame that the MAC sends next.
    pub sending: Option<Head>,
    /// Heads of completely received frames.
    pub receiving: VecDeque<Head>,
    /// Stages of a sender on the other CPU for frames that the transmitter has not built yet.
    pub cuts: VecDeque<FinishedStage>,
    /// Frames that are built and not sent yet.
    pub built: VecDeque<FrameRef>,
    /// Frames that the MAC has stored and the firmware has not taken yet.
    pub stored: VecDeque<RxFrame>,
    /// The last frame at each SRAM address.
    pub places: BTreeMap<u32, ArrivalRef>,
    /// Matched frames that a deliverer on the other CPU has not processed yet.
    pub matched: VecDeque<ArrivalRef>,
    /// Stages of that deliverer before the matcher's report of the frame.
    pub delivered: VecDeque<FinishedStage>,
    /// Acks for a sender on the other CPU.
    pub answers: VecDeque<ArrivalRef>,
}

/// Tracker of all messages.
#[derive(Debug)]
pub(super) struct Tracker {
    pub costs: HostCosts,
    /// Number of the current event.
    pub number: u64,
    messages: Vec<Message>,
    /// Messages by sender, receiver and the identifier in frames.
    known: BTreeMap<MessageName, usize>,
    /// The latest message number, by sender and receiver.
    numbers: BTreeMap<(u16, u16), u32>,
    /// Number of resets of each node.
    lives: BTreeMap<u16, u16>,
    nodes: BTreeMap<u16, NodeState>,
    /// The latest frame with each FCS.
    pub by_fcs: BTreeMap<u32, FrameRef>,
    /// All stages of all CPUs, in the order of their ends.
    pub works: Vec<MessageWork>,
}

impl Tracker {
    pub(super) fn new(costs: &HostCosts) -> Self {
        Self {
            costs: *costs,
            number: 0,
            messages: Vec::new(),
            known: BTreeMap::new(),
            numbers: BTreeMap::new(),
            lives: BTreeMap::new(),
            nodes: BTreeMap::new(),
            by_fcs: BTreeMap::new(),
            works: Vec::new(),
        }
    }

    /// Takes all messages and clears the state.
    pub(super) fn take_messages(&mut self) -> Vec<Message> {
        let mut messages = std::mem::take(&mut self.messages);
        for message in &mut messages {
            // An event may concern a message in several ways: it counts once.
            message.events.sort_unstable();
            message.events.dedup();
        }
        self.known.clear();
        self.nodes.clear();
        self.by_fcs.clear();
        messages
    }

    pub(super) fn event(&mut self, event: &TraceEvent) {
        match (event.place, event.initiator) {
            (Place::Node(node), Initiator::Cpu(_)) => self.cpu_event(node, event),
            (Place::Node(node), Initiator::Host) => self.host_event(node, event),
            (Place::Node(node), Initiator::DmaRead) => self.read_event(node, event),
            (Place::Node(node), Initiator::DmaWrite) => self.write_event(node, event),
            (Place::Node(node), Initiator::Transmitter | Initiator::Receiver) => {
                self.mac_event(node, event);
            }
            (_, Initiator::Wire) => self.wire_event(event),
            (Place::Node(node), Initiator::Power) if event.kind == TraceKind::Reset => {
                self.reset(node);
            }
            _ => {}
        }
        self.number += 1;
    }

    /// Clears the state of a node.
    fn reset(&mut self, node: u16) {
        self.nodes.remove(&node);
        *self.lives.entry(node).or_default() += 1;
        self.known.retain(|name, _| name.from != node);
        self.numbers.retain(|(from, _), _| *from != node);
    }

    pub(super) fn node(&mut self, node: u16) -> &mut NodeState {
        self.nodes.entry(node).or_default()
    }

    pub(super) fn message(&mut self, index: usize) -> &mut Message {
        &mut self.messages[index]
    }

    pub(super) fn frame(&mut self, frame: FrameRef) -> &mut FrameWay {
        &mut self.messages[frame.message].frames[frame.frame]
    }

    pub(super) fn arrival(&mut self, arrival: ArrivalRef) -> &mut FrameArrival {
        &mut self.frame(arrival.frame).arrivals[arrival.arrival]
    }

    /// Assigns the current event to a message.
    pub(super) fn own(&mut self, message: usize) {
        let number = self.number;
        self.messages[message].events.push(number);
    }

    /// Assigns the events of a stage to a message.
    pub(super) fn own_stint(&mut self, message: usize, stint: &FinishedStage) {
        self.messages[message].events.extend(stint.events);
    }

    /// The message with this identifier in frames.
    pub(super) fn find(&mut self, name: MessageName) -> usize {
        match self.known.get(&name) {
            Some(&index) => index,
            None => self.open(name),
        }
    }

    /// Creates a message.
    pub(super) fn open(&mut self, name: MessageName) -> usize {
        let MessageName { from, to, id, .. } = name;
        let latest = self.numbers.entry((from, to)).or_insert(u32::from(id));
        // Identifiers wrap: use the nearest number.
        let step = id.wrapping_sub(*latest as u16).cast_signed();
        let number = latest.saturating_add_signed(step.into());
        *latest = number.max(*latest);
        let life = self.lives.get(&from).copied().unwrap_or_default();
        let index = self.messages.len();
        self.messages.push(Message::new(MessageId {
            from,
            to,
            life,
            number,
        }));
        self.known.insert(name, index);
        index
    }

    /// Adds a transmission of a frame to its message.
    pub(super) fn add_frame(&mut self, message: usize, kind: Kind, number: u16) -> FrameRef {
        let frames = &mut self.messages[message].frames;
        let same = |other: &&FrameWay| other.kind == kind && other.number == number;
        let again = frames.iter().filter(same).count() as u16;
        frames.push(FrameWay {
            kind,
            number,
            again,
            works: Vec::new(),
            reads: Vec::new(),
            built: None,
            sent: None,
            mishaps: Vec::new(),
            arrivals: Vec::new(),
        });
        FrameRef {
            message,
            frame: frames.len() - 1,
        }
    }

    /// The last transmission of a frame for which `is` is true.
    pub(super) fn find_last_frame(
        &self,
        message: usize,
        is: impl Fn(&FrameWay) -> bool,
    ) -> Option<FrameRef> {
        let frames = &self.messages[message].frames;
        let frame = frames.iter().rposition(is)?;
        Some(FrameRef { message, frame })
    }

    /// The first transmission of a frame for which `is` is true.
    pub(super) fn find_frame(
        &self,
        message: usize,
        is: impl Fn(&FrameWay) -> bool,
    ) -> Option<FrameRef> {
        let frames = &self.messages[message].frames;
        let frame = frames.iter().position(is)?;
        Some(FrameRef { message, frame })
    }
}
