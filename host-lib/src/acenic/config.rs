//! Driver settings for the firmware.

use defs::acenic::info::RingFlags;
use defs::acenic::{
    JUMBO_ENTRIES, Link, MINI_ENTRIES, Mode, RETURN_ENTRIES, SEND_NIC_BASE, STANDARD_ENTRIES,
};

use super::error::ConfigError;
use crate::address::MacAddress;

/// A gigabit link without negotiation.
pub const FIXED_LINK: Link = Link::ENABLE
    .union(Link::FULL_DUPLEX)
    .union(Link::SPEED_1000);

/// The default link settings of drivers: all abilities of both sides, with flow control.
pub const NEGOTIATED_LINK: Link = Link::ENABLE
    .union(Link::NEGOTIATE)
    .union(Link::NEGOTIATE_FLOW_CONTROL)
    .union(Link::RX_FLOW_CONTROL)
    .union(Link::TX_FLOW_CONTROL)
    .union(Link::FULL_DUPLEX)
    .union(Link::SPEED_1000)
    .union(Link::SPEED_100)
    .union(Link::SPEED_10);

/// Longest frame in the standard ring, without FCS, with a VLAN tag: the MTU word of drivers.
pub const STANDARD_MTU: u32 = 1518;
/// Longest frame in the jumbo ring, without FCS, with a VLAN tag.
pub const JUMBO_MTU: u32 = 9018;

/// Location of the send ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendRing {
    /// In host memory: the firmware fetches them.
    Host,
    /// In SRAM at this address: the driver writes them through the window.
    Nic {
        /// The ring's first byte.
        address: u32,
    },
}

impl SendRing {
    /// In SRAM, at the address that the firmware expects.
    pub const NIC: Self = Self::Nic {
        address: SEND_NIC_BASE,
    };
}

/// Coalescing limits: when the firmware reports indices to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// Longest delay of a received frame's report, in us.
    pub rx_ticks: u32,
    /// Longest delay of a sent frame's report, in us.
    pub tx_ticks: u32,
    /// Number of received frames that are reported at once.
    pub rx_descriptors: u32,
    /// Number of sent descriptors that are reported at once.
    pub tx_descriptors: u32,
}

impl Default for Coalescing {
    /// Values of contemporary drivers.
    fn default() -> Self {
        Self {
            rx_ticks: 120,
            tx_ticks: 400,
            rx_descriptors: 25,
            tx_descriptors: 60,
        }
    }
}

/// The flags of each ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rings {
    /// Send ring. The driver adds the flag for a ring in host memory.
    pub send: RingFlags,
    /// Standard receive ring.
    pub standard: RingFlags,
    /// Jumbo receive ring.
    pub jumbo: RingFlags,
    /// Mini receive ring.
    pub mini: RingFlags,
}

impl Rings {
    /// All rings with these flags.
    #[must_use]
    pub const fn alike(flags: RingFlags) -> Self {
        Self {
            send: flags,
            standard: flags,
            jumbo: flags,
            mini: flags,
        }
    }

    /// Checksums of TCP and UDP in both directions, without the pseudo header, and VLAN tags: the usual
    /// settings of drivers.
    #[must_use]
    pub const fn offload() -> Self {
        Self::alike(
            RingFlags::TCP_UDP_SUM
                .union(RingFlags::NO_PSEUDO_HEADER)
                .union(RingFlags::VLAN_ASSIST),
        )
    }
}

/// Settings of one adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Own address; `None`: the address in the board's EEPROM.
    pub address: Option<MacAddress>,
    /// Operating mode of the firmware.
    pub mode: Mode,
    /// Requested link settings.
    pub link: Link,
    /// Location of the send ring.
    pub send_ring: SendRing,
    /// The rings' flags. A ring with [`RingFlags::DISABLED`] gets no buffers.
    pub rings: Rings,
    /// Entries of the return ring: 2048 (1024 only without a mini ring).
    pub return_entries: u32,
    /// Number of buffers in the standard ring.
    pub standard_buffers: u32,
    /// Number of buffers in the mini ring.
    pub mini_buffers: u32,
    /// Number of buffers in the jumbo ring; 0 for standard frames only.
    pub jumbo_buffers: u32,
    /// Longest frame without FCS that the firmware accepts, plus four bytes for a tag.
    pub mtu: u32,
    /// Coalescing limits.
    pub coalescing: Coalescing,
    /// Time between two statistics reports in us; 0: none.
    pub statistics_ticks: u32,
    /// Share of the transmit buffer in the frame buffers, in 1/64.
    pub tx_buffer_ratio: u32,
    /// Mask of the events that the firmware traces.
    pub trace_mask: u32,
    /// Timeout of the firmware's start, in ns.
    pub start_timeout_ns: u64,
}

impl Default for Config {
    /// A fixed gigabit link, frames of standard size, no offload.
    fn default() -> Self {
        Self {
            address: None,
            mode: Mode::SWAP_DATA
                | Mode::SWAP_WORDS
                | Mode::WARN
                | Mode::FATAL
                | Mode::NO_JUMBO_FRAGMENTS,
            link: FIXED_LINK,
            send_ring: SendRing::Host,
            rings: Rings::alike(RingFlags::empty()),
            return_entries: RETURN_ENTRIES,
            standard_buffers: 128,
            mini_buffers: 128,
            jumbo_buffers: 0,
            mtu: STANDARD_MTU,
            coalescing: Coalescing::default(),
            statistics_ticks: 2_000_000,
            tx_buffer_ratio: 21,
            trace_mask: 0,
            start_timeout_ns: 5_000_000_000,
        }
    }
}

impl Config {
    /// Refuses settings that the driver cannot carry out. The firmware reports its own objections by an
    /// event.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let ring = |ring, buffers, entries| {
            if buffers < entries {
                return Ok(());
            }
            Err(ConfigError::Buffers {
                ring,
                buffers,
                entries,
            })
        };
        ring("standard", self.standard_buffers, STANDARD_ENTRIES)?;
        ring("mini", self.mini_buffers, MINI_ENTRIES)?;
        ring("jumbo", self.jumbo_buffers, JUMBO_ENTRIES)?;
        if !(1..=RETURN_ENTRIES).contains(&self.return_entries) {
            return Err(ConfigError::ReturnEntries {
                entries: self.return_entries,
            });
        }
        if self.address.is_some_and(MacAddress::is_group) {
            return Err(ConfigError::GroupAddress);
        }
        Ok(())
    }
}
