//! Initiators of actions.

use crate::value_enum;
use std::fmt;

/// Initiator of an action on a node. The order of the variants is the rank for actions at equal times:
/// hardware that cannot wait comes first, the cores last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Initiator {
    /// The MAC's receive side.
    MacReceive,
    /// The MAC's transmit side.
    MacTransmit,
    /// The DMA read channel (host to NIC).
    DmaRead,
    /// The DMA write channel (NIC to host).
    DmaWrite,
    /// The host, through the PCI window.
    Host,
    /// CPU A.
    CpuA,
    /// CPU B.
    CpuB,
    /// A debugger or a test: its reads have no side effect.
    Debugger,
    /// Reset of the machine: after all other actions at its time.
    Power,
    /// The network between nodes: links and switches.
    Wire,
}

value_enum!(Initiator {
    MacReceive {},
    MacTransmit {},
    DmaRead {},
    DmaWrite {},
    Host {},
    CpuA {},
    CpuB {},
    Debugger {},
    Power {},
    Wire {}
});

impl Initiator {
    /// Number of variants.
    pub const COUNT: usize = 10;

    /// All initiators, by rank.
    pub const ALL: [Self; Self::COUNT] = [
        Self::MacReceive,
        Self::MacTransmit,
        Self::DmaRead,
        Self::DmaWrite,
        Self::Host,
        Self::CpuA,
        Self::CpuB,
        Self::Debugger,
        Self::Power,
        Self::Wire,
    ];

    /// The index of the CPU that acts, if one does.
    #[must_use]
    pub const fn cpu(self) -> Option<usize> {
        match self {
            Self::CpuA => Some(0),
            Self::CpuB => Some(1),
            _ => None,
        }
    }

    /// Name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MacReceive => "mac_rx",
            Self::MacTransmit => "mac_tx",
            Self::DmaRead => "dma_read",
            Self::DmaWrite => "dma_write",
            Self::Host => "host",
            Self::CpuA => "cpu_a",
            Self::CpuB => "cpu_b",
            Self::Debugger => "debugger",
            Self::Power => "power",
            Self::Wire => "wire",
        }
    }
}

/// Initiator of an action, with the instruction if it is a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// The initiator.
    pub initiator: Initiator,
    /// Address of the instruction.
    pub pc: Option<u32>,
}

impl From<Initiator> for Actor {
    fn from(initiator: Initiator) -> Self {
        Self {
            initiator,
            pc: None,
        }
    }
}

impl fmt::Display for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
