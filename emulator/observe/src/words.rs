//! Events as text: the only form in which they are shown and stored.

use std::fmt;

use super::event::{Place, TraceEvent, TraceKind};
use super::line::TextLine;
use super::names::{BoardNames, NO_BOARD};

impl TraceKind {
    /// Writes the event as text, with the names of its board.
    fn write(&self, names: &BoardNames, line: &mut TextLine<'_>) {
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
            Self::DmaStarted { .. }
            | Self::DmaDone { .. }
            | Self::DmaFailed { .. }
            | Self::DmaRests { .. } => self.write_dma(line),
            Self::FrameSent { .. }
            | Self::FrameReceived { .. }
            | Self::FrameDropped { .. }
            | Self::FrameHead { .. }
            | Self::Fault { .. }
            | Self::FrameLost { .. } => self.write_frame(line),
            Self::Interrupt { asserted } => line.text("interrupt ").decimal((*asserted).into()),
            Self::InterruptTaken => line.text("interrupt taken"),
            Self::Signal { present } => line.text("signal ").decimal((*present).into()),
            Self::GuestMistake { text } => line.text("mistake: ").text(text),
            Self::Reset => line.text("reset"),
            Self::PowerOn => line.text("on again"),
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
            Self::EventRaised { cpu, bits } => write_raised(names, line, *cpu, *bits),
            Self::SemaphoreRefused => line.text("semaphore refused"),
            Self::SemaphoreReleased => line.text("semaphore released"),
            Self::FurtherSemaphore { number, effect } => write_semaphore(line, *number, *effect),
            Self::RingIndex { address, value } => write_register(line, "moves ", *address, *value),
            Self::HostReturn { what } => line.text("return ").text(what),
            Self::ProgramEnded { name } => line.text("end of ").text(name),
        };
    }

    /// Writes an event of a DMA channel.
    fn write_dma<'a, 'b>(&self, line: &'a mut TextLine<'b>) -> &'a mut TextLine<'b> {
        match self {
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
            Self::DmaRests { until } => line
                .text("rests until ")
                .decimal(until.ps() / 1_000_000)
                .text(".")
                .padded_decimal(until.ps() % 1_000_000, 6, b'0'),
            _ => line,
        }
    }

    /// Writes an event of a frame.
    fn write_frame<'a, 'b>(&self, line: &'a mut TextLine<'b>) -> &'a mut TextLine<'b> {
        match self {
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
            } => write_lost(line, "fault: ", fault.name(), *port, [*length, *fcs]),
            Self::FrameLost {
                port,
                reason,
                length,
                fcs,
            } => write_lost(line, "frame lost: ", reason.name(), *port, [*length, *fcs]),
            Self::FrameHead { fcs, head } => {
                let line = line.text("frame fcs=0x").digits(*fcs).text(" head=");
                head.iter().fold(line, |line, word| line.digits(*word))
            }
            _ => line,
        }
    }
}

/// Writes bits of a CPU's event register.
fn write_raised<'a, 'b>(
    names: &BoardNames,
    line: &'a mut TextLine<'b>,
    cpu: u32,
    bits: u32,
) -> &'a mut TextLine<'b> {
    let cpu = cpu as usize;
    line.text("raises ");
    match names.cpus.get(cpu) {
        Some(letter) => line.text(letter),
        None => line.decimal(cpu as u64),
    };
    line.text(" ").text(&names.event_bits(cpu, bits))
}

/// Writes an effect on a semaphore behind the first one.
fn write_semaphore<'a, 'b>(
    line: &'a mut TextLine<'b>,
    number: u32,
    effect: u32,
) -> &'a mut TextLine<'b> {
    let effect = match effect {
        0 => " taken",
        1 => " released",
        _ => " refused",
    };
    line.text("semaphore ")
        .decimal(u64::from(number) + 1)
        .text(effect)
}

/// Writes an access to a register.
fn write_register<'a, 'b>(
    line: &'a mut TextLine<'b>,
    verb: &str,
    address: u32,
    value: u32,
) -> &'a mut TextLine<'b> {
    line.field(verb, address.into()).field(" = ", value.into())
}

/// Writes an event of a frame outside of the nodes.
fn write_lost<'a, 'b>(
    line: &'a mut TextLine<'b>,
    title: &str,
    what: &str,
    port: Option<u16>,
    [length, fcs]: [u32; 2],
) -> &'a mut TextLine<'b> {
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

impl TraceEvent {
    /// The event as a text, without time, place and initiator.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        self.kind.write(self.names, &mut TextLine::new(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Appends the event as a line, without the line's end.
    pub fn write_to(&self, text: &mut Vec<u8>) {
        self.write(&mut TextLine::new(text));
    }

    /// Writes the event as a line, without the line's end.
    pub(super) fn write(&self, line: &mut TextLine<'_>) {
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
            .padded(self.initiator_name(), 9)
            .text(" ");
        self.kind.write(self.names, line);
    }
}

/// Formats the output of `write`.
fn show(f: &mut fmt::Formatter<'_>, write: impl FnOnce(&mut TextLine<'_>)) -> fmt::Result {
    let mut text = Vec::new();
    write(&mut TextLine::new(&mut text));
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
        show(f, |line| self.write(&NO_BOARD, line))
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, |line| self.write(line))
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::DropReason;
    use super::*;
    use crate::names::NO_BOARD;
    use emulator_base::fault::FaultKind;
    use emulator_base::initiator::Initiator;
    use emulator_base::loss::LossReason;
    use emulator_base::time::SimTime;

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
            names: &NO_BOARD,
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
