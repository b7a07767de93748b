//! The one trace event.

use std::fmt;
use std::sync::Arc;

use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;

/// Something that happened, when, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TraceEvent {
    /// When.
    pub time: SimTime,
    /// On which node.
    pub node: u16,
    /// By whom.
    pub initiator: Initiator,
    /// What.
    pub kind: TraceKind,
}

/// Why the MAC or the board dropped a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Receiving is not enabled.
    Disabled,
    /// No signal: the cable is out.
    NoSignal,
    /// A pause frame, which is the MAC's own matter.
    Pause,
    /// Addressed to somebody else.
    Filtered,
    /// The receive buffer or the descriptor ring is full.
    NoSpace,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TraceKind {
    /// A host program began a call.
    HostCall {
        /// The call and what it is for.
        what: Arc<str>,
    },
    /// The host wrote a mailbox.
    MailboxWrite {
        /// Mailbox number.
        index: u32,
        /// The value.
        value: u32,
    },
    /// The condition that a host program polled for came true.
    PollSatisfied {
        /// What it waited for.
        why: &'static str,
        /// The value that was read.
        value: u32,
    },
    /// A core was released.
    CoreStarted {
        /// Where it starts.
        pc: u32,
    },
    /// A core stopped.
    CoreStopped {
        /// Where it stands.
        pc: u32,
        /// Why.
        reason: Arc<str>,
    },
    /// The firmware passed an event probe.
    Probe {
        /// The probe's name.
        name: Arc<str>,
        /// Its arguments.
        arguments: Vec<u32>,
    },
    /// A protocol stage begins.
    StageEnter {
        /// The stage's name.
        stage: Arc<str>,
    },
    /// The stage ends.
    StageExit {
        /// The stage's name.
        stage: Arc<str>,
    },
    /// A wait within a stage begins.
    WaitEnter {
        /// What is waited for.
        what: Arc<str>,
    },
    /// The wait ends.
    WaitExit {
        /// What was waited for.
        what: Arc<str>,
    },
    /// The firmware logged a line.
    Log {
        /// The line.
        text: Arc<str>,
    },
    /// A DMA channel began a transfer.
    DmaStarted {
        /// Host address.
        host: u64,
        /// Local address.
        local: u32,
        /// Bytes.
        length: u32,
    },
    /// The transfer is complete.
    DmaDone {
        /// Local end address.
        local_end: u32,
    },
    /// The transfer failed.
    DmaFailed {
        /// The host address where nothing answered.
        host: u64,
    },
    /// The MAC began to send a frame.
    FrameSent {
        /// Where it lies in SRAM.
        address: u32,
        /// Bytes without FCS.
        length: u32,
    },
    /// The MAC has stored a frame.
    FrameReceived {
        /// Where it lies in SRAM.
        address: u32,
        /// Bytes with FCS.
        length: u32,
        /// Status bits.
        status: u32,
    },
    /// The MAC dropped a frame.
    FrameDropped {
        /// Why.
        reason: DropReason,
    },
    /// The board changed its interrupt line.
    Interrupt {
        /// Whether it is asserted.
        asserted: bool,
    },
    /// A host program that waited for an interrupt has got it.
    InterruptTaken,
    /// The signal on the fibre came or went.
    Signal {
        /// Whether it is there now.
        present: bool,
    },
    /// A guest did something that the chip does not define.
    GuestMistake {
        /// What, where.
        text: Arc<str>,
    },
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostCall { what } => write!(f, "call {what}"),
            Self::MailboxWrite { index, value } => write!(f, "mailbox {index} = {value:#x}"),
            Self::PollSatisfied { why, value } => write!(f, "polled {why}: {value:#010x}"),
            Self::CoreStarted { pc } => write!(f, "started at {pc:#x}"),
            Self::CoreStopped { pc, reason } => write!(f, "stopped at {pc:#x}: {reason}"),
            Self::Probe { name, arguments } => {
                write!(f, "{name}")?;
                for argument in arguments {
                    write!(f, " {argument:#x}")?;
                }
                Ok(())
            }
            Self::StageEnter { stage } => write!(f, "[ {stage}"),
            Self::StageExit { stage } => write!(f, "] {stage}"),
            Self::WaitEnter { what } => write!(f, "[ wait: {what}"),
            Self::WaitExit { what } => write!(f, "] wait: {what}"),
            Self::Log { text } => write!(f, "log: {text}"),
            Self::DmaStarted {
                host,
                local,
                length,
            } => write!(f, "start host={host:#x} local={local:#x} length={length}"),
            Self::DmaDone { local_end } => write!(f, "done local_end={local_end:#x}"),
            Self::DmaFailed { host } => write!(f, "failed: nothing at host={host:#x}"),
            Self::FrameSent { address, length } => {
                write!(f, "send at={address:#x} length={length}")
            }
            Self::FrameReceived {
                address,
                length,
                status,
            } => write!(
                f,
                "received at={address:#x} length={length} status={status:#x}"
            ),
            Self::FrameDropped { reason } => write!(f, "dropped: {reason:?}"),
            Self::Interrupt { asserted } => write!(f, "interrupt {}", u8::from(*asserted)),
            Self::InterruptTaken => write!(f, "interrupt taken"),
            Self::Signal { present } => write!(f, "signal {}", u8::from(*present)),
            Self::GuestMistake { text } => write!(f, "mistake: {text}"),
        }
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.time.ps();
        write!(
            f,
            "{:>10}.{:06} n{} {:<9} {}",
            ps / 1_000_000,
            ps % 1_000_000,
            self.node,
            self.initiator,
            self.kind
        )
    }
}
