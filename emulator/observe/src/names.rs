//! Short names of event kinds and hardware blocks, for selecting events. They are stable: filters, stored
//! traces and tests use them.

use super::event::{Details, Place, TraceEvent, TraceKind};
use super::gauges::{FrameBuffers, Gauge};
use emulator_base::initiator::Initiator;
use emulator_cpu::architecture::Architecture;

/// A name and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
}

/// A name with its meaning.
#[must_use]
pub const fn name(name: &'static str, about: &'static str) -> Name {
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
    FurtherSemaphore, "further-semaphore", "another one of several semaphores was taken, refused or released";
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
        "semaphore-taken" | "semaphore-refused" | "semaphore-released" | "further-semaphore" => {
            Details::SEMAPHORE
        }
        "ring-index" => Details::RINGS,
        "frame-head" => Details::FRAMES,
        "host-call" | "host-return" => Details::HOST,
        "breakpoint" | "memory-write" => Details::STOPS,
        "event-raised" => Details::EVENTS,
        _ => Details::empty(),
    }
}

/// An initiator's names.
#[derive(Debug, Clone, Copy)]
pub struct InitiatorName {
    /// The initiator.
    pub initiator: Initiator,
    /// Name in traces and filters: `dma_read`.
    pub name: &'static str,
    /// Name in headings: `DMA read`.
    pub title: &'static str,
}

/// The names of an initiator.
#[must_use]
pub const fn initiator(
    initiator: Initiator,
    name: &'static str,
    title: &'static str,
) -> InitiatorName {
    InitiatorName {
        initiator,
        name,
        title,
    }
}

/// Names of a type of board in events, for text and filters.
#[derive(Debug)]
pub struct BoardNames {
    /// Name of the type of board in scenarios and files; empty for a place without a board.
    pub board: &'static str,
    /// Names of the initiators, by rank.
    pub initiators: &'static [InitiatorName],
    /// All blocks, in the order of the data path, with those of [`COMMON_BLOCKS`].
    pub blocks: &'static [Name],
    /// The block of the register at a CPU's address.
    pub block_of: fn(u32) -> &'static str,
    /// Name of the register at a CPU's address: `dma_read_state`; `None` without a register.
    pub register: fn(u32) -> Option<String>,
    /// Name and address of each register, by address.
    pub registers: fn() -> Vec<(String, u32)>,
    /// The set bits of a register's value by name; `None` if the register holds no bits, or all are 0.
    pub bits: fn(u32, u32) -> Option<String>,
    /// Instruction set of the CPUs; `None` without CPUs.
    pub architecture: Option<&'static dyn Architecture>,
    /// Short names of the CPUs, by index: `a`.
    pub cpus: &'static [&'static str],
    /// Address of the event register of each CPU; empty without such registers.
    pub event_registers: &'static [u32],
    /// Name of a bit in an event register; `None` if it has no fixed meaning.
    pub event: fn(u32) -> Option<&'static str>,
    /// Fill levels of rings and buffers, along the path of a message.
    pub gauges: &'static [Gauge],
    /// Buffers of frames.
    pub frame_buffers: FrameBuffers,
}

/// Names at a place without a board: a switch, a line, a toy board of a test.
pub static NO_BOARD: BoardNames = BoardNames {
    board: "",
    initiators: &[
        initiator(Initiator::Receiver, "receiver", "receiver"),
        initiator(Initiator::Transmitter, "transmitter", "transmitter"),
        initiator(Initiator::DmaRead, "dma_read", "DMA read"),
        initiator(Initiator::DmaWrite, "dma_write", "DMA write"),
        initiator(Initiator::Host, "host", "host"),
        initiator(Initiator::Cpu(0), "cpu", "CPU"),
        initiator(Initiator::Debugger, "debugger", "debugger"),
        initiator(Initiator::Power, "power", "power"),
        initiator(Initiator::Wire, "wire", "wire"),
    ],
    blocks: COMMON_BLOCKS,
    block_of: |_| "storage",
    register: |_| None,
    registers: Vec::new,
    bits: |_, _| None,
    architecture: None,
    cpus: &[],
    event_registers: &[],
    event: |_| None,
    gauges: &[],
    frame_buffers: FrameBuffers::UNKNOWN,
};

