//! Data of a message.

use std::fmt;
use std::sync::Arc;

use defs::emp::descriptor::Code;
use defs::emp::frame::Kind;
use emulator::observe::event::{DropReason, Place};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::wire::fault::FaultKind;
use emulator::wire::loss::LossReason;

/// Identity of a message. Displayed as `FROM:TO:NUMBER`, with `#1` after a reset of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The sending node.
    pub from: u16,
    /// The receiving node.
    pub to: u16,
    /// Number of earlier resets of the sender.
    pub life: u16,
    /// Number among the sender's messages to this receiver, from 0. Frames carry the low 16 bits.
    pub number: u32,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.from, self.to, self.number)?;
        if self.life != 0 {
            write!(f, "#{}", self.life)?;
        }
        Ok(())
    }
}

/// Most CPUs of a board that are told apart.
pub(super) const MOST_CPUS: usize = 8;

/// One of a board's CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(u8);

impl Cpu {
    /// CPU A.
    pub const A: Self = Self(0);
    /// CPU B.
    pub const B: Self = Self(1);

    /// All CPUs that a board may have, CPU A first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MOST_CPUS as u8).map(Self)
    }

    /// The CPU that is the initiator.
    #[must_use]
    pub const fn from_initiator(initiator: Initiator) -> Option<Self> {
        match initiator {
            Initiator::Cpu(index) if (index as usize) < MOST_CPUS => Some(Self(index)),
            _ => None,
        }
    }

    /// Index of the CPU, 0 for CPU A.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU {}", char::from(b'A' + self.0))
    }
}

/// Time that a CPU spent in a stage of the firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageWork {
    /// Node that did the work.
    pub node: u16,
    /// CPU that did the work.
    pub cpu: Cpu,
    /// Stage of the protocol.
    pub stage: Arc<str>,
    /// Start.
    pub from: SimTime,
    /// End.
    pub to: SimTime,
}

/// A transfer between host memory and SRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaTransfer {
    /// SRAM address of the first byte.
    pub local: u32,
    /// Length in bytes.
    pub length: u32,
    /// Start of the transfer.
    pub from: SimTime,
    /// End of the transfer.
    pub to: Option<SimTime>,
    /// Host memory did not answer.
    pub failed: bool,
}

/// Times of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Post {
    /// Start of the host's call.
    pub call: Option<SimTime>,
    /// Write to the mailbox.
    pub mailbox: Option<SimTime>,
    /// The firmware has taken the descriptor and opened the message's record.
    pub taken: Option<SimTime>,
    /// Return of the call.
    pub returned: Option<SimTime>,
}

/// Completion of a message on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCompletion {
    /// Result; `None` for an unknown value.
    pub code: Option<Code>,
    /// Start of the stage that wrote the status. The status is written between this and `told`.
    pub not_before: SimTime,
    /// The firmware's report.
    pub told: SimTime,
    /// Time at which the successful poll read the status in SRAM.
    pub seen: Option<SimTime>,
    /// Return of that poll to the host.
    pub returned: Option<SimTime>,
}

/// Kind of a fault or loss of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MishapKind {
    /// By a fault layer.
    Fault(FaultKind),
    /// Lost on a line or in a switch.
    Lost(LossReason),
    /// Dropped by the receiving MAC.
    Dropped(DropReason),
    /// Stored by the receiving MAC with these status bits.
    Damaged(u32),
    /// Dropped by the receiver's firmware.
    Refused,
}

impl fmt::Display for MishapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "{} by a fault", fault.name()),
            Self::Lost(reason) => write!(f, "lost: {}", reason.name()),
            Self::Dropped(reason) => write!(f, "dropped by the MAC: {}", reason.name()),
            Self::Damaged(status) => write!(f, "received with status {status:#x}"),
            Self::Refused => f.write_str("not taken by the receiver's firmware"),
        }
    }
}

/// A fault or loss of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mishap {
    /// Time of the mishap.
    pub time: SimTime,
    /// Part of the network at which the mishap happened.
    pub place: Place,
    /// Kind of the mishap.
    pub kind: MishapKind,
}

/// Transmission of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameSending {
    /// Address in the sender's SRAM.
    pub address: u32,
    /// Length without FCS, as queued to the MAC.
    pub length: u32,
    /// Time of the first bit.
    pub first_bit: SimTime,
}

/// Treatment of a received frame by the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Unknown, or not processed yet.
    Unknown,
    /// Matched to its message at this time.
    Matched(SimTime),
    /// Processed as an ack at this time.
    Taken(SimTime),
    /// Dropped at this time.
    Refused(SimTime),
}

