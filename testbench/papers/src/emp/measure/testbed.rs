//! The thesis's testbeds: hosts and network. All else is equal.

use emulator::profile::{Entry, Profile, ProfileError};
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::switch::{Forwarding, SwitchConfig};
use lanigon_experiments::Error;
use lanigon_experiments::statements::PaperFile;
use serde::Deserialize;

use lanigon_worlds::nodes::mac_address;

/// Overlay for the 700 MHz hosts; profiles describe the 933 MHz hosts.
const HOST_700: &str = include_str!("../../../profiles/host-700mhz.toml");
/// Description of the second testbed's switch.
const PACKET_ENGINE: PaperFile = PaperFile {
    name: "switch-packet-engine.toml",
    text: include_str!("../../../profiles/switch-packet-engine.toml"),
};
/// Number of ports of a switch between two nodes.
const PORTS: usize = 2;
/// Longest valid latency of a switch.
const LONGEST_NS: f64 = 1e9;
/// Largest valid buffer of a port.
const LARGEST_BYTES: f64 = 1e12;

/// A testbed of the thesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Testbed {
    /// Dual 933 MHz hosts, NICs connected directly.
    Direct933,
    /// Quad 700 MHz hosts and a packet-engine switch.
    Switch700,
    /// Quad 700 MHz hosts, NICs connected directly (Figure 3.7).
    Direct700,
}

impl Testbed {
    /// All testbeds.
    pub const ALL: [Self; 3] = [Self::Direct933, Self::Switch700, Self::Direct700];

    /// Name in rows and in `data/published-emp.csv`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["933mhz-direct", "700mhz-switch", "700mhz-direct"][self as usize]
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
    /// The switch's file is invalid.
    pub fn switch(self) -> Result<Option<SwitchConfig>, Error> {
        match self {
            Self::Switch700 => parse_switch(&PACKET_ENGINE).map(Some),
            Self::Direct933 | Self::Direct700 => Ok(None),
        }
    }
}

/// The profile of a switch as its file has it.
#[derive(Debug, Deserialize)]
struct SwitchFile {
    switch: SwitchEntries,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchEntries {
    latency: Entry,
    store_and_forward: Entry,
    buffer: Entry,
}

/// Parses the description of a switch for two nodes.
fn parse_switch(file: &PaperFile) -> Result<SwitchConfig, Error> {
    let SwitchFile { switch } = file.parse()?;
    let value = |name: &str, entry: &Entry, unit: &str, most: f64| match entry.unit == unit
        && (0.0..=most).contains(&entry.value)
    {
        true => Ok(entry.value),
        false => Err(file.invalid(format!(
            "switch.{name} = {} {}: it must lie between 0 and {most} {unit}",
            entry.value, entry.unit
        ))),
    };
    let latency_ns = value("latency", &switch.latency, "ns", LONGEST_NS)?;
    let waits = value(
        "store_and_forward",
        &switch.store_and_forward,
        "0 or 1",
        1.0,
    )?;
    let buffer_bytes = value("buffer", &switch.buffer, "bytes", LARGEST_BYTES)?;
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
        for (from, to, expected) in [
            ("[switch.latency]", "[switch.latncy]", "latncy"),
            ("value = 1\n", "value = 2\n", "store_and_forward = 2"),
            ("unit = \"ns\"", "unit = \"us\"", "latency = "),
        ] {
            let text = PACKET_ENGINE.text.replace(from, to);
            let file = PaperFile {
                text: text.leak(),
                ..PACKET_ENGINE
            };
            let error = parse_switch(&file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
