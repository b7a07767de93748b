//! Tracks of a place, in the order of the data path.

use std::fmt;

use emulator::observe::event::{Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;

/// A track of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Host programs: one row per concurrent call.
    Host(u16),
    /// CPU A.
    CpuA,
    /// CPU B.
    CpuB,
    /// Owner of the semaphore.
    Semaphore,
    /// Transfers from host to NIC.
    DmaRead,
    /// Transfers from NIC to host.
    DmaWrite,
    /// Sent frames.
    MacTx,
    /// Received frames.
    MacRx,
    /// Events of frames outside of the MAC, by port of a switch.
    Wire(Option<u16>),
    /// The board as a whole.
    Board,
}

impl Lane {
    /// First rank of counters.
    pub const GAUGES: i32 = 100;

    /// The track of an initiator's events.
    pub const fn by(who: Initiator) -> Self {
        match who {
            Initiator::Host => Self::Host(0),
            Initiator::CpuA => Self::CpuA,
            Initiator::CpuB => Self::CpuB,
            Initiator::DmaRead => Self::DmaRead,
            Initiator::DmaWrite => Self::DmaWrite,
            Initiator::MacTransmit => Self::MacTx,
            Initiator::MacReceive => Self::MacRx,
            Initiator::Wire => Self::Wire(None),
            Initiator::Power | Initiator::Debugger => Self::Board,
        }
    }

    /// The track of an event.
    pub const fn of(event: &TraceEvent) -> Self {
        match event.kind {
            TraceKind::Fault { port, .. } | TraceKind::FrameLost { port, .. } => Self::Wire(port),
            _ => match event.place {
                Place::Switch(_) => Self::Wire(None),
                Place::Node(_) => Self::by(event.initiator),
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
                Self::CpuA | Self::CpuB => "cpu",
                Self::Semaphore => "semaphore",
                Self::DmaRead | Self::DmaWrite => "dma",
                Self::MacTx | Self::MacRx => "frame",
                Self::Wire(_) => "wire",
                Self::Board => "board",
            },
        }
    }

    /// Rank among the tracks.
    pub const fn rank(self) -> i32 {
        match self {
            Self::Host(row) => row as i32,
            Self::CpuA => 70,
            Self::CpuB => 71,
            Self::Semaphore => 72,
            Self::DmaRead => 73,
            Self::DmaWrite => 74,
            Self::MacTx => 75,
            Self::MacRx => 76,
            Self::Wire(None) => 77,
            Self::Wire(Some(port)) => 200 + port as i32,
            Self::Board => 78,
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host(_) => "host",
            Self::CpuA => "CPU A",
            Self::CpuB => "CPU B",
            Self::Semaphore => "semaphore",
            Self::DmaRead => "DMA read",
            Self::DmaWrite => "DMA write",
            Self::MacTx => "MAC tx",
            Self::MacRx => "MAC rx",
            Self::Wire(None) => "wire",
            Self::Wire(Some(port)) => return write!(f, "port {port}"),
            Self::Board => "board",
        })
    }
}
