//! Control programs for real Myrinet adapters, and the hosts that they expect (docs/control-programs.md).

pub mod diagnosis;
pub mod host;
pub mod program;

use emulator::lanai::chip::Generation;
use emulator::lanai::timing::{PROFILES_4, PROFILES_7, PROFILES_9};
use host_lib::myrinet::{ChipGeneration, mailbox, mcpshmem};

use crate::boards::BoardType;
use program::Format;

/// The host that a control program expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    /// A mailbox at a fixed address, as the program of 1996 has it.
    Mailbox,
    /// A shared structure, as the programs of Cplant have it.
    Mcpshmem,
}

impl HostKind {
    /// The usual host for programs in this format.
    #[must_use]
    pub const fn for_format(format: Format) -> Self {
        match format {
            Format::Raw => Self::Mailbox,
            Format::Coff => Self::Mcpshmem,
        }
    }

    /// Name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mailbox => "mailbox",
            Self::Mcpshmem => "mcpshmem",
        }
    }

    /// Name of its program in scenarios.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Mailbox => "mcp-mailbox",
            Self::Mcpshmem => "mcp-shmem",
        }
    }

    /// The usual way back of its packets.
    #[must_use]
    pub const fn way_back(self) -> WayBack {
        match self {
            Self::Mailbox => WayBack::Cable,
            Self::Mcpshmem => WayBack::Switch,
        }
    }

    /// The usual memory of its adapters, in bytes: what programs need, in a size with which the board is made.
    #[must_use]
    pub fn sram_bytes(self, board: &BoardType) -> u32 {
        let needed = match self {
            Self::Mailbox => 256 << 10,
            Self::Mcpshmem => 1 << 20,
        };
        let mut sizes = board.sram_sizes.iter().copied();
        let found = sizes.find(|size| *size >= needed);
        found.unwrap_or(board.usual_sram_bytes)
    }

    /// Names of the milestones that a program must reach, in order; `meets` other adapters.
    #[must_use]
    pub const fn milestones(self, generation: Generation, meets: bool) -> &'static [&'static str] {
        match (self, generation) {
            (Self::Mailbox, _) if meets => mailbox::EXCHANGE_MILESTONES,
            (Self::Mailbox, _) => mailbox::MILESTONES,
            (Self::Mcpshmem, Generation::L4) => mcpshmem::MILESTONES_4,
            (Self::Mcpshmem, _) => mcpshmem::MILESTONES_7_9,
        }
    }
}

/// The way of packets from the adapter's port back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayBack {
    /// A cable from the port to itself: packets come back as they left.
    Cable,
    /// A switch at which packets turn back: it takes the first byte of their route.
    Switch,
    /// No cable is plugged in.
    None,
}

impl WayBack {
    /// Name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cable => "cable",
            Self::Switch => "switch",
            Self::None => "none",
        }
    }

    /// The topology of a scenario with one node and this way.
    #[must_use]
    pub const fn topology(self) -> &'static str {
        match self {
            Self::Cable => "loop",
            Self::Switch => "star",
            Self::None => "none",
        }
    }
}

/// The ways back that a run tries in turn: the given one, or the usual one and then the other one.
#[must_use]
pub fn ways_back(kind: HostKind, given: Option<WayBack>) -> Vec<WayBack> {
    match (given, kind.way_back()) {
        (Some(way), _) => vec![way],
        (None, WayBack::Switch) => vec![WayBack::Switch, WayBack::Cable],
        (None, _) => vec![WayBack::Cable, WayBack::Switch],
    }
}

/// Names of the boards on which control programs can run: their timing profiles.
pub fn boards() -> impl Iterator<Item = &'static str> {
    let all = [&PROFILES_4, &PROFILES_7, &PROFILES_9];
    all.into_iter()
        .flat_map(|profiles| profiles.built_in.iter().map(|(name, _)| *name))
}

/// The generation of a type of board; `None` if it has no LANai.
#[must_use]
pub fn generation(board: &BoardType) -> Option<Generation> {
    let all = [Generation::L4, Generation::L7, Generation::L9];
    all.into_iter().find(|known| known.board() == board.name)
}

const fn chip(generation: Generation) -> ChipGeneration {
    match generation {
        Generation::L4 => ChipGeneration::L4,
        Generation::L7 => ChipGeneration::L7,
        Generation::L9 => ChipGeneration::L9,
    }
}