/// Reception of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameArrival {
    /// Time of the last bit.
    pub last_bit: Option<SimTime>,
    /// Time at which the MAC has stored it and the firmware can detect it.
    pub received: SimTime,
    /// Address in the receiver's SRAM.
    pub address: u32,
    /// The firmware's work up to the queued DMA, in order.
    pub works: Vec<MessageWork>,
    /// Treatment of the frame by the firmware.
    pub fate: Fate,
    /// Transfers of the payload to host memory.
    pub writes: Vec<DmaTransfer>,
    /// The firmware's work after these transfers.
    pub endings: Vec<MessageWork>,
}

/// One transmission of a frame, ack or nack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameWay {
    /// Kind. Acks and nacks travel from the message's receiver to its sender.
    pub kind: Kind,
    /// Number in the message; for an ack, the last frame of its group.
    pub number: u16,
    /// Number of earlier transmissions.
    pub again: u16,
    /// The firmware's work up to the queued frame, in order.
    pub works: Vec<MessageWork>,
    /// Transfers of the payload from host memory.
    pub reads: Vec<DmaTransfer>,
    /// Completion of the header.
    pub built: Option<SimTime>,
    /// Transmission by the MAC.
    pub sent: Option<FrameSending>,
    /// Faults and losses.
    pub mishaps: Vec<Mishap>,
    /// Receptions: one, without faults.
    pub arrivals: Vec<FrameArrival>,
}

impl FrameWay {
    /// Whether it carries payload of the message.
    #[must_use]
    pub const fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Header | Kind::Data)
    }
}

/// End of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageEnd {
    /// Both hosts saw success, as far as recorded.
    Completed,
    /// One side failed.
    Failed(Code),
    /// Not ended, or the sender was reset.
    Unfinished,
}

/// A message with all its recorded steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Identity.
    pub id: MessageId,
    /// Tag, if a header frame was recorded.
    pub tag: Option<u16>,
    /// Length in bytes.
    pub length: Option<u32>,
    /// Number of frames, if a header frame was recorded.
    pub frame_count: Option<u16>,
    /// Times of the post.
    pub post: Post,
    /// The firmware's work to open the record.
    pub posting: Vec<MessageWork>,
    /// All frames and acks, in the order in which they were built; one entry per transmission.
    pub frames: Vec<FrameWay>,
    /// Times of retransmission timeouts.
    pub retransmits: Vec<SimTime>,
    /// Completion at the sender.
    pub sent: Option<MessageCompletion>,
    /// Completion at the receiver.
    pub received: Option<MessageCompletion>,
    /// Numbers of its events in the stream, from 0, in order. (Both events of a stage, of a DMA, and so
    /// on.)
    pub events: Vec<u64>,
}

impl Message {
    /// A message without further data.
    pub(super) const fn new(id: MessageId) -> Self {
        Self {
            id,
            tag: None,
            length: None,
            frame_count: None,
            post: Post {
                call: None,
                mailbox: None,
                taken: None,
                returned: None,
            },
            posting: Vec::new(),
            frames: Vec::new(),
            retransmits: Vec::new(),
            sent: None,
            received: None,
            events: Vec::new(),
        }
    }

    /// End of the message.
    #[must_use]
    pub fn end(&self) -> MessageEnd {
        let codes = [&self.sent, &self.received].map(|side| side.as_ref().map(|end| end.code));
        let failure = codes.into_iter().flatten().flatten();
        if let Some(code) = failure.into_iter().find(|code| *code != Code::Done) {
            return MessageEnd::Failed(code);
        }
        match codes {
            [Some(Some(_)), Some(Some(_))] => MessageEnd::Completed,
            _ => MessageEnd::Unfinished,
        }
    }

    /// Frames of the message with payload.
    pub fn data_frames(&self) -> impl Iterator<Item = &FrameWay> {
        self.frames.iter().filter(|frame| frame.is_data())
    }

    /// Acks and nacks of the message.
    pub fn acks(&self) -> impl Iterator<Item = &FrameWay> {
        self.frames.iter().filter(|frame| !frame.is_data())
    }

    /// Number of retransmitted frames.
    #[must_use]
    pub fn frames_resent(&self) -> usize {
        self.data_frames().filter(|frame| frame.again != 0).count()
    }

    /// Time of its first event.
    #[must_use]
    pub fn begin(&self) -> Option<SimTime> {
        let post = &self.post;
        let built = self.frames.first().and_then(|frame| frame.built);
        post.call.or(post.mailbox).or(post.taken).or(built)
    }
}
