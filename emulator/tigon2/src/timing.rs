//! The costs of this board, read from its timing profiles.

use super::cpus::CpuPlan;
use super::inspect::names::{NAMES, NAMES_N};
use super::sram_banks::{BankPlan, MOST_BANKS};
use defs::tigon2::banks::{MOST_CPUS, MOST_SEMAPHORES};
use emulator_base::time::SimTime;
use emulator_profile::costs::HostCosts;
use emulator_profile::{BoardProfiles, Catalog, Profile, ProfileError, Reader};
use emulator_wire::ethernet::link::Link;

/// The profiles of this board.
pub static PROFILES: BoardProfiles = BoardProfiles {
    board: NAMES.board,
    based_on: &[],
    built_in: &[
        (
            "tigon2-88mhz",
            include_str!("../../profiles/tigon2-88mhz.toml"),
        ),
        ("emp-thesis", include_str!("../../profiles/emp-thesis.toml")),
    ],
    check: |from| Timing::read(from, CpuPlan::CHIP).map(drop),
};

/// The profiles of boards with any number of CPUs.
pub static PROFILES_N: BoardProfiles = BoardProfiles {
    board: NAMES_N.board,
    based_on: &[NAMES.board],
    built_in: &[
        (
            "tigon-n-88mhz",
            include_str!("../../profiles/tigon-n-88mhz.toml"),
        ),
        (
            "emp-thesis-n",
            include_str!("../../profiles/emp-thesis-n.toml"),
        ),
    ],
    check: |from| Timing::read_for_any(from).map(drop),
};

/// Bytes that the chip's SRAM moves in a cycle, for which `sram.line` and `sram.burst` are stated.
const CHIP_WIDTH_BYTES: u32 = 8;
/// Most bytes that a bank of a `tigon-n` moves in a cycle: a burst.
const MOST_WIDTH_BYTES: u32 = 64;
/// Most bytes of which a bank holds one after the other, so that each bank is in the smallest SRAM.
const MOST_INTERLEAVE_BYTES: u32 = 0x8000;

/// The costs in the form that the model uses. Fields are named as the profile's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Each field is documented by its profile entry, where its reason stands.
pub struct Timing {
    /// CPUs of the board: those of the chip, or as many as `core.cpus` says.
    pub cpus: CpuPlan,
    pub core_clock_hz: u64,
    pub instruction_cycles: u32,
    pub taken_branch_cycles: u32,
    pub annulled_slot_cycles: u32,
    pub scratchpad_load_cycles: u32,
    pub scratchpad_store_cycles: u32,
    pub sram_load_cycles: u32,
    pub sram_store_cycles: u32,
    pub register_load_cycles: u32,
    pub register_store_cycles: u32,
    pub fetch_miss_cycles: u32,
    pub instruction_cache_bytes: u32,
    pub sram_word_cycles: u32,
    pub sram_line_cycles: u32,
    pub sram_burst_cycles: u32,
    /// Banks of the SRAM: the one of the chip, or as `sram.banks` and `sram.interleave` say.
    pub sram_banks: BankPlan,
    /// Cycles for which a change of a word by a bit instruction takes the SRAM.
    pub sram_change_cycles: u32,
    /// Whether the CPUs have the bit instructions, as `core.bit_instructions` says.
    pub bit_instructions: bool,
    /// Semaphores of the board: the one of the chip, or as many as `core.semaphores` says.
    pub semaphores: u32,
    pub pci_width_bytes: u32,
    pub pci_burst_overhead_clocks: u32,
    pub dma_start: SimTime,
    pub dma_read_latency: SimTime,
    pub dma_write_latency: SimTime,
    pub mac_transmit_start: SimTime,
    pub mac_receive_end: SimTime,
    pub mac_config_word: SimTime,
    pub wire: Link,
    pub host: HostCosts,
}

impl Timing {
    /// The costs of a profile for this board, with the chip's CPUs or any number.
    ///
    /// # Errors
    /// [`ProfileError::OtherBoard`].
    pub fn from_profile(profile: &Profile) -> Result<Self, ProfileError> {
        if profile.board() == NAMES_N.board {
            return Self::read_for_any(&mut profile.reader());
        }
        let profile = profile.for_board(NAMES.board)?;
        Self::read(&mut profile.reader(), CpuPlan::CHIP)
    }

    /// The costs of a built-in profile of this board.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`].
    pub fn built_in(name: &str) -> Result<Self, ProfileError> {
        Self::from_profile(&Catalog::new([&PROFILES, &PROFILES_N]).built_in(name)?)
    }

