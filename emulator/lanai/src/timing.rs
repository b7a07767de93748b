//! The costs of these boards, read from their timing profiles.

use super::chip::Generation;
use emulator_base::time::SimTime;
use emulator_profile::costs::HostCosts;
use emulator_profile::{BoardProfiles, Catalog, Profile, ProfileError, Reader};
use emulator_wire::myrinet::CrossbarConfig;

macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),*]
    };
}

/// The profiles of boards with a LANai 4.
pub static PROFILES_4: BoardProfiles = BoardProfiles {
    board: Generation::L4.board(),
    based_on: &[],
    built_in: built_in!(
        "lanai4.3-33",
        "gm-paper-lanai4.3-33",
        "fm-paper-lanai4.3-33"
    ),
    check: |from| check(Generation::L4, from),
};

/// The profiles of boards with a LANai 7.
pub static PROFILES_7: BoardProfiles = BoardProfiles {
    board: Generation::L7.board(),
    based_on: &[],
    built_in: built_in!("lanai7.2-66", "gm-paper-lanai7.2-66"),
    check: |from| check(Generation::L7, from),
};

/// The profiles of boards with a LANai 9.
pub static PROFILES_9: BoardProfiles = BoardProfiles {
    board: Generation::L9.board(),
    based_on: &[],
    built_in: built_in!(
        "lanai9.1-133",
        "lanai9.2-200",
        "gm-paper-lanai9.1-133",
        "gm-paper-gossip-lanai9.1-133",
        "gm-paper-atomics-lanai9.1-133",
        "gm-paper-bypass-lanai9.1-133",
        "gm-paper-bypass-1ghz-lanai9.1-133",
        "gm-paper-bypass-1ghz-lanai9.2-200",
        "gm-paper-lanai9.2-200",
        "hca-4x"
    ),
    check: |from| check(Generation::L9, from),
};

/// Checks the entries of a board and of its network's crossbars.
fn check(generation: Generation, from: &mut Reader<'_>) -> Result<(), ProfileError> {
    CrossbarConfig::read(8, from)?;
    Timing::read(generation, from).map(drop)
}

/// The costs in the form that the model uses. Fields are named as the profile's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Each field is documented by its profile entry, where its reason stands.
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Timing {
    pub host: HostCosts,
    pub core_clock_hz: u64,
    pub chip_minor: u32,
    pub instruction_cycles: u32,
    pub load_use_cycles: u32,
    pub memory_width_bytes: u32,
    pub memory_cycles_per_clock: u32,
    pub pci_width_bytes: u32,
    pub dma_start: SimTime,
    pub dma_block: SimTime,
    pub dma_read_latency: SimTime,
    pub dma_write_latency: SimTime,
    pub packet_receive_end: SimTime,
    pub byte_time: SimTime,
    pub port_stop: u32,
    pub pci_burst_overhead_clocks: u32,
    pub dma_burst_bytes: u32,
    pub packet_burst_bytes: u32,
    pub packet_send_start: SimTime,
    pub register_load_cycles: u32,
    pub register_store_cycles: u32,
    pub generation: Generation,
    pub port_delay: SimTime,
    pub port_timeout: SimTime,
}

impl Timing {
    /// The costs of a profile for one of these boards.
    ///
    /// # Errors
    /// [`ProfileError::OtherBoard`].
    pub fn from_profile(profile: &Profile) -> Result<Self, ProfileError> {
        let mut generations = Generation::ALL.into_iter();
        let generation = generations
            .find(|generation| generation.board() == profile.board())
            .unwrap_or(Generation::L9);
        Self::read(
            generation,
            &mut profile.for_board(generation.board())?.reader(),
        )
    }

    /// The costs of a built-in profile of these boards.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`].
    pub fn built_in(name: &str) -> Result<Self, ProfileError> {
        let catalog = Catalog::new([&PROFILES_4, &PROFILES_7, &PROFILES_9]);
        Self::from_profile(&catalog.built_in(name)?)
    }

    fn read(generation: Generation, from: &mut Reader<'_>) -> Result<Self, ProfileError> {
        Ok(Self {
            generation,
            chip_minor: from.number("chip.minor", "count", 0.0, 9.0)? as u32,
            core_clock_hz: from.rate("core.clock", "Hz")?,
            instruction_cycles: from.count("core.instruction", "cycles", 1)?,
            load_use_cycles: from.count("core.load_use", "cycles", 0)?,
            register_load_cycles: from.count("core.register_load", "cycles", 0)?,
            register_store_cycles: from.count("core.register_store", "cycles", 0)?,
            memory_width_bytes: from.number("memory.width", "bytes", 4.0, 8.0)? as u32 & !3,
            memory_cycles_per_clock: from.number("memory.cycles", "cycles per clock", 1.0, 2.0)?
                as u32,
            pci_width_bytes: from.count("pci.width", "bytes", 1)?,
            pci_burst_overhead_clocks: from.count("pci.burst_overhead", "PCI clocks", 0)?,
            dma_burst_bytes: from.count("dma.burst", "bytes", 8)? & !7,
            dma_start: from.span("dma.start")?,
            dma_block: from.span("dma.block")?,
            dma_read_latency: from.span("dma.read_latency")?,
            dma_write_latency: from.span("dma.write_latency")?,
            packet_burst_bytes: from.count("packet.burst", "bytes", 8)? & !7,
            packet_send_start: from.span("packet.send_start")?,
            packet_receive_end: from.span("packet.receive_end")?,
            byte_time: SimTime::from_ps(8_000_000_000_000 / from.rate("link.rate", "bit/s")?),
            port_stop: from.count("port.stop", "bytes", 1)?,
            port_delay: from.span("port.delay")?,
            port_timeout: from.positive_span("port.timeout")?,
            host: from.host()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator_profile::costs::CopyCosts;

    #[test]
    fn built_in_profiles_load() {
        let check = |name, generation, clock, byte_ps| {
            let timing = Timing::built_in(name).unwrap();
            assert_eq!(timing.generation, generation);
            assert_eq!(timing.core_clock_hz, clock);
            assert_eq!(timing.byte_time, SimTime::from_ps(byte_ps));
        };
        check("lanai4.3-33", Generation::L4, 33_000_000, 6250);
        check("lanai7.2-66", Generation::L7, 66_000_000, 6250);
        check("lanai9.1-133", Generation::L9, 133_000_000, 4000);
        check("lanai9.2-200", Generation::L9, 200_000_000, 4000);
        assert!(Timing::built_in("tigon2-88mhz").is_err());
    }

    #[test]
    fn copies_cost_nothing_unless_a_profile_says_so() {
        let copy = |name| Timing::built_in(name).unwrap().host.copy;
        assert_eq!(copy("gm-paper-lanai9.1-133"), CopyCosts::default());
        let testbed = copy("gm-paper-gossip-lanai9.1-133");
        assert_eq!(testbed.start, SimTime::from_ns(150));
        assert_eq!(testbed.byte, SimTime::from_ns(4));
    }
}
