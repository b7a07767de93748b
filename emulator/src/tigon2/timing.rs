//! The timing profile: every cost of the model, each with unit, source and reason.
//!
//! A profile is a TOML file (`emulator/profiles/`); users can supply their own. A table's entry is
//! `{ value, unit, source, why }`; `before_results` gives the earlier value of a cost that was changed in
//! knowledge of results. With `base = "NAME"` a profile takes all entries of another one
//! and replaces or adds some. `[stages]` gives the durations to which protocol stages are
//! stretched (ARCHITECTURE.md, "Timing"). An *overlay* ([`Profile::with`]) replaces entries of any
//! profile: another host for the same board.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::host::costs::HostCosts;
use crate::sim::time::SimTime;

/// Errors in a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The built-in profile does not exist.
    #[error("there is no profile \"{name}\" (there are: {known})")]
    Unknown {
        /// The name.
        name: String,
        /// Existing names.
        known: String,
    },
    /// The file is not TOML, or an entry lacks a field.
    #[error("profile: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A cost is missing.
    #[error("profile \"{profile}\": the entry \"{entry}\" is missing")]
    Missing {
        /// The profile.
        profile: String,
        /// The entry.
        entry: &'static str,
    },
    /// An entry that no part of the model reads.
    #[error("profile \"{profile}\": nothing is called \"{entry}\"")]
    Superfluous {
        /// The profile.
        profile: String,
        /// The entry.
        entry: String,
    },
    /// A value out of range or with the wrong unit.
    #[error("profile \"{profile}\": {entry} = {value} {unit}: {reason}")]
    Value {
        /// The profile.
        profile: String,
        /// The entry.
        entry: String,
        /// Its value.
        value: f64,
        /// Its unit.
        unit: String,
        /// The reason.
        reason: String,
    },
    /// Profiles that name each other as base.
    #[error("profile \"{0}\": its base leads back to itself")]
    Cycle(String),
    /// An overlay that is a profile of its own.
    #[error("overlay \"{0}\": it has a base or stages, which only profiles have")]
    NoOverlay(String),
}

/// One cost.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The value in `unit`.
    pub value: f64,
    /// The unit.
    pub unit: String,
    /// A section of docs/, the id of a published number, or GUESS.
    pub source: String,
    /// The reason for the value.
    pub why: String,
    /// The value before it was changed in knowledge of an experiment's results, if it was.
    pub before_results: Option<String>,
}

#[derive(Debug, Deserialize)]
struct File {
    name: String,
    description: String,
    base: Option<String>,
    #[serde(default)]
    stages: BTreeMap<String, Entry>,
    #[serde(flatten)]
    groups: BTreeMap<String, BTreeMap<String, Entry>>,
}

impl File {
    /// Its costs, by `group.name`.
    fn entries(&self) -> impl Iterator<Item = (String, Entry)> + '_ {
        self.groups.iter().flat_map(|(group, members)| {
            let full = move |name: &str| format!("{group}.{name}");
            members
                .iter()
                .map(move |(name, entry)| (full(name), entry.clone()))
        })
    }
}

/// A named set of costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Every entry by `group.name`.
    pub entries: BTreeMap<String, Entry>,
    /// Durations to which stages are stretched, by stage name; empty for plain hardware.
    pub stages: BTreeMap<String, Entry>,
    /// The costs in the form that the model uses.
    pub timing: Timing,
}

/// The costs in the form that the model uses. Fields are named as the profile's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Each field is documented by its profile entry, where its reason stands.
pub struct Timing {
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
    pub pci_width_bytes: u32,
    pub pci_burst_overhead_clocks: u32,
    pub dma_start: SimTime,
    pub dma_read_latency: SimTime,
    pub dma_write_latency: SimTime,
    pub mac_transmit_start: SimTime,
    pub mac_receive_end: SimTime,
    pub mac_config_word: SimTime,
    pub wire_rate_bits_per_s: u64,
    pub wire_propagation: SimTime,
    pub host: HostCosts,
}

const BUILT_IN: [(&str, &str); 2] = [
    (
        "tigon2-88mhz",
        include_str!("../../profiles/tigon2-88mhz.toml"),
    ),
    ("emp-thesis", include_str!("../../profiles/emp-thesis.toml")),
];

/// Longest duration that an entry may have.
const LONGEST_NS: f64 = 1e9;

struct Reader<'a> {
    profile: &'a str,
    entries: &'a BTreeMap<String, Entry>,
    read: Vec<&'static str>,
}