    fn read_for_any(from: &mut Reader<'_>) -> Result<Self, ProfileError> {
        let count = from.small_count("core.cpus", "CPUs", 1, MOST_CPUS as u32)?;
        let mut timing = Self::read(from, CpuPlan::any_number(count).unwrap_or(CpuPlan::CHIP))?;
        let most = MOST_BANKS as u32;
        let banks = from.power_of_two("sram.banks", "banks", 1, most)?;
        let interleave = from.power_of_two("sram.interleave", "bytes", 4, MOST_INTERLEAVE_BYTES)?;
        timing.sram_banks = BankPlan::new(banks, interleave).unwrap_or(BankPlan::CHIP);
        let width = from.power_of_two("sram.width", "bytes", 4, MOST_WIDTH_BYTES)?;
        // The chip's costs are those of its width.
        let scaled = |cycles: u32| (cycles * CHIP_WIDTH_BYTES).div_ceil(width);
        timing.sram_line_cycles = scaled(timing.sram_line_cycles);
        timing.sram_burst_cycles = scaled(timing.sram_burst_cycles);
        timing.sram_change_cycles = from.count("sram.change", "cycles", 0)?;
        let bits = from.small_count("core.bit_instructions", "0 or 1", 0, 1)?;
        timing.bit_instructions = bits == 1;
        timing.semaphores =
            from.small_count("core.semaphores", "semaphores", 1, MOST_SEMAPHORES as u32)?;
        Ok(timing)
    }

