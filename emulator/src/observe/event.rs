//! The one trace event.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bitflags::bitflags;

use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::wire::fault::FaultKind;
use crate::wire::loss::LossReason;

/// Where something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// On a node, or on the way from it to the next place.
    Node(u16),
    /// In a switch, or on the way from it.
    Switch(u16),
}

/// Something that happened, when, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub time: SimTime,
    /// Where.
    pub place: Place,
    /// By whom.
    pub initiator: Initiator,
    /// The instruction that did it, if one did. No part of the hash.
    pub pc: Option<u32>,
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

/// The first bytes of a frame as big-endian words: all of EMP's headers fit.
pub type FrameHead = [u32; 9];

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TraceKind {
    /// A host program began a call of the host library ([`Details::HOST`]).
    HostCall {
        /// The program, the call, and what it is for.
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
        why: Cow<'static, str>,
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
    /// A fault layer did something to a frame that left here.
    Fault {
        /// At which port of a switch.
        port: Option<u16>,
        /// What.
        fault: FaultKind,
        /// Bytes of the frame with FCS.
        length: u32,
        /// Its FCS, by which it can be found.
        fcs: u32,
    },
    /// A frame was lost on a link or in a switch.
    FrameLost {
        /// At which port of a switch.
        port: Option<u16>,
        /// Why.
        reason: LossReason,
        /// Bytes of the frame with FCS.
        length: u32,
        /// Its FCS, by which it can be found.
        fcs: u32,
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
    /// The machine was reset: its programs end, and the board forgets what it was at.
    Reset,
    /// The machine is on again.
    PowerOn,
    /// A DMA channel rests before its next burst.
    DmaRests {
        /// Until then.
        until: SimTime,
    },
    /// A CPU or the host read a register ([`Details::REGISTERS`]). The rounds of an idle loop that the board skips
    /// are not recorded: they are like the last one that is.
    RegisterRead {
        /// Its address, as CPUs have it.
        address: u32,
        /// What was read: the whole word, however narrow the access.
        value: u32,
    },
    /// A CPU or the host wrote a register ([`Details::REGISTERS`]).
    RegisterWrite {
        /// Its address, as CPUs have it.
        address: u32,
        /// What was written.
        value: u32,
    },
    /// A CPU's `JOFF` led to a handler; recorded when the `JOFF` is executed ([`Details::HANDLERS`]). One that finds
    /// no event due leads to no handler, whatever stands in that entry of the table.
    HandlerEnter {
        /// Where the handler begins: where the jump in its entry of the table leads.
        address: u32,
        /// The event's bit in the event register.
        event: u32,
    },
    /// The handler is over: the CPU is back at the read of its event register that begins a round of its dispatch
    /// loop, or dispatches anew without it ([`Details::HANDLERS`]). A handler in which its CPU stops, or is sent
    /// elsewhere, has no exit.
    HandlerExit,
    /// A write took the semaphore for the side whose register it wrote ([`Details::SEMAPHORE`]). The initiator is who
    /// wrote: firmware uses its own CPU's side.
    SemaphoreTaken,
    /// A core comes to an instruction that a debugger asked about ([`Details::STOPS`]).
    Breakpoint,
    /// Memory that a debugger asked about is about to be written ([`Details::STOPS`]).
    MemoryWrite {
        /// Address of the first byte, as who watches has it: SRAM repeats.
        address: u32,
        /// Bytes.
        length: u32,
    },
    /// Bits of a CPU's event register have come up, hardware's or software's ([`Details::EVENTS`]). The initiator is
    /// who raised them; the timer's bit, which time itself raises, is told as that CPU's own. What a reset leaves in
    /// the registers did not come up.
    EventRaised {
        /// The CPU: 0 = A, 1 = B.
        cpu: u32,
        /// The bits that were down just before.
        bits: u32,
    },
    /// A write asked for the semaphore, and the other side has it ([`Details::SEMAPHORE`]). Firmware that waits for it
    /// asks again and again.
    SemaphoreRefused,
    /// A write gave the semaphore back ([`Details::SEMAPHORE`]).
    SemaphoreReleased,
    /// MAC, DMA channel or DMA assist moved an index of a ring or a buffer ([`Details::RINGS`]). What software writes
    /// to such a register is a [`RegisterWrite`](Self::RegisterWrite).
    RingIndex {
        /// The address of the register that shows it, as CPUs have it.
        address: u32,
        /// The new value.
        value: u32,
    },
    /// The head of a frame ([`Details::FRAMES`]): the one that the MAC's `FrameSent` or `FrameDropped` at the same
    /// time is about, or the next `FrameReceived`, and then it is recorded when the frame's last bit is in.
    FrameHead {
        /// Its FCS, as in what happens to it outside the nodes.
        fcs: u32,
        /// Its first bytes as big-endian words.
        head: FrameHead,
    },
    /// What a host program called has come back ([`Details::HOST`]). A program that is cut off by a reset gets
    /// nothing back.
    HostReturn {
        /// The call, as when it began.
        what: Arc<str>,
    },
    /// A host program has ended.
    ProgramEnded {
        /// Its name.
        name: Arc<str>,
    },
}

bitflags! {
    /// Kinds of events that are recorded only when somebody asks for them, and enter neither a trace's hash
    /// nor its count: looking at them changes no result.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Details: u8 {
        /// Accesses to registers.
        const REGISTERS = 1;
        /// Handlers of events.
        const HANDLERS = 1 << 1;
        /// The semaphore.
        const SEMAPHORE = 1 << 2;
        /// Indices of rings and buffers that hardware moves.
        const RINGS = 1 << 3;
        /// Host programs' calls of the host library.
        const HOST = 1 << 4;
        /// Heads of the frames that MACs send and receive.
        const FRAMES = 1 << 5;
        /// Instructions and memory that a debugger asked about.
        const STOPS = 1 << 6;
        /// Bits of the event registers that come up.
        const EVENTS = 1 << 7;
    }
}

impl TraceKind {
    /// The details to which it belongs; none if it is always recorded.
    #[must_use]
    pub const fn details(&self) -> Details {
        match self {
            Self::RegisterRead { .. } | Self::RegisterWrite { .. } => Details::REGISTERS,
            Self::HandlerEnter { .. } | Self::HandlerExit => Details::HANDLERS,
            Self::Breakpoint | Self::MemoryWrite { .. } => Details::STOPS,
            Self::SemaphoreTaken | Self::SemaphoreRefused | Self::SemaphoreReleased => {
                Details::SEMAPHORE
            }
            Self::RingIndex { .. } => Details::RINGS,
            Self::EventRaised { .. } => Details::EVENTS,
            Self::FrameHead { .. } => Details::FRAMES,
            Self::HostCall { .. } | Self::HostReturn { .. } => Details::HOST,
            _ => Details::empty(),
        }
    }
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Disabled,
        Self::NoSignal,
        Self::Pause,
        Self::Filtered,
        Self::NoSpace,
    ];

    /// The name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::NoSignal => "NoSignal",
            Self::Pause => "Pause",
            Self::Filtered => "Filtered",
            Self::NoSpace => "NoSpace",
        }
    }
}

impl Hash for TraceEvent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Where code lies is not what happens.
        (self.time, self.place, self.initiator, &self.kind).hash(state);
    }
}