impl Reader<'_> {
    fn number(
        &mut self,
        name: &'static str,
        unit: &str,
        least: f64,
        most: f64,
    ) -> Result<f64, ProfileError> {
        self.read.push(name);
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| ProfileError::Missing {
                profile: self.profile.into(),
                entry: name,
            })?;
        let refuse = |reason: String| ProfileError::Value {
            profile: self.profile.into(),
            entry: name.into(),
            value: entry.value,
            unit: entry.unit.clone(),
            reason,
        };
        if entry.unit != unit {
            return Err(refuse(format!("its unit is {unit}")));
        }
        if !(least..=most).contains(&entry.value) {
            return Err(refuse(format!("it must lie between {least} and {most}")));
        }
        Ok(entry.value)
    }

    fn count(&mut self, name: &'static str, unit: &str, least: u32) -> Result<u32, ProfileError> {
        Ok(self.number(name, unit, f64::from(least), 1e6)? as u32)
    }

    fn rate(&mut self, name: &'static str, unit: &str) -> Result<u64, ProfileError> {
        Ok(self.number(name, unit, 1e3, 1e12)? as u64)
    }

    fn span(&mut self, name: &'static str) -> Result<SimTime, ProfileError> {
        self.short_span(name, LONGEST_NS)
    }

    /// A positive span: at least 1 ns.
    fn positive_span(&mut self, name: &'static str) -> Result<SimTime, ProfileError> {
        let ns = self.number(name, "ns", 1.0, LONGEST_NS)?;
        Ok(SimTime::from_ps((ns * 1e3).round() as u64))
    }

    fn short_span(&mut self, name: &'static str, most_ns: f64) -> Result<SimTime, ProfileError> {
        let ns = self.number(name, "ns", 0.0, most_ns)?;
        Ok(SimTime::from_ps((ns * 1e3).round() as u64))
    }

    fn timing(&mut self) -> Result<Timing, ProfileError> {
        Ok(Timing {
            core_clock_hz: self.rate("core.clock", "Hz")?,
            instruction_cycles: self.count("core.instruction", "cycles", 1)?,
            taken_branch_cycles: self.count("core.taken_branch", "cycles", 0)?,
            annulled_slot_cycles: self.count("core.annulled_slot", "cycles", 0)?,
            scratchpad_load_cycles: self.count("core.scratchpad_load", "cycles", 0)?,
            scratchpad_store_cycles: self.count("core.scratchpad_store", "cycles", 0)?,
            sram_load_cycles: self.count("core.sram_load", "cycles", 0)?,
            sram_store_cycles: self.count("core.sram_store", "cycles", 0)?,
            register_load_cycles: self.count("core.register_load", "cycles", 0)?,
            register_store_cycles: self.count("core.register_store", "cycles", 0)?,
            fetch_miss_cycles: self.count("core.fetch_miss", "cycles", 0)?,
            instruction_cache_bytes: self.count("core.instruction_cache", "bytes", 32)?,
            sram_word_cycles: self.count("sram.word", "cycles", 0)?,
            sram_line_cycles: self.count("sram.line", "cycles", 0)?,
            sram_burst_cycles: self.count("sram.burst", "cycles", 0)?,
            pci_width_bytes: self.count("pci.width", "bytes", 1)?,
            pci_burst_overhead_clocks: self.count("pci.burst_overhead", "PCI clocks", 0)?,
            dma_start: self.span("dma.start")?,
            dma_read_latency: self.span("dma.read_latency")?,
            dma_write_latency: self.span("dma.write_latency")?,
            mac_transmit_start: self.span("mac.transmit_start")?,
            // A frame must be visible before the next one's first 64 bytes have arrived.
            mac_receive_end: self.short_span("mac.receive_end", 500.0)?,
            mac_config_word: self.span("mac.config_word")?,
            wire_rate_bits_per_s: self.rate("wire.rate", "bit/s")?,
            wire_propagation: self.span("wire.propagation")?,
            host: self.host()?,
        })
    }
}

impl Reader<'_> {
    fn host(&mut self) -> Result<HostCosts, ProfileError> {
        Ok(HostCosts {
            pci_clock_hz: self.rate("pci.clock", "Hz")?,
            pio_read: self.span("pci.pio_read")?,
            pio_read_request: self.span("pci.pio_read_request")?,
            pio_read_bus_clocks: self.count("pci.pio_read_bus", "PCI clocks", 1)?,
            pio_read_return: self.span("pci.pio_read_return")?,
            pio_write: self.span("pci.pio_write")?,
            pio_write_setup_clocks: self.count("pci.pio_write_setup", "PCI clocks", 1)?,
            translate: self.span("host.translate")?,
            translate_page: self.span("host.translate_page")?,
            cpus: self.count("host.cpus", "count", 1)?,
            interrupt: self.span("host.interrupt")?,
            interrupt_work: self.span("host.interrupt_work")?,
            wake_up: self.span("host.wake_up")?,
            context_switch: self.span("host.context_switch")?,
            time_slice: self.positive_span("host.time_slice")?,
            system_call: self.span("host.system_call")?,
            signal: self.span("host.signal")?,
            signal_return: self.span("host.signal_return")?,
            memory_poll: self.positive_span("host.memory_poll")?,
            memory_miss: self.span("host.memory_miss")?,
            post: self.span("host.post")?,
        })
    }
}

