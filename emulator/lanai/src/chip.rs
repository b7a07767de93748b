//! Generations of the chip, and what sets them apart on the board (docs/lanai.md, section 3).

use emulator_cpu::lanai::pipeline::Pipeline;

/// A generation of the LANai with a board of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// LANai 4.
    L4,
    /// LANai 7.
    L7,
    /// LANai 9.
    L9,
}

impl Generation {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::L4, Self::L7, Self::L9];

    /// The name of a board with this chip, as profiles state it.
    #[must_use]
    pub const fn board(self) -> &'static str {
        match self {
            Self::L4 => "lanai4",
            Self::L7 => "lanai7",
            Self::L9 => "lanai9",
        }
    }

    /// Number of the generation.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::L4 => 4,
            Self::L7 => 7,
            Self::L9 => 9,
        }
    }

    /// The pipeline of the chip.
    #[must_use]
    pub const fn pipeline(self) -> Pipeline {
        match self {
            Self::L4 => Pipeline::L4,
            Self::L7 => Pipeline::L7,
            Self::L9 => Pipeline::L9,
        }
    }

    /// Address of its first special register.
    #[must_use]
    pub const fn register_base(self) -> u32 {
        match self {
            Self::L4 => 0xFFFF_FF00,
            Self::L7 | Self::L9 => 0xFFFF_FE00,
        }
    }

    /// Bytes from one special register to the next one.
    #[must_use]
    pub const fn register_spacing(self) -> u32 {
        match self {
            Self::L4 => 4,
            Self::L7 | Self::L9 => 8,
        }
    }

    /// Bytes that the packet engines move at a time, and to which their pointers are aligned.
    #[must_use]
    pub const fn unit_bytes(self) -> u32 {
        match self {
            Self::L4 => 4,
            Self::L7 | Self::L9 => 8,
        }
    }

    /// Number of interval timers.
    #[must_use]
    pub const fn timers(self) -> usize {
        match self {
            Self::L4 => 1,
            Self::L7 | Self::L9 => 3,
        }
    }
}