impl BoardNames {
    fn names_of(&self, initiator: Initiator) -> Option<&'static InitiatorName> {
        let lists = [self.initiators, NO_BOARD.initiators];
        let mut names = lists.into_iter().flatten();
        names.find(|names| names.initiator == initiator)
    }

    /// Name of an initiator.
    #[must_use]
    pub fn initiator(&self, initiator: Initiator) -> &'static str {
        self.names_of(initiator).map_or("block", |names| names.name)
    }

    /// Name of an initiator in headings.
    #[must_use]
    pub fn title(&self, initiator: Initiator) -> &'static str {
        self.names_of(initiator)
            .map_or("block", |names| names.title)
    }

    /// Name of the register at a CPU's address; `None` without a register.
    #[must_use]
    pub fn register(&self, address: u32) -> Option<String> {
        (self.register)(address)
    }

    /// The names of bits in the event register of a CPU.
    #[must_use]
    pub fn event_bits(&self, cpu: usize, bits: u32) -> String {
        let register = self.event_registers.get(cpu);
        let names = register.and_then(|&address| (self.bits)(address, bits));
        names.unwrap_or_else(|| format!("{bits:#x}"))
    }
}

/// The names of types of boards. The first is that of files from before files named boards.
pub type Boards = &'static [&'static BoardNames];

/// The names of the type of board with this name.
#[must_use]
pub fn names_of(known: Boards, board: &str) -> Option<&'static BoardNames> {
    known.iter().find(|names| names.board == board).copied()
}

impl PartialEq for BoardNames {
    fn eq(&self, other: &Self) -> bool {
        self.board == other.board
    }
}

impl Eq for BoardNames {}

/// Blocks outside of the board, and those for accesses without a block.
pub const COMMON_BLOCKS: &[Name] = &[HOST, STORAGE, WIRE, SWITCH, POWER, DEBUGGER];
/// Programs of the host.
pub const HOST: Name = name("host", "programs of the host");
/// Registers without a function.
pub const STORAGE: Name = name("storage", "registers without a function");
/// Links.
pub const WIRE: Name = name("wire", "links and fault layers");
/// Switches.
pub const SWITCH: Name = name("switch", "switches");
/// Power.
pub const POWER: Name = name("power", "the machine's power and reset");
/// Debuggers.
pub const DEBUGGER: Name = name("debugger", "a debugger or a test");

impl TraceEvent {
    /// The name of its initiator.
    #[must_use]
    pub fn initiator_name(&self) -> &'static str {
        self.names.initiator(self.initiator)
    }

    /// The hardware block that the event concerns, one of the board's blocks. For an access it is the register's
    /// block, not the CPU.
    #[must_use]
    pub fn block(&self) -> &'static str {
        match &self.kind {
            TraceKind::HostCall { .. }
            | TraceKind::HostReturn { .. }
            | TraceKind::ProgramEnded { .. }
            | TraceKind::PollSatisfied { .. }
            | TraceKind::InterruptTaken => HOST.name,
            TraceKind::Interrupt { .. } => "pci",
            TraceKind::MailboxWrite { .. } => "mailbox",
            TraceKind::EventRaised { .. } => "event",
            TraceKind::SemaphoreTaken
            | TraceKind::SemaphoreRefused
            | TraceKind::SemaphoreReleased
            | TraceKind::FurtherSemaphore { .. } => "semaphore",
            TraceKind::RegisterRead { address, .. }
            | TraceKind::RegisterWrite { address, .. }
            | TraceKind::RingIndex { address, .. } => (self.names.block_of)(*address),
            TraceKind::Signal { .. } => "serdes",
            TraceKind::Fault { .. } | TraceKind::FrameLost { .. } => match self.place {
                Place::Node(_) => WIRE.name,
                Place::Switch(_) => SWITCH.name,
            },
            _ => self.initiator_name(),
        }
    }
}
