//! Faults of a board's own hardware that a test can inject.

use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_state::value_enum;

/// Direction of a DMA channel between host memory and board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmaDirection {
    /// Host to NIC.
    Read,
    /// NIC to host.
    Write,
}

value_enum!(DmaDirection { Read {}, Write {} });

impl DmaDirection {
    /// The channel of this direction in traces.
    #[must_use]
    pub const fn initiator(self) -> Initiator {
        match self {
            Self::Read => Initiator::DmaRead,
            Self::Write => Initiator::DmaWrite,
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// Start of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallFrom {
    /// At this time.
    Time(SimTime),
    /// At the start of the channel's transfer with this number, counted from 1 since the start of the simulation.
    Transfer(u64),
}

value_enum!(StallFrom { Time { 0: time }, Transfer { 0: number } });

/// A fault of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardFault {
    /// A DMA channel begins no burst for a while. Resets do not end it.
    DmaStall {
        /// The channel.
        channel: DmaDirection,
        /// Start of the pause.
        from: StallFrom,
        /// Length of the pause.
        span: SimTime,
    },
}

impl BoardFault {
    /// The fault's name in messages.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DmaStall { .. } => "stalled DMA channel",
        }
    }
}

/// A board does not model a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the board {board} does not model this fault: {fault}")]
pub struct NoSuchFault {
    /// The type of board.
    pub board: &'static str,
    /// The fault.
    pub fault: &'static str,
}
