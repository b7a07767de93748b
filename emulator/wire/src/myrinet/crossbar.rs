//! Crossbars: switches of 8, 16 or 32 ports that pass a packet on as soon as its egress is free.

use emulator_base::time::SimTime;
use emulator_profile::{ProfileError, Reader};
use emulator_state::state;

/// Fill levels of a slack buffer at which a port sends STOP and GO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// STOP at this number of bytes or more.
    pub stop_bytes: u64,
    /// GO at this number of bytes or less, after STOP.
    pub go_bytes: u64,
}

impl Default for Watermarks {
    /// The values of the profiles.
    fn default() -> Self {
        Self {
            stop_bytes: 48,
            go_bytes: 32,
        }
    }
}

/// A crossbar's properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossbarConfig {
    /// Number of ports: 8, 16 or 32.
    pub ports: usize,
    /// Span from a byte at a port to that byte in the slack buffer, ready to leave.
    pub latency: SimTime,
    /// STOP and GO of its ports.
    pub watermarks: Watermarks,
    /// A packet whose head has waited for so long is taken out of the network. `None`: it waits forever.
    pub watchdog: Option<SimTime>,
}

impl CrossbarConfig {
    /// A crossbar of `ports` ports of a network without a profile, with the values that profiles have: 200 ns and no watchdog.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        Self {
            ports,
            latency: SimTime::from_ns(200),
            watermarks: Watermarks::default(),
            watchdog: None,
        }
    }

    /// A crossbar of `ports` ports with the properties of a profile.
    ///
    /// # Errors
    /// If an entry is missing or out of range.
    pub fn read(ports: usize, from: &mut Reader<'_>) -> Result<Self, ProfileError> {
        let stop = from.count("crossbar.stop", "bytes", 1)?;
        let go = from.number("crossbar.go", "bytes", 0.0, f64::from(stop - 1))?;
        let watchdog = from.span("crossbar.watchdog")?;
        Ok(Self {
            ports,
            latency: from.short_span("crossbar.latency", 1e6)?,
            watermarks: Watermarks {
                stop_bytes: stop.into(),
                go_bytes: go as u64,
            },
            watchdog: Some(watchdog).filter(|span| *span != SimTime::ZERO),
        })
    }
}

/// A crossbar.
#[derive(Debug)]
pub(super) struct Crossbar {
    pub config: CrossbarConfig,
    /// For each port, the channel that leads away from it.
    pub ports: Vec<Option<usize>>,
}

state!(Crossbar { ports } fixed { config });