    fn read(from: &mut Reader<'_>, cpus: CpuPlan) -> Result<Self, ProfileError> {
        Ok(Self {
            cpus,
            core_clock_hz: from.rate("core.clock", "Hz")?,
            instruction_cycles: from.count("core.instruction", "cycles", 1)?,
            taken_branch_cycles: from.count("core.taken_branch", "cycles", 0)?,
            annulled_slot_cycles: from.count("core.annulled_slot", "cycles", 0)?,
            scratchpad_load_cycles: from.count("core.scratchpad_load", "cycles", 0)?,
            scratchpad_store_cycles: from.count("core.scratchpad_store", "cycles", 0)?,
            sram_load_cycles: from.count("core.sram_load", "cycles", 0)?,
            sram_store_cycles: from.count("core.sram_store", "cycles", 0)?,
            register_load_cycles: from.count("core.register_load", "cycles", 0)?,
            register_store_cycles: from.count("core.register_store", "cycles", 0)?,
            fetch_miss_cycles: from.count("core.fetch_miss", "cycles", 0)?,
            instruction_cache_bytes: from.count("core.instruction_cache", "bytes", 32)?,
            sram_word_cycles: from.count("sram.word", "cycles", 0)?,
            sram_line_cycles: from.count("sram.line", "cycles", 0)?,
            sram_burst_cycles: from.count("sram.burst", "cycles", 0)?,
            sram_banks: BankPlan::CHIP,
            sram_change_cycles: 0,
            bit_instructions: false,
            semaphores: 1,
            pci_width_bytes: from.count("pci.width", "bytes", 1)?,
            pci_burst_overhead_clocks: from.count("pci.burst_overhead", "PCI clocks", 0)?,
            dma_start: from.span("dma.start")?,
            dma_read_latency: from.span("dma.read_latency")?,
            dma_write_latency: from.span("dma.write_latency")?,
            mac_transmit_start: from.span("mac.transmit_start")?,
            // A frame must be visible before the next one's first 64 bytes have arrived.
            mac_receive_end: from.short_span("mac.receive_end", 500.0)?,
            mac_config_word: from.span("mac.config_word")?,
            wire: Link::read(from)?,
            host: from.host()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str) -> Profile {
        Catalog::new([&PROFILES]).built_in(name).unwrap()
    }

    #[test]
    fn built_in_profiles_load() {
        let hardware = profile("tigon2-88mhz");
        assert_eq!(hardware.board(), "tigon2");
        let timing = Timing::from_profile(&hardware).unwrap();
        assert_eq!(timing.core_clock_hz, 88_000_000);
        assert_eq!(timing.wire.byte_time, SimTime::from_ns(8));
        assert_eq!(timing.host, hardware.host);
        assert!(hardware.stages.is_empty());
        let thesis = profile("emp-thesis");
        assert_eq!(Timing::from_profile(&thesis).unwrap(), timing);
        assert_eq!(thesis.stages.len(), 9);
    }

    #[test]
    fn a_profile_says_how_many_cpus_there_are() {
        let profile = Catalog::new([&PROFILES, &PROFILES_N]).built_in("tigon-n-88mhz");
        let profile = profile.unwrap();
        assert_eq!(profile.board(), "tigon-n");
        let timing = Timing::from_profile(&profile).unwrap();
        assert_eq!(timing.cpus.count(), 4);
        let chip = Timing::built_in("tigon2-88mhz").unwrap();
        assert_eq!(chip.cpus, CpuPlan::CHIP);
        assert_eq!(Timing::built_in("emp-thesis-n").unwrap(), timing);
        let wrong =
            "name = \"m\"\ndescription = \"d\"\nboard = \"tigon2\"\nbase = \"tigon-n-88mhz\"";
        let error = Catalog::new([&PROFILES, &PROFILES_N]).parse(wrong);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("for the board \"tigon-n\""), "{error}");
        let as_chip = Timing {
            cpus: timing.cpus,
            sram_change_cycles: timing.sram_change_cycles,
            ..chip
        };
        assert_eq!(timing, as_chip);
        let with = |count| profile.with_values([("core.cpus", count)]);
        let seven = Timing::from_profile(&with(7.0).unwrap()).unwrap();
        assert_eq!(seven.cpus.count(), 7);
        for (wrong, expected) in [(0.0, "between 1 and 8"), (9.0, "between"), (1.5, "whole")] {
            let error = with(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_profile_says_what_a_board_has_beyond_the_chip() {
        let profile = Catalog::new([&PROFILES, &PROFILES_N]).built_in("tigon-n-88mhz");
        let profile = profile.unwrap();
        let with = |name, value| profile.with_values([(name, value)]);
        let timing = |name, value| Timing::from_profile(&with(name, value).unwrap()).unwrap();
        assert_eq!(timing("sram.banks", 4.0).sram_banks.count(), 4);
        assert_eq!(timing("core.semaphores", 8.0).semaphores, 8);
        assert!(timing("core.bit_instructions", 1.0).bit_instructions);
        for (width, line, burst) in [(4.0, 8, 16), (8.0, 4, 8), (16.0, 2, 4), (64.0, 1, 1)] {
            let timing = timing("sram.width", width);
            let cycles = (timing.sram_line_cycles, timing.sram_burst_cycles);
            assert_eq!(cycles, (line, burst), "{width} bytes");
        }
        let check = |name, value, expected: &str| {
            let error = with(name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("sram.banks", 3.0, "a power of two");
        check("sram.banks", 32.0, "between 1 and 16");
        check("sram.interleave", 12.0, "a power of two");
        check("sram.width", 2.0, "between 4 and 64");
        check("core.semaphores", 9.0, "between 1 and 8");
        check("core.bit_instructions", 2.0, "between 0 and 1");
        let chip = Catalog::new([&PROFILES]).built_in("tigon2-88mhz").unwrap();
        let error = chip.with_values([("sram.banks", 4.0)]).unwrap_err();
        assert!(error.to_string().contains("sram.banks"), "{error}");
    }

    #[test]
    fn an_overlay_replaces_entries() {
        let thesis = profile("emp-thesis");
        let host = "name = \"host-700mhz\"\ndescription = \"slower\"
            [host.translate]\nvalue = 533\nunit = \"ns\"\nsource = \"GUESS\"\nwhy = \"w\"
            [host.post]\nvalue = 200\nunit = \"ns\"\nsource = \"GUESS\"\nwhy = \"w\"\n";
        let slower = thesis.with(host).unwrap();
        assert!(slower.host.translate > thesis.host.translate);
        assert_eq!(slower.stages, thesis.stages);
        assert_eq!(slower.name, "emp-thesis");
        let check = |overlay: &str, expected: &str| {
            let error = thesis.with(overlay).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(&host.replace("700", "\""), "profile:");
        check(&host.replace("[host.post]", "[host.psot]"), "host.psot");
        check(
            &host.replace("value = 200\n", "value = -200\n"),
            "host.post = -200",
        );
        check(
            "name = \"h\"\ndescription = \"d\"\nbase = \"emp-thesis\"",
            "has a base",
        );
    }

    #[test]
    fn bad_profiles_are_refused() {
        let check = |text: &str, expected: &str| {
            let error = Catalog::new([&PROFILES])
                .parse(text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        };
        let head = "name = \"mine\"\ndescription = \"d\"\nbase = \"tigon2-88mhz\"\n";
        let bare = "name = \"mine\"\ndescription = \"d\"\n";
        let entry = |value: &str, unit: &str| {
            format!(
                "{head}[core.sram_load]\nvalue = {value}\nunit = \"{unit}\"\nsource = \"GUESS\"\nwhy = \"w\"\n"
            )
        };
        check(bare, "\"board\" is missing");
        check(&format!("{bare}board = \"tigon2\""), "core.clock");
        check(&format!("{bare}board = \"tigon3\""), "(there are: tigon2)");
        check(
            &format!("{head}board = \"tigon3\""),
            "is for the board \"tigon2\", not for \"tigon3\"",
        );
        check(&entry("-1", "cycles"), "must lie between");
        check(&entry("3", "ns"), "its unit is cycles");
        check(&entry("nan", "cycles"), "must lie between");
        check(
            &entry("3", "cycles").replace("sram_load", "sram_laod"),
            "nothing is called",
        );
        check(
            &entry("3", "cycles").replace("why", "because"),
            "unknown field",
        );
        check("name = ", "profile:");
        check(
            &head.replace("tigon2-88mhz", "nothing"),
            "there is no profile \"nothing\"",
        );
    }
}
