//! Trace events.

use emulator_state::value_enum;
use std::borrow::Cow;
use std::sync::Arc;

use bitflags::bitflags;

use super::names::BoardNames;
use emulator_base::fault::FaultKind;
use emulator_base::initiator::Initiator;
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;

/// Place of a trace event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A node, or the line from it.
    Node(u16),
    /// A switch, or a line from it.
    Switch(u16),
}

/// An event with its time, place and initiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event.
    pub time: SimTime,
    /// Place of the event.
    pub place: Place,
    /// Names of the board at that place.
    pub names: &'static BoardNames,
    /// Initiator of the event.
    pub initiator: Initiator,
    /// The instruction that caused it, if any. Not part of the hash.
    pub pc: Option<u32>,
    /// The event.
    pub kind: TraceKind,
}

/// Reason for which the MAC or the board dropped a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Receiving is not enabled.
    Disabled,
    /// No carrier: the cable is disconnected.
    NoSignal,
    /// A pause frame, which the MAC consumes.
    Pause,
    /// Not addressed to this node.
    Filtered,
    /// The receive buffer or the descriptor ring is full.
    NoSpace,
    /// The receiver, the chip or the machine was reset while it came in.
    Reset,
    /// The frame began within another frame: impossible on a cable.
    Overlap,
}

value_enum!(DropReason {
    Disabled {},
    NoSignal {},
    Pause {},
    Filtered {},
    NoSpace {},
    Reset {},
    Overlap {}
});

/// The first bytes of a frame, or of a packet behind its route, as big-endian words: all headers of EMP and GM fit.
pub type FrameHead = [u32; 9];

/// Kind and data of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceKind {
    /// A host program called the host library ([`Details::HOST`]).
    HostCall {
        /// The program, the call and its purpose.
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
        /// The condition of the poll.
        why: Cow<'static, str>,
        /// The value that was read.
        value: u32,
    },
    /// A core was started.
    CoreStarted {
        /// Start address.
        pc: u32,
    },
    /// A core stopped.
    CoreStopped {
        /// Program counter.
        pc: u32,
        /// Reason of the stop.
        reason: Arc<str>,
    },
    /// The firmware passed an event probe.
    Probe {
        /// The probe's name.
        name: Arc<str>,
        /// Arguments of the probe.
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
        /// The awaited condition.
        what: Arc<str>,
    },
    /// The wait ends.
    WaitExit {
        /// The awaited condition.
        what: Arc<str>,
    },
    /// The firmware logged a line, or a host outside said one on its console.
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
        /// The host address that did not respond.
        host: u64,
    },
    /// The MAC began to send a frame.
    FrameSent {
        /// Address in SRAM.
        address: u32,
        /// Bytes without FCS.
        length: u32,
    },
    /// The MAC has stored a frame.
    FrameReceived {
        /// Address in SRAM.
        address: u32,
        /// Bytes with FCS.
        length: u32,
        /// Status bits.
        status: u32,
    },
    /// The MAC dropped a frame.
    FrameDropped {
        /// Reason of the drop.
        reason: DropReason,
    },
    /// A fault layer changed, delayed or dropped a frame that left this place.
    Fault {
        /// Port of a switch.
        port: Option<u16>,
        /// Type of the fault.
        fault: FaultKind,
        /// Bytes of the frame with FCS.
        length: u32,
        /// FCS of the frame, which identifies it.
        fcs: u32,
    },
    /// A frame was lost on a link or in a switch.
    FrameLost {
        /// Port of a switch.
        port: Option<u16>,
        /// Reason of the loss.
        reason: LossReason,
        /// Bytes of the frame with FCS.
        length: u32,
        /// FCS of the frame, which identifies it.
        fcs: u32,
    },
    /// The board changed its interrupt line.
    Interrupt {
        /// Whether the line is asserted.
        asserted: bool,
    },
    /// A host program received the interrupt that it waited for.
    InterruptTaken,
    /// The carrier on the fibre appeared or disappeared.
    Signal {
        /// Whether the carrier is present.
        present: bool,
    },
    /// A guest did something that the chip does not define.
    GuestMistake {
        /// Description of the mistake.
        text: Arc<str>,
    },
    /// The machine was reset: its programs end, and the board loses its state.
    Reset,
    /// The machine was powered on.
    PowerOn,
    /// A DMA channel pauses before its next burst.
    DmaRests {
        /// End of the pause.
        until: SimTime,
    },
    /// A CPU or the host read a register ([`Details::REGISTERS`]). Skipped rounds of an idle loop are not
    /// recorded: they are equal to the last recorded round.
    RegisterRead {
        /// Register address in the CPUs' address space.
        address: u32,
        /// The value: the whole word, also for a narrower access.
        value: u32,
    },
    /// A CPU or the host wrote a register ([`Details::REGISTERS`]).
    RegisterWrite {
        /// Register address in the CPUs' address space.
        address: u32,
        /// The written value.
        value: u32,
    },
    /// A CPU's `JOFF` jumped to a handler; recorded when the `JOFF` is executed ([`Details::HANDLERS`]). A
    /// `JOFF` without a pending event enters no handler, even if the idle entry of the table has one.
    HandlerEnter {
        /// Start of the handler: the target of the jump in its table entry.
        address: u32,
        /// The event's bit in the event register.
        event: u32,
    },
    /// A handler has ended: the CPU reads its event register for the next round of its dispatch loop, or
    /// dispatches again without that read ([`Details::HANDLERS`]). A handler in which its CPU stops or is
    /// redirected has no exit.
    HandlerExit,
    /// A write took the semaphore for the side whose register was written ([`Details::SEMAPHORE`]). The
    /// initiator is the writer: firmware uses its own CPU's side.
    SemaphoreTaken,
    /// A core reached a debugger's breakpoint ([`Details::STOPS`]).
    Breakpoint,
    /// Memory under a debugger's watchpoint is about to be written ([`Details::STOPS`]).
    MemoryWrite {
        /// Address of the first byte, as given in the watchpoint: SRAM repeats.
        address: u32,
        /// Bytes.
        length: u32,
    },
    /// Bits of a CPU's event register were set, by hardware or software ([`Details::EVENTS`]). The
    /// initiator set them; the timer's bit counts as set by the register's own CPU. Bits set by a reset are
    /// not recorded.
    EventRaised {
        /// The index of the CPU.
        cpu: u32,
        /// The bits that were clear before.
        bits: u32,
    },
    /// A write requested the semaphore while the other side held it ([`Details::SEMAPHORE`]). Waiting
    /// firmware repeats the request.
    SemaphoreRefused,
    /// A write released the semaphore ([`Details::SEMAPHORE`]).
    SemaphoreReleased,
    /// A write to a side of a semaphore behind the first one, on a board with several ([`Details::SEMAPHORE`]).
    FurtherSemaphore {
        /// The number of the semaphore: 1 is the second one.
        number: u32,
        /// The effect: 0 taken, 1 released, 2 refused.
        effect: u32,
    },
    /// MAC, DMA channel or DMA assist moved an index of a ring or a buffer ([`Details::RINGS`]). A write by
    /// software is a [`RegisterWrite`](Self::RegisterWrite).
    RingIndex {
        /// Address of the index register in the CPUs' address space.
        address: u32,
        /// The new value.
        value: u32,
    },
    /// The head of a frame ([`Details::FRAMES`]): that of `FrameSent` or `FrameDropped` at the same time,
    /// or of the next `FrameReceived`; then it is recorded at the frame's last bit.
    FrameHead {
        /// FCS, as in events outside of the nodes.
        fcs: u32,
        /// First bytes of the frame as big-endian words.
        head: FrameHead,
    },
    /// A host program's call has returned ([`Details::HOST`]). The call of a program that a reset ends does
    /// not return.
    HostReturn {
        /// The call, as in [`HostCall`](Self::HostCall).
        what: Arc<str>,
    },
    /// A host program has ended.
    ProgramEnded {
        /// Name of the program.
        name: Arc<str>,
    },
}

