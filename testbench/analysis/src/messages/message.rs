//! What is known of a message.

use std::fmt;
use std::sync::Arc;

use defs::emp::descriptor::Code;
use defs::emp::frame::Kind;
use emulator::observe::event::{DropReason, Place};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use emulator::wire::fault::FaultKind;
use emulator::wire::loss::LossReason;

/// Which message of a run. Shown as `FROM:TO:NUMBER`; a sender that was reset begins anew, with `#1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The sending node.
    pub from: u16,
    /// The receiving node.
    pub to: u16,
    /// How often the sender was reset before.
    pub life: u16,
    /// Its number among the sender's messages to this receiver, from 0. Frames carry the low 16 bits.
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

/// One of a board's CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cpu {
    /// CPU A.
    A,
    /// CPU B.
    B,
}

impl Cpu {
    /// The CPU that acts.
    #[must_use]
    pub const fn of(initiator: Initiator) -> Option<Self> {
        match initiator {
            Initiator::CpuA => Some(Self::A),
            Initiator::CpuB => Some(Self::B),
            _ => None,
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "CPU A",
            Self::B => "CPU B",
        })
    }
}

/// A CPU was in a stage of the firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The node.
    pub node: u16,
    /// Its CPU.
    pub cpu: Cpu,
    /// The stage.
    pub stage: Arc<str>,
    /// When the stage was entered.
    pub from: SimTime,
    /// When it was left.
    pub to: SimTime,
}

/// A transfer between host memory and SRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dma {
    /// Its first byte's address in SRAM.
    pub local: u32,
    /// Bytes.
    pub length: u32,
    /// When the channel took it.
    pub from: SimTime,
    /// When it was over.
    pub to: Option<SimTime>,
    /// Host memory did not answer.
    pub failed: bool,
}

/// How the host posted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Post {
    /// The host's call begins.
    pub call: Option<SimTime>,
    /// The mailbox is written.
    pub mailbox: Option<SimTime>,
    /// The firmware has taken the descriptor and opened the message's record.
    pub taken: Option<SimTime>,
    /// The call is back.
    pub returned: Option<SimTime>,
}

/// How one side learned of the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What became of it; `None` for a value that the firmware does not have.
    pub code: Option<Code>,
    /// When the stage began that wrote the status. The word is written between the two.
    pub not_before: SimTime,
    /// When the firmware told of it.
    pub told: SimTime,
    /// When the poll that saw the status read it in SRAM.
    pub seen: Option<SimTime>,
    /// When the host had it.
    pub returned: Option<SimTime>,
}

/// What befell a frame on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MishapKind {
    /// A fault layer struck.
    Fault(FaultKind),
    /// A line or a switch lost it.
    Lost(LossReason),
    /// The receiving MAC dropped it.
    Dropped(DropReason),
    /// The receiving MAC stored it with these status bits.
    Damaged(u32),
    /// The receiver's firmware did not take it.
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

/// Something befell a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mishap {
    /// When.
    pub time: SimTime,
    /// Where.
    pub place: Place,
    /// What.
    pub kind: MishapKind,
}

/// A frame on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Where it lies in the sender's SRAM.
    pub address: u32,
    /// Bytes without FCS, as the firmware gave them to the MAC.
    pub length: u32,
    /// Its first bit leaves.
    pub first_bit: SimTime,
}

/// What became of a frame that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The firmware has not got to it, or nothing tells.
    Unknown,
    /// It found its message, then.
    Matched(SimTime),
    /// It is an ack, and was taken then.
    Taken(SimTime),
    /// It was dropped then.
    Refused(SimTime),
}

/// A frame at its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The last bit is in.
    pub last_bit: Option<SimTime>,
    /// The MAC has stored it, and the firmware can know.
    pub received: SimTime,
    /// Where it lies in the receiver's SRAM.
    pub address: u32,
    /// What the firmware did with it until its DMA was queued, in order.
    pub works: Vec<Work>,
    /// What became of it.
    pub fate: Fate,
    /// The transfers of its payload to host memory.
    pub writes: Vec<Dma>,
    /// What the firmware did when these were over.
    pub endings: Vec<Work>,
}

/// One sending of one frame, or of an ack or nack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameWay {
    /// What it is. Acks and nacks go from the message's receiver to its sender.
    pub kind: Kind,
    /// Its number in the message; an ack's group ends with this frame.
    pub number: u16,
    /// How often it was sent before.
    pub again: u16,
    /// What the firmware did until the frame was the MAC's, in order.
    pub works: Vec<Work>,
    /// The transfers of its payload from host memory.
    pub reads: Vec<Dma>,
    /// The firmware has written its header.
    pub built: Option<SimTime>,
    /// The MAC sends it.
    pub sent: Option<Sending>,
    /// What befell it.
    pub mishaps: Vec<Mishap>,
    /// Its arrivals: one, if all is well.
    pub arrivals: Vec<Arrival>,
}

impl FrameWay {
    /// Whether it carries a part of the message.
    #[must_use]
    pub const fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Header | Kind::Data)
    }
}

/// How a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Both hosts were told that all is well, as far as they were told.
    Completed,
    /// One side gave it up.
    Failed(Code),
    /// It had not ended, or its sender was reset.
    Unfinished,
}

/// The way of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Which one.
    pub id: MessageId,
    /// The tag that its sender gave it, if a header frame was seen.
    pub tag: Option<u16>,
    /// Bytes.
    pub length: Option<u32>,
    /// Frames, if a header frame was seen.
    pub frame_count: Option<u16>,
    /// The post.
    pub post: Post,
    /// What the firmware did to open its record.
    pub posting: Vec<Work>,
    /// All frames, acks too, in the order in which they were built; each sending by itself.
    pub frames: Vec<FrameWay>,
    /// When groups without an ack were queued to be sent again.
    pub retransmits: Vec<SimTime>,
    /// The sender's side of the end.
    pub sent: Option<Completion>,
    /// The receiver's side of the end.
    pub received: Option<Completion>,
    /// The numbers of its events in the stream, from 0, in order. (A stage's two, a DMA's two, and so on.)
    pub events: Vec<u64>,
}

impl Message {
    /// A message of which nothing else is known.
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

    /// How it ended.
    #[must_use]
    pub fn end(&self) -> End {
        let codes = [&self.sent, &self.received].map(|side| side.as_ref().map(|end| end.code));
        let failure = codes.into_iter().flatten().flatten();
        if let Some(code) = failure.into_iter().find(|code| *code != Code::Done) {
            return End::Failed(code);
        }
        match codes {
            [Some(Some(_)), Some(Some(_))] => End::Completed,
            _ => End::Unfinished,
        }
    }

    /// The frames that carry its parts.
    pub fn data_frames(&self) -> impl Iterator<Item = &FrameWay> {
        self.frames.iter().filter(|frame| frame.is_data())
    }

    /// Its acks and nacks.
    pub fn acks(&self) -> impl Iterator<Item = &FrameWay> {
        self.frames.iter().filter(|frame| !frame.is_data())
    }

    /// Frames that were sent again.
    #[must_use]
    pub fn frames_resent(&self) -> usize {
        self.data_frames().filter(|frame| frame.again != 0).count()
    }

    /// The first moment that is known of it.
    #[must_use]
    pub fn begin(&self) -> Option<SimTime> {
        let post = &self.post;
        let built = self.frames.first().and_then(|frame| frame.built);
        post.call.or(post.mailbox).or(post.taken).or(built)
    }
}