impl Timing {
    /// The time of one byte on the wire.
    #[must_use]
    pub const fn byte_time(&self) -> SimTime {
        SimTime::from_ps(8_000_000_000_000 / self.wire_rate_bits_per_s)
    }
}

impl Profile {
    /// The names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A built-in profile.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`].
    pub fn built_in(name: &str) -> Result<Self, ProfileError> {
        Self::load(built_in_text(name)?, 0)
    }

    /// A profile from a user's text.
    ///
    /// # Errors
    /// Whatever is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        Self::load(text, 0)
    }

    fn load(text: &str, depth: usize) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(text)?;
        let (mut entries, mut stages) = match &file.base {
            None => (BTreeMap::new(), BTreeMap::new()),
            Some(_) if depth > BUILT_IN.len() => return Err(ProfileError::Cycle(file.name)),
            Some(base) => {
                let base = Self::load(built_in_text(base)?, depth + 1)?;
                (base.entries, base.stages)
            }
        };
        entries.extend(file.entries());
        stages.extend(file.stages);
        Self::build(file.name, file.description, entries, stages)
    }

    /// This profile with entries replaced by those of an overlay, such as a host's.
    ///
    /// # Errors
    /// Whatever is wrong with the overlay; a base in it, or an entry that this profile has not.
    pub fn with(&self, overlay: &str) -> Result<Self, ProfileError> {
        let file: File = toml::from_str(overlay)?;
        let mut entries = self.entries.clone();
        for (name, entry) in file.entries() {
            if entries.insert(name.clone(), entry).is_none() {
                return Err(ProfileError::Superfluous {
                    profile: file.name.clone(),
                    entry: name,
                });
            }
        }
        if file.base.is_some() || !file.stages.is_empty() {
            return Err(ProfileError::NoOverlay(file.name));
        }
        let (name, description) = (self.name.clone(), self.description.clone());
        Self::build(name, description, entries, self.stages.clone())
    }

    fn build(
        name: String,
        description: String,
        entries: BTreeMap<String, Entry>,
        stages: BTreeMap<String, Entry>,
    ) -> Result<Self, ProfileError> {
        let mut reader = Reader {
            profile: &name,
            entries: &entries,
            read: Vec::new(),
        };
        let timing = reader.timing()?;
        let read = reader.read;
        if let Some(entry) = entries.keys().find(|key| !read.contains(&key.as_str())) {
            return Err(ProfileError::Superfluous {
                profile: name,
                entry: entry.clone(),
            });
        }
        check_stages(&name, &stages)?;
        Ok(Self {
            name,
            description,
            entries,
            stages,
            timing,
        })
    }
}

fn built_in_text(name: &str) -> Result<&'static str, ProfileError> {
    BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
        .ok_or_else(|| ProfileError::Unknown {
            name: name.into(),
            known: Profile::names().collect::<Vec<_>>().join(", "),
        })
}

fn check_stages(profile: &str, stages: &BTreeMap<String, Entry>) -> Result<(), ProfileError> {
    for (name, entry) in stages {
        if entry.unit != "us" || !(0.01..=1e4).contains(&entry.value) {
            return Err(ProfileError::Value {
                profile: profile.into(),
                entry: format!("stages.{name}"),
                value: entry.value,
                unit: entry.unit.clone(),
                reason: "a stage takes between 0.01 and 10000 us".into(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_load() {
        let hardware = Profile::built_in("tigon2-88mhz").unwrap();
        assert_eq!(hardware.timing.core_clock_hz, 88_000_000);
        assert_eq!(hardware.timing.byte_time(), SimTime::from_ns(8));
        assert!(hardware.stages.is_empty());
        let thesis = Profile::built_in("emp-thesis").unwrap();
        assert_eq!(thesis.timing, hardware.timing);
        assert_eq!(thesis.stages.len(), 9);
    }

    #[test]
    fn an_overlay_replaces_entries() {
        let thesis = Profile::built_in("emp-thesis").unwrap();
        let host = "name = \"host-700mhz\"\ndescription = \"slower\"
            [host.translate]\nvalue = 533\nunit = \"ns\"\nsource = \"GUESS\"\nwhy = \"w\"
            [host.post]\nvalue = 200\nunit = \"ns\"\nsource = \"GUESS\"\nwhy = \"w\"\n";
        let slower = thesis.with(host).unwrap();
        assert!(slower.timing.host.translate > thesis.timing.host.translate);
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
            let error = Profile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let head = "name = \"mine\"\ndescription = \"d\"\nbase = \"tigon2-88mhz\"\n";
        let entry = |value: &str, unit: &str| {
            format!(
                "{head}[core.sram_load]\nvalue = {value}\nunit = \"{unit}\"\nsource = \"GUESS\"\nwhy = \"w\"\n"
            )
        };
        check("name = \"mine\"\ndescription = \"d\"", "core.clock");
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
