//! The thesis's testbeds: hosts and network. All else is equal.

use std::collections::BTreeMap;

use emulator::profile::{Entry, Profile, ProfileError};
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::switch::{Forwarding, SwitchConfig};
use serde::Deserialize;

use lanigon_worlds::nodes::mac_address;

/// Overlay for the 700 MHz hosts; profiles describe the 933 MHz hosts.
const HOST_700: &str = include_str!("../../../profiles/host-700mhz.toml");
/// Description of the second testbed's switch.
const PACKET_ENGINE: &str = include_str!("../../../profiles/switch-packet-engine.toml");
/// Number of ports of a switch between two nodes.
const PORTS: usize = 2;
/// Longest valid latency of a switch.
const LONGEST_NS: f64 = 1e9;
/// Largest valid buffer of a port.
const LARGEST_BYTES: f64 = 1e12;

/// A testbed of the thesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Testbed {
    /// Dual 933 MHz hosts, NICs connected directly.
    #[serde(rename = "933mhz-direct")]
    Direct933,
    /// Quad 700 MHz hosts and a packet-engine switch.
    #[serde(rename = "700mhz-switch")]
    Switch700,
    /// Quad 700 MHz hosts, NICs connected directly (Figure 3.7).
    #[serde(rename = "700mhz-direct")]
    Direct700,
}

impl Testbed {
    /// All testbeds.
    pub const ALL: [Self; 3] = [Self::Direct933, Self::Switch700, Self::Direct700];

    /// Names and descriptions.
    const WORDS: [[&'static str; 2]; 3] = [
        ["933mhz-direct", "933 MHz hosts, no switch"],
        ["700mhz-switch", "700 MHz hosts, switch"],
        ["700mhz-direct", "700 MHz hosts, no switch"],
    ];

    /// Name in rows and in `data/published-emp.csv`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::WORDS[self as usize][0]
    }

    /// Description for display.
    #[must_use]
    pub const fn title(self) -> &'static str {
        Self::WORDS[self as usize][1]
    }

    /// Finds a testbed by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|testbed| testbed.name() == name)
    }

    /// The profile with this testbed's hosts.
    ///
    /// # Errors
    /// [`ProfileError`], if the hosts' file is invalid.
    pub fn profile(self, profile: &Profile) -> Result<Profile, ProfileError> {
        match self {
            Self::Direct933 => Ok(profile.clone()),
            Self::Switch700 | Self::Direct700 => profile.with(HOST_700),
        }
    }

    /// The testbed's switch, if any.
    ///
    /// # Errors
    /// [`SwitchError`], if the switch's file is invalid.
    pub fn switch(self) -> Result<Option<SwitchConfig>, SwitchError> {
        match self {
            Self::Switch700 => parse_switch(PACKET_ENGINE).map(Some),
            Self::Direct933 | Self::Direct700 => Ok(None),
        }
    }
}

impl From<SwitchError> for lanigon_experiments::Error {
    fn from(error: SwitchError) -> Self {
        Self::Request(error.to_string())
    }
}

/// Invalid description of a switch.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The table is not TOML, or an entry lacks a field.
    #[error("switch: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A required entry is missing.
    #[error("switch: the entry \"switch.{0}\" is missing")]
    Missing(&'static str),
    /// An entry is unknown.
    #[error("switch: nothing is called \"switch.{0}\"")]
    Superfluous(String),
    /// A value is out of range or has a wrong unit.
    #[error("switch.{name} = {value} {unit}: it must lie between {least} and {most} {expected}")]
    Value {
        /// The entry.
        name: &'static str,
        /// Value of the entry.
        value: f64,
        /// Unit of the entry.
        unit: String,
        /// Lower limit.
        least: f64,
        /// Upper limit.
        most: f64,
        /// Required unit.
        expected: &'static str,
    },
}

/// The profile of a switch as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchFile {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "description")]
    _description: String,
    switch: BTreeMap<String, Entry>,
}

impl SwitchFile {
    /// Removes and returns an entry.
    fn take_entry(
        &mut self,
        name: &'static str,
        expected: &'static str,
        most: f64,
    ) -> Result<f64, SwitchError> {
        let entry = self.switch.remove(name).ok_or(SwitchError::Missing(name))?;
        let least = 0.0;
        if entry.unit != expected || !(least..=most).contains(&entry.value) {
            return Err(SwitchError::Value {
                name,
                value: entry.value,
                unit: entry.unit,
                least,
                most,
                expected,
            });
        }
        Ok(entry.value)
    }
}

/// Parses the description of a switch for two nodes.
fn parse_switch(text: &str) -> Result<SwitchConfig, SwitchError> {
    let mut file: SwitchFile = toml::from_str(text)?;
    let latency_ns = file.take_entry("latency", "ns", LONGEST_NS)?;
    let waits = file.take_entry("store_and_forward", "0 or 1", 1.0)?;
    let buffer_bytes = file.take_entry("buffer", "bytes", LARGEST_BYTES)?;
    if let Some(name) = file.switch.into_keys().next() {
        return Err(SwitchError::Superfluous(name));
    }
    Ok(SwitchConfig {
        ports: PORTS,
        forwarding: if waits > 0.0 {
            Forwarding::StoreAndForward
        } else {
            Forwarding::CutThrough
        },
        latency: SimTime::from_ps((latency_ns * 1e3).round() as u64),
        buffer_bytes: buffer_bytes as u64,
        routes: (0..PORTS)
            .map(|node| (mac_address(node as u16), node))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanigon_worlds::boards;
    use lanigon_worlds::profile::built_in;

    #[test]
    fn the_hosts_differ_in_processor_work_only() {
        for name in boards::DEFAULT.profiles.names() {
            let fast = built_in(name).unwrap();
            for testbed in Testbed::ALL {
                let profile = testbed.profile(&fast).unwrap();
                for (entry, value) in &profile.entries {
                    // The number of CPUs, the scheduler's slice and memory do not follow the clock.
                    let other = [
                        "host.cpus",
                        "host.time_slice",
                        "host.memory_miss",
                        "host.kernel_copy_byte",
                        "host.kernel_sum_byte",
                    ];
                    if other.contains(&entry.as_str()) {
                        continue;
                    }
                    let slower = testbed != Testbed::Direct933 && entry.starts_with("host.");
                    let factor = if slower { 933.0 / 700.0 } else { 1.0 };
                    let expected = factor * fast.entries[entry].value;
                    let off = (value.value - expected).abs();
                    // The overlay is written in whole nanoseconds.
                    assert!(off <= (0.01 * expected).max(0.5), "{testbed:?} {entry}");
                }
                assert_eq!(profile.stages, fast.stages);
            }
        }
    }

    #[test]
    fn bad_switches_are_refused() {
        let check = |text: &str, expected: &str| {
            let error = parse_switch(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("name = ", "switch:");
        check(
            &PACKET_ENGINE.replace("[switch.latency]", "[switch.latncy]"),
            "latency\" is missing",
        );
        check(
            &PACKET_ENGINE.replace("value = 1\n", "value = 2\n"),
            "store_and_forward = 2",
        );
        check(
            &PACKET_ENGINE.replace("unit = \"ns\"", "unit = \"us\""),
            "latency = ",
        );
        check(
            &format!(
                "{PACKET_ENGINE}\n[switch.colour]\nvalue = 1\nunit = \"\"\nsource = \"\"\nwhy = \"\""
            ),
            "switch.colour",
        );
    }
}
