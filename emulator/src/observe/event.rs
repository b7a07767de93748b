//! The one trace event.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bitflags::bitflags;

use super::line::Line;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::wire::fault::FaultKind;
use crate::wire::line::LossReason;

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
        /// Address of the first byte, as who writes has it.
        address: u32,
        /// Bytes.
        length: u32,
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
    }
}

impl TraceKind {
    /// Writes it for people: the one form in which events are shown and stored.
    fn write(&self, line: &mut Line<'_>) {
        match self {
            Self::HostCall { what } => line.text("call ").text(what),
            Self::MailboxWrite { index, value } => line
                .text("mailbox ")
                .decimal((*index).into())
                .field(" = ", (*value).into()),
            Self::PollSatisfied { why, value } => {
                line.text("polled ").text(why).text(": 0x").digits(*value)
            }
            Self::CoreStarted { pc } => line.field("started at ", (*pc).into()),
            Self::CoreStopped { pc, reason } => line
                .field("stopped at ", (*pc).into())
                .text(": ")
                .text(reason),
            Self::Probe { name, arguments } => {
                arguments.iter().fold(line.text(name), |line, &argument| {
                    line.field(" ", argument.into())
                })
            }
            Self::StageEnter { stage } => line.text("[ ").text(stage),
            Self::StageExit { stage } => line.text("] ").text(stage),
            Self::WaitEnter { what } => line.text("[ wait: ").text(what),
            Self::WaitExit { what } => line.text("] wait: ").text(what),
            Self::Log { text } => line.text("log: ").text(text),
            Self::DmaStarted {
                host,
                local,
                length,
            } => line
                .field("start host=", *host)
                .field(" local=", (*local).into())
                .text(" length=")
                .decimal((*length).into()),
            Self::DmaDone { local_end } => line.field("done local_end=", (*local_end).into()),
            Self::DmaFailed { host } => line.field("failed: nothing at host=", *host),
            Self::FrameSent { address, length } => line
                .field("send at=", (*address).into())
                .text(" length=")
                .decimal((*length).into()),
            Self::FrameReceived {
                address,
                length,
                status,
            } => line
                .field("received at=", (*address).into())
                .text(" length=")
                .decimal((*length).into())
                .field(" status=", (*status).into()),
            Self::FrameDropped { reason } => line.text("dropped: ").text(reason.name()),
            Self::Fault {
                port,
                fault,
                length,
                fcs,
            } => write_frame(line, "fault: ", fault.name(), *port, [*length, *fcs]),
            Self::FrameLost {
                port,
                reason,
                length,
                fcs,
            } => write_frame(line, "frame lost: ", reason.name(), *port, [*length, *fcs]),
            Self::Interrupt { asserted } => line.text("interrupt ").decimal((*asserted).into()),
            Self::InterruptTaken => line.text("interrupt taken"),
            Self::Signal { present } => line.text("signal ").decimal((*present).into()),
            Self::GuestMistake { text } => line.text("mistake: ").text(text),
            Self::Reset => line.text("reset"),
            Self::PowerOn => line.text("on again"),
            Self::DmaRests { until } => line
                .text("rests until ")
                .decimal(until.ps() / 1_000_000)
                .text(".")
                .padded_decimal(until.ps() % 1_000_000, 6, b'0'),
            Self::RegisterRead { address, value } => {
                write_register(line, "read ", *address, *value)
            }
            Self::RegisterWrite { address, value } => {
                write_register(line, "write ", *address, *value)
            }
            Self::HandlerEnter { address, event } => line
                .field("{ handler ", (*address).into())
                .text(" event=")
                .decimal((*event).into()),
            Self::HandlerExit => line.text("} handler"),
            Self::SemaphoreTaken => line.text("semaphore taken"),
            Self::Breakpoint => line.text("breakpoint"),
            Self::MemoryWrite { address, length } => line
                .field("memory write at=", (*address).into())
                .text(" length=")
                .decimal((*length).into()),
            Self::SemaphoreRefused => line.text("semaphore refused"),
            Self::SemaphoreReleased => line.text("semaphore released"),
            Self::RingIndex { address, value } => write_register(line, "moves ", *address, *value),
            Self::FrameHead { fcs, head } => {
                let line = line.text("frame fcs=0x").digits(*fcs).text(" head=");
                head.iter().fold(line, |line, word| line.digits(*word))
            }
            Self::HostReturn { what } => line.text("return ").text(what),
            Self::ProgramEnded { name } => line.text("end of ").text(name),
        };
    }

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
            Self::FrameHead { .. } => Details::FRAMES,
            Self::HostCall { .. } | Self::HostReturn { .. } => Details::HOST,
            _ => Details::empty(),
        }
    }
}

/// What happened to a register.
fn write_register<'a, 'b>(
    line: &'a mut Line<'b>,
    verb: &str,
    address: u32,
    value: u32,
) -> &'a mut Line<'b> {
    line.field(verb, address.into()).field(" = ", value.into())
}

