//! Tracks of a place, in the order of the data path.

use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::observe::names::BoardNames;
use emulator::sim::initiator::Initiator;

/// A track of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Host programs: one row per concurrent call.
    Host(u16),
    /// A CPU of the board, by index.
    Cpu(u8),
    /// Owner of the semaphore.
    Semaphore,
    /// Owner of another semaphore, by its number from 1 on.
    FurtherSemaphore(u32),
    /// Transfers from host to NIC.
    DmaRead,
    /// Transfers from NIC to host.
    DmaWrite,
    /// Sent frames.
    MacTx,
    /// Received frames.
    MacRx,
    /// Another hardware block of the board.
    Block(u8),
    /// Events of frames outside of the MAC, by port of a switch.
    Wire(Option<u16>),
    /// The board as a whole.
    Board,
}

impl Lane {
    /// First rank of counters.
    pub const GAUGES: i32 = 100;

    /// The track of an initiator's events.
    pub const fn for_initiator(who: Initiator) -> Self {
        match who {
            Initiator::Host => Self::Host(0),
            Initiator::Cpu(cpu) => Self::Cpu(cpu),
            Initiator::DmaRead => Self::DmaRead,
            Initiator::DmaWrite => Self::DmaWrite,
            Initiator::Transmitter => Self::MacTx,
            Initiator::Receiver => Self::MacRx,
            Initiator::Wire => Self::Wire(None),
            Initiator::Block(block) => Self::Block(block),
            Initiator::Power | Initiator::Debugger => Self::Board,
        }
    }

    /// The track of an event.
    pub const fn for_event(event: &TraceEvent) -> Self {
        match event.kind {
            TraceKind::Fault { port, .. } | TraceKind::FrameLost { port, .. } => Self::Wire(port),
            _ => match event.place {
                Place::Switch(_) => Self::Wire(None),
                Place::Node(_) => Self::for_initiator(event.initiator),
            },
        }
    }

    /// Default category of an event.
    pub const fn category(self, kind: &TraceKind) -> &'static str {
        match kind {
            TraceKind::Fault { .. } => "fault",
            TraceKind::FrameLost { .. } | TraceKind::FrameDropped { .. } => "drop",
            TraceKind::Log { .. } => "log",
            TraceKind::GuestMistake { .. } => "mistake",
            TraceKind::Interrupt { .. } | TraceKind::InterruptTaken => "interrupt",
            TraceKind::DmaFailed { .. } => "fault",
            _ => match self {
                Self::Host(_) => "host",
                Self::Cpu(_) => "cpu",
                Self::Semaphore | Self::FurtherSemaphore(_) => "semaphore",
                Self::DmaRead | Self::DmaWrite => "dma",
                Self::MacTx | Self::MacRx => "frame",
                Self::Wire(_) => "wire",
                Self::Block(_) | Self::Board => "board",
            },
        }
    }

    /// Rank among the tracks.
    pub const fn rank(self) -> i32 {
        match self {
            Self::Host(row) => row as i32,
            // Tracks of equal rank stand in the order of their first events.
            Self::Cpu(0) => 70,
            Self::Cpu(_) => 71,
            Self::Semaphore | Self::FurtherSemaphore(_) => 72,
            Self::DmaRead => 73,
            Self::DmaWrite => 74,
            Self::MacTx => 75,
            Self::MacRx | Self::Block(_) => 76,
            Self::Wire(None) => 77,
            Self::Wire(Some(port)) => 200 + port as i32,
            Self::Board => 78,
        }
    }

    /// Heading of the track, with the names of the place's board.
    pub fn title(self, names: &BoardNames) -> String {
        let initiator = match self {
            Self::Cpu(cpu) => Initiator::Cpu(cpu),
            Self::DmaRead => Initiator::DmaRead,
            Self::DmaWrite => Initiator::DmaWrite,
            Self::MacTx => Initiator::Transmitter,
            Self::MacRx => Initiator::Receiver,
            Self::Block(block) => Initiator::Block(block),
            Self::Host(_) => Initiator::Host,
            Self::Wire(None) => Initiator::Wire,
            Self::Wire(Some(port)) => return format!("port {port}"),
            Self::Semaphore => return "semaphore".into(),
            Self::FurtherSemaphore(number) => {
                return format!("semaphore {}", u64::from(number) + 1);
            }
            Self::Board => return "board".into(),
        };
        names.title(initiator).into()
    }
}
