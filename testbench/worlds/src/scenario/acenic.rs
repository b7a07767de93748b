//! Settings of the driver for AceNIC firmware.

use defs::acenic::info::RingFlags;
use defs::acenic::{JUMBO_ENTRIES, Mode};
use host_lib::acenic::{Coalescing, Config, STANDARD_MTU};

use super::error::ScenarioError;
use super::programs::FrameSettings;
use super::table::Table;

/// Bytes of a VLAN tag, which the MTU contains.
pub(super) const TAG_BYTES: u32 = 4;

/// Settings of a node's driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcenicSettings {
    /// Longest frame without FCS, with a tag, in bytes. Longer ones than usual need the jumbo ring.
    pub mtu: u32,
    /// Conditions under which the firmware reports.
    pub coalescing: Coalescing,
    /// Whether the chip instead of its second CPU runs the DMA rings.
    pub hardware_assist: bool,
}

/// Values of `assist`: whether it is that of the chip.
pub(super) const ASSISTS: [(&str, bool); 2] = [("software", false), ("hardware", true)];

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
        let old = self.coalescing;
        let settings = Self {
            mtu: table.integer("mtu", self.mtu)?,
            coalescing: Coalescing {
                rx_ticks: table.integer("rx_ticks_us", old.rx_ticks)?,
                tx_ticks: table.integer("tx_ticks_us", old.tx_ticks)?,
                rx_descriptors: table.integer("rx_frames", old.rx_descriptors)?,
                tx_descriptors: table.integer("tx_descriptors", old.tx_descriptors)?,
            },
            hardware_assist: table.choice("assist", "assist", &ASSISTS, self.hardware_assist)?,
        };
        table.finish()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn sums_need_the_software_assist() {
        let text = |more: &str| {
            format!(
                "{more}\n[network]\ntopology = \"pair\"\n[acenic]\nassist = \"hardware\"\n[[program]]\nrun = \"frames\"\nfrom = 0\nto = 1\nframes = 1\nbytes = 64\nchecksum = true\n"
            )
        };
        let error = Scenario::parse("file.toml", &text("")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("file.toml:7: program.run: checksum = true"),
            "{error}"
        );
        // Firmware of the user's own may know better.
        assert!(Scenario::parse("file.toml", &text("image = \"mine.elf\"")).is_ok());
    }
}
