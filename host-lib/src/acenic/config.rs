//! What a driver tells the firmware at start-up.

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

/// What drivers ask for by default: everything that both sides can do, with flow control.
pub const NEGOTIATED_LINK: Link = Link::ENABLE
    .union(Link::NEGOTIATE)
    .union(Link::NEGOTIATE_FLOW_CONTROL)
    .union(Link::RX_FLOW_CONTROL)
    .union(Link::TX_FLOW_CONTROL)
    .union(Link::FULL_DUPLEX)
    .union(Link::SPEED_1000)
    .union(Link::SPEED_100)
    .union(Link::SPEED_10);

/// Bytes of a frame without FCS that the standard ring takes, with a VLAN tag: drivers' MTU word.
pub const STANDARD_MTU: u32 = 1518;
/// The same for jumbo frames.
pub const JUMBO_MTU: u32 = 9018;

/// Where the send descriptors stand.
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
    /// In SRAM, where firmware wants it.
    pub const NIC: Self = Self::Nic {
        address: SEND_NIC_BASE,
    };
}

/// When the firmware reports indices to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// Longest wait of a received frame, in us.
    pub rx_ticks: u32,
    /// Longest wait of a sent frame, in us.
    pub tx_ticks: u32,
    /// Received frames that are reported at once.
    pub rx_descriptors: u32,
    /// Sent descriptors that are reported at once.
    pub tx_descriptors: u32,
}

impl Default for Coalescing {
    /// What drivers of the time took.
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
    /// Send ring. Whether it stands in host memory is added.
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

    /// Checksums of TCP and UDP both ways, without the pseudo header, and VLAN tags: what drivers
    /// ask for.
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
    /// Own address; `None`: the one in the board's EEPROM.
    pub address: Option<MacAddress>,
    /// Modes.
    pub mode: Mode,
    /// What link is wanted.
    pub link: Link,
    /// Where the send ring stands.
    pub send_ring: SendRing,
    /// The rings' flags. A ring with [`RingFlags::DISABLED`] gets no buffers.
    pub rings: Rings,
    /// Entries of the return ring: 2048 (1024 only without a mini ring).
    pub return_entries: u32,
    /// Buffers that the standard ring is given.
    pub standard_buffers: u32,
    /// Buffers that the mini ring is given.
    pub mini_buffers: u32,
    /// Buffers that the jumbo ring is given: none for standard frames only.
    pub jumbo_buffers: u32,
    /// Longest frame without FCS that the firmware takes from the wire, plus four for a tag.
    pub mtu: u32,
    /// When indices are reported.
    pub coalescing: Coalescing,
    /// Time between two statistics reports in us; 0: none.
    pub statistics_ticks: u32,
    /// Share of the transmit buffer in the frame buffers, in 1/64.
    pub tx_buffer_ratio: u32,
    /// What the firmware traces.
    pub trace_mask: u32,
    /// How long the firmware may take to report that it runs.
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
    /// Refuses what the driver itself could not carry out. What the firmware does not like it reports
    /// by an event.
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
