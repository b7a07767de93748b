//! Short names of event kinds and hardware blocks, for selecting events. They are stable: filters, stored
//! traces and tests use them.

use super::event::{Details, Place, TraceEvent, TraceKind};
use crate::sim::initiator::Initiator;
use crate::tigon2::map;

/// A name and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
}

const fn name(name: &'static str, about: &'static str) -> Name {
    Name { name, about }
}

/// Defines the kinds of events: variant, name, meaning.
macro_rules! kinds {
    ($($kind:ident, $name:literal, $about:literal;)*) => {
        /// All kinds of events.
        pub const KINDS: &[Name] = &[$(name($name, $about)),*];

        impl TraceKind {
            /// The kind's short name, one of [`KINDS`].
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind { .. } => $name,)*
                }
            }
        }
    };
}

kinds! {
    HostCall, "host-call", "a host program begins a call of the host library";
    HostReturn, "host-return", "the call has come back";
    ProgramEnded, "program-end", "a host program has ended";
    PollSatisfied, "poll-end", "the condition that a host program polled for is true";
    InterruptTaken, "interrupt-taken", "a host program received the interrupt that it waited for";
    Interrupt, "interrupt", "the board asserts or deasserts its interrupt";
    MailboxWrite, "mailbox-write", "the host wrote a mailbox";
    CoreStarted, "core-start", "a CPU was released";
    CoreStopped, "core-stop", "a CPU stopped by itself";
    Probe, "probe", "the firmware passed an event probe";
    Log, "log", "the firmware logged a line";
    StageEnter, "stage-enter", "a protocol stage begins";
    StageExit, "stage-exit", "a protocol stage ends";
    WaitEnter, "wait-enter", "a wait within a stage begins";
    WaitExit, "wait-exit", "a wait within a stage ends";
    HandlerEnter, "handler-enter", "a CPU's dispatch jumped to a handler";
    HandlerExit, "handler-exit", "a CPU is back at its dispatch";
    SemaphoreTaken, "semaphore-taken", "the semaphore was free and was taken";
    Breakpoint, "breakpoint", "a core reached a debugger's breakpoint";
    MemoryWrite, "memory-write", "memory under a debugger's watchpoint is about to be written";
    EventRaised, "event-raised", "bits of an event register were set";
    SemaphoreRefused, "semaphore-refused", "the semaphore was requested while the other side held it";
    SemaphoreReleased, "semaphore-released", "the semaphore was released";
    RegisterRead, "register-read", "a CPU or the host read a register";
    RegisterWrite, "register-write", "a CPU or the host wrote a register";
    RingIndex, "ring-index", "hardware moved an index of a ring or a buffer";
    DmaStarted, "dma-start", "a DMA channel began a transfer";
    DmaDone, "dma-done", "a transfer is complete";
    DmaFailed, "dma-failed", "host memory did not answer a transfer";
    DmaRests, "dma-rests", "a DMA channel pauses before its next burst";
    FrameSent, "frame-sent", "the MAC began to send a frame";
    FrameReceived, "frame-received", "the MAC has stored a frame";
    FrameDropped, "frame-dropped", "the MAC dropped a frame";
    FrameHead, "frame-head", "the first bytes of a frame that the MAC sends or receives";
    Fault, "fault", "a fault layer did something to a frame";
    FrameLost, "frame-lost", "a frame was lost on a link or in a switch";
    Signal, "signal", "the carrier on the fibre appeared or disappeared";
    GuestMistake, "mistake", "a guest did something that the chip does not define";
    Reset, "reset", "the machine was reset";
    PowerOn, "power-on", "the machine was powered on";
}

/// The details that must be recorded for events of the kind with this name.
#[must_use]
pub fn details_of(name: &str) -> Details {
    match name {
        "register-read" | "register-write" => Details::REGISTERS,
        "handler-enter" | "handler-exit" => Details::HANDLERS,
        "semaphore-taken" | "semaphore-refused" | "semaphore-released" => Details::SEMAPHORE,
        "ring-index" => Details::RINGS,
        "frame-head" => Details::FRAMES,
        "host-call" | "host-return" => Details::HOST,
        "breakpoint" | "memory-write" => Details::STOPS,
        "event-raised" => Details::EVENTS,
        _ => Details::empty(),
    }
}