bitflags! {
    /// Kinds of events that are recorded on request only. They do not enter a trace's hash or count:
    /// recording them changes no result.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Details: u8 {
        /// Accesses to registers.
        const REGISTERS = 1;
        /// Handlers of events.
        const HANDLERS = 1 << 1;
        /// The semaphore.
        const SEMAPHORE = 1 << 2;
        /// Ring and buffer indices moved by hardware.
        const RINGS = 1 << 3;
        /// Calls of the host library by host programs.
        const HOST = 1 << 4;
        /// Heads of frames that MACs send and receive.
        const FRAMES = 1 << 5;
        /// Breakpoints and watchpoints of a debugger.
        const STOPS = 1 << 6;
        /// Bits of event registers that are set.
        const EVENTS = 1 << 7;
    }
}

impl TraceKind {
    /// The detail to which the event belongs; none if it is always recorded.
    #[must_use]
    pub const fn details(&self) -> Details {
        match self {
            Self::RegisterRead { .. } | Self::RegisterWrite { .. } => Details::REGISTERS,
            Self::HandlerEnter { .. } | Self::HandlerExit => Details::HANDLERS,
            Self::Breakpoint | Self::MemoryWrite { .. } => Details::STOPS,
            Self::SemaphoreTaken
            | Self::SemaphoreRefused
            | Self::SemaphoreReleased
            | Self::FurtherSemaphore { .. } => Details::SEMAPHORE,
            Self::RingIndex { .. } => Details::RINGS,
            Self::EventRaised { .. } => Details::EVENTS,
            Self::FrameHead { .. } => Details::FRAMES,
            Self::HostCall { .. } | Self::HostReturn { .. } => Details::HOST,
            _ => Details::empty(),
        }
    }
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::Disabled,
        Self::NoSignal,
        Self::Pause,
        Self::Filtered,
        Self::NoSpace,
        Self::Reset,
        Self::Overlap,
    ];

    /// Name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "Disabled",
            Self::NoSignal => "NoSignal",
            Self::Pause => "Pause",
            Self::Filtered => "Filtered",
            Self::NoSpace => "NoSpace",
            Self::Reset => "Reset",
            Self::Overlap => "Overlap",
        }
    }

    /// Name in captures and, with underscores, in results.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Disabled => "receiver disabled",
            Self::NoSignal => "no signal",
            Self::Pause => "pause frame",
            Self::Filtered => "filtered",
            Self::NoSpace => "no space",
            Self::Reset => "reset",
            Self::Overlap => "within another frame",
        }
    }
}