/// What happened to a frame outside the nodes.
fn write_frame<'a, 'b>(
    line: &'a mut Line<'b>,
    title: &str,
    what: &str,
    port: Option<u16>,
    [length, fcs]: [u32; 2],
) -> &'a mut Line<'b> {
    if let Some(port) = port {
        line.text("port ").decimal(port.into()).text(" ");
    }
    line.text(title)
        .text(what)
        .text(" length=")
        .decimal(length.into())
        .text(" fcs=0x")
        .digits(fcs)
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

impl TraceEvent {
    /// Appends it to a text as a line without its end.
    pub fn write_to(&self, text: &mut Vec<u8>) {
        self.write(&mut Line::new(text));
    }

    /// Writes it as a line without its end.
    pub(super) fn write(&self, line: &mut Line<'_>) {
        let ps = self.time.ps();
        let (kind, number) = match self.place {
            Place::Node(node) => (" n", node),
            Place::Switch(switch) => (" s", switch),
        };
        line.padded_decimal(ps / 1_000_000, 10, b' ')
            .text(".")
            .padded_decimal(ps % 1_000_000, 6, b'0')
            .text(kind)
            .decimal(number.into())
            .text(" ")
            .padded(self.initiator.name(), 9)
            .text(" ");
        self.kind.write(line);
    }
}

/// Gives what `write` writes to a formatter.
fn show(f: &mut fmt::Formatter<'_>, write: impl FnOnce(&mut Line<'_>)) -> fmt::Result {
    let mut text = Vec::new();
    write(&mut Line::new(&mut text));
    f.write_str(&String::from_utf8_lossy(&text))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Switch(switch) => write!(f, "switch {switch}"),
        }
    }
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, |line| self.write(line))
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, |line| self.write(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_each_kind() {
        let check = |kind: TraceKind, expected: &str| assert_eq!(kind.to_string(), expected);
        let (index, value, pc) = (3, 0x4A, 0x4000);
        check(TraceKind::MailboxWrite { index, value }, "mailbox 3 = 0x4a");
        check(TraceKind::Reset, "reset");
        check(TraceKind::PowerOn, "on again");
        let until = SimTime::from_ns(12_345);
        check(TraceKind::DmaRests { until }, "rests until 12.345000");
        let why = "a word".into();
        check(
            TraceKind::PollSatisfied { why, value },
            "polled a word: 0x0000004a",
        );
        let reason = "break 7".into();
        check(
            TraceKind::CoreStopped { pc, reason },
            "stopped at 0x4000: break 7",
        );
        let (name, arguments) = ("sent".into(), vec![0, u32::MAX]);
        check(TraceKind::Probe { name, arguments }, "sent 0x0 0xffffffff");
        let (host, local, length) = (0x1_0000_0000, 0x60, 1514);
        check(
            TraceKind::DmaStarted {
                host,
                local,
                length,
            },
            "start host=0x100000000 local=0x60 length=1514",
        );
        let reason = DropReason::NoSpace;
        check(TraceKind::FrameDropped { reason }, "dropped: NoSpace");
        let address = 0xC000_0040;
        check(
            TraceKind::RegisterWrite { address, value },
            "write 0xc0000040 = 0x4a",
        );
        let (address, event) = (0xC0_0328, 6);
        let entered = TraceKind::HandlerEnter { address, event };
        check(entered, "{ handler 0xc00328 event=6");
        let (fcs, head) = (7, [0x0200, 0, 0, 0, 0, 0, 0, 0, u32::MAX]);
        let zeros = "00000000".repeat(7);
        check(
            TraceKind::FrameHead { fcs, head },
            &format!("frame fcs=0x00000007 head=00000200{zeros}ffffffff"),
        );
        let (length, fcs) = (64, 0x12AB);
        let (port, fault) = (None, FaultKind::Delayed);
        check(
            TraceKind::Fault {
                port,
                fault,
                length,
                fcs,
            },
            "fault: delayed length=64 fcs=0x000012ab",
        );
        let (port, reason) = (Some(3), LossReason::BufferFull);
        check(
            TraceKind::FrameLost {
                port,
                reason,
                length,
                fcs,
            },
            "port 3 frame lost: buffer full length=64 fcs=0x000012ab",
        );
    }

    #[test]
    fn columns() {
        let event = |ps, initiator| TraceEvent {
            time: SimTime::from_ps(ps),
            place: Place::Node(12),
            initiator,
            pc: None,
            kind: TraceKind::InterruptTaken,
        };
        assert_eq!(
            event(1_000_042, Initiator::Host).to_string(),
            "         1.000042 n12 host      interrupt taken"
        );
        assert_eq!(
            event(u64::MAX, Initiator::DmaWrite).to_string(),
            "18446744073709.551615 n12 dma_write interrupt taken"
        );
        let in_a_switch = TraceEvent {
            place: Place::Switch(4),
            ..event(0, Initiator::Wire)
        };
        assert_eq!(
            in_a_switch.to_string(),
            "         0.000000 s4 wire      interrupt taken"
        );
    }
}