/// All blocks, in the order of the data path.
pub const BLOCKS: &[Name] = &[
    name("host", "programs of the host"),
    name("window", "the host's movable view of SRAM"),
    name("pci", "the board's PCI side: control, interrupt"),
    name("mailbox", "mailboxes and their events"),
    name("event", "event registers"),
    name("timer", "timer"),
    name("semaphore", "semaphore"),
    name("cpu_a", "CPU A"),
    name("cpu_b", "CPU B"),
    name("dma_read", "DMA channel from the host to the NIC"),
    name("dma_write", "DMA channel from the NIC to the host"),
    name("assist", "DMA rings and their hardware assist"),
    name("mac", "registers shared by both sides of the MAC"),
    name("mac_tx", "transmit side of the MAC"),
    name("mac_rx", "receive side of the MAC"),
    name("serdes", "serializer, link partner and fibre"),
    name("serial", "serial port"),
    name("storage", "registers without a function"),
    name("wire", "links and fault layers"),
    name("switch", "switches"),
    name("power", "the machine's power and reset"),
    name("debugger", "a debugger or a test"),
];

impl TraceEvent {
    /// The hardware block that the event concerns, one of [`BLOCKS`]. For an access it is the register's
    /// block, not the CPU.
    #[must_use]
    pub fn block(&self) -> &'static str {
        match &self.kind {
            TraceKind::HostCall { .. }
            | TraceKind::HostReturn { .. }
            | TraceKind::ProgramEnded { .. }
            | TraceKind::PollSatisfied { .. }
            | TraceKind::InterruptTaken => Initiator::Host.name(),
            TraceKind::Interrupt { .. } => "pci",
            TraceKind::MailboxWrite { .. } => "mailbox",
            TraceKind::EventRaised { .. } => "event",
            TraceKind::SemaphoreTaken
            | TraceKind::SemaphoreRefused
            | TraceKind::SemaphoreReleased => "semaphore",
            TraceKind::RegisterRead { address, .. }
            | TraceKind::RegisterWrite { address, .. }
            | TraceKind::RingIndex { address, .. } => map::block_of(*address),
            TraceKind::Signal { .. } => "serdes",
            TraceKind::Fault { .. } | TraceKind::FrameLost { .. } => match self.place {
                Place::Node(_) => "wire",
                Place::Switch(_) => "switch",
            },
            _ => self.initiator.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::time::SimTime;

    fn is_listed(list: &[Name], name: &str) -> bool {
        list.iter().any(|one| one.name == name)
    }

    #[test]
    fn each_name_stands_once() {
        for list in [KINDS, BLOCKS] {
            for (i, one) in list.iter().enumerate() {
                assert!(!is_listed(&list[..i], one.name), "{}", one.name);
                assert!(!one.about.is_empty());
            }
        }
    }

    #[test]
    fn every_block_is_listed() {
        let registers = (0..0x400).step_by(4).map(map::register_address);
        for block in registers.map(map::block_of) {
            assert!(is_listed(BLOCKS, block), "{block}");
        }
        let kind = || TraceKind::Reset;
        for initiator in [
            Initiator::MacReceive,
            Initiator::MacTransmit,
            Initiator::DmaRead,
            Initiator::DmaWrite,
            Initiator::Host,
            Initiator::CpuA,
            Initiator::CpuB,
            Initiator::Debugger,
            Initiator::Power,
            Initiator::Wire,
        ] {
            let block = event(initiator, kind()).block();
            assert_eq!(block, initiator.name());
            assert!(is_listed(BLOCKS, block), "{block}");
        }
    }

    fn event(initiator: Initiator, kind: TraceKind) -> TraceEvent {
        TraceEvent {
            time: SimTime::ZERO,
            place: Place::Node(0),
            initiator,
            pc: None,
            kind,
        }
    }

    #[test]
    fn an_access_concerns_the_block_of_its_register() {
        let check = |address, block| {
            let kind = TraceKind::RegisterRead { address, value: 0 };
            let event = event(Initiator::CpuB, kind);
            assert_eq!((event.kind.name(), event.block()), ("register-read", block));
        };
        check(0xC000_0048, "semaphore");
        check(0xC000_00B0, "dma_read");
        check(0xC000_00A0, "dma_write");
        check(0xC000_00C4, "mac_rx");
        check(0xC000_00D8, "mac_tx");
        check(0xC000_0208, "mac");
        check(0xC000_0180, "cpu_a");
        check(0xC000_02FC, "cpu_b");
        check(0xC000_03FC, "storage");
    }
}
