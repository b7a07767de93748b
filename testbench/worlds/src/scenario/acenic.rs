//! Settings of the driver for AceNIC firmware.

use defs::acenic::info::RingFlags;
use defs::acenic::{JUMBO_ENTRIES, Mode};
use host_lib::acenic::{Coalescing, Config, JUMBO_MTU, STANDARD_MTU};

use super::error::ScenarioError;
use super::programs::FrameSettings;
use super::table::Table;

/// Bytes of a VLAN tag, which the MTU contains.
pub(super) const TAG_BYTES: u32 = 4;
/// Longest coalescing delay, in us.
const LONGEST_TICKS_US: u64 = 1_000_000;
/// Largest number of descriptors of a report.
const MOST_DESCRIPTORS: u64 = 511;

/// Settings of a node's driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcenicSettings {
    /// Longest frame without FCS, with a tag, in bytes. Longer ones than usual need the jumbo ring.
    pub mtu: u32,
    /// When the firmware reports.
    pub coalescing: Coalescing,
    /// Whether the chip instead of its second CPU runs the DMA rings.
    pub hardware_assist: bool,
}

/// Values of `assist`: whether it is that of the chip.
const ASSISTS: [(&str, bool); 2] = [("software", false), ("hardware", true)];

impl Default for AcenicSettings {
    fn default() -> Self {
        Self {
            mtu: STANDARD_MTU,
            coalescing: Coalescing::default(),
            hardware_assist: false,
        }
    }
}

impl AcenicSettings {
    /// Copies the settings into a node's configuration, with what its program sends.
    pub fn apply(&self, config: &mut Config, frames: FrameSettings) {
        config.mtu = self.mtu;
        config.coalescing = self.coalescing;
        config.mode.set(Mode::ONE_DMA, self.hardware_assist);
        if self.mtu > STANDARD_MTU {
            config.jumbo_buffers = JUMBO_ENTRIES / 2;
        }
        let mut both = RingFlags::empty();
        both.set(RingFlags::VLAN_ASSIST, frames.vlan.is_some());
        both.set(RingFlags::TCP_UDP_SUM, frames.checksum);
        // Boards complete the whole checksum of what they send, and report the sum of the packet alone.
        let mut receive = both;
        receive.set(RingFlags::NO_PSEUDO_HEADER, frames.checksum);
        config.rings.send = both;
        config.rings.standard = receive;
        config.rings.mini = receive;
        config.rings.jumbo = receive;
    }

    /// These settings with the changes of a table.
    pub(super) fn read(self, table: Option<Table<'_>>) -> Result<Self, ScenarioError> {
        let Some(mut table) = table else {
            return Ok(self);
        };
        let mtu = u64::from(STANDARD_MTU)..=u64::from(JUMBO_MTU);
        let (ticks, descriptors) = (0..=LONGEST_TICKS_US, 1..=MOST_DESCRIPTORS);
        let old = self.coalescing;
        let settings = Self {
            mtu: table.integer("mtu", mtu, self.mtu)?,
            coalescing: Coalescing {
                rx_ticks: table.integer("rx_ticks_us", ticks.clone(), old.rx_ticks)?,
                tx_ticks: table.integer("tx_ticks_us", ticks, old.tx_ticks)?,
                rx_descriptors: table.integer(
                    "rx_frames",
                    descriptors.clone(),
                    old.rx_descriptors,
                )?,
                tx_descriptors: table.integer("tx_descriptors", descriptors, old.tx_descriptors)?,
            },
            hardware_assist: match table.get("assist") {
                Some(item) => item.choice("assist", &ASSISTS)?,
                None => self.hardware_assist,
            },
        };
        table.finish()?;
        Ok(settings)
    }
}
