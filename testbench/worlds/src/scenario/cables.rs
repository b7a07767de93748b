//! Cables: speeds and lengths, with the values of each medium.

use emulator::sim::time::SimTime;

use super::error::ScenarioError;
use super::table::{Item, Table};
use crate::boards::Medium;

/// Propagation time per metre of fibre or copper, in ps.
const fn ps_per_metre(medium: Medium) -> f64 {
    match medium {
        Medium::Ethernet => 5000.0,
        // docs/myrinet.md, section 2.
        Medium::Myrinet => 6500.0,
    }
}
/// Default length of a link.
const DEFAULT_LENGTH_M: f64 = 10.0;

fn byte_time(speed_mbit: f64) -> SimTime {
    SimTime::from_ps((8e6 / speed_mbit).round() as u64)
}

/// Values of cables that do not say otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cables {
    /// Speed of the slowest board.
    speed_mbit: f64,
    pub(super) medium: Medium,
}

impl Cables {
    pub(super) fn new(speed_mbit: u32, medium: Medium) -> Self {
        let speed_mbit = speed_mbit.into();
        Self { speed_mbit, medium }
    }

    /// Byte time and propagation time of a cable that says neither.
    pub(super) fn usual(self) -> (SimTime, SimTime) {
        (
            byte_time(self.speed_mbit),
            self.propagation(DEFAULT_LENGTH_M),
        )
    }

    fn propagation(self, length_m: f64) -> SimTime {
        SimTime::from_ps((length_m * ps_per_metre(self.medium)).round() as u64)
    }

    /// Byte time and propagation time from a table of links.
    pub(super) fn links_of(
        self,
        table: Option<Table<'_>>,
        default: (SimTime, SimTime),
    ) -> Result<(SimTime, SimTime), ScenarioError> {
        let Some(mut table) = table else {
            return Ok(default);
        };
        let timing = self.link_timing(&mut table)?;
        table.finish()?;
        Ok(timing)
    }

    /// Byte time and propagation time of a link.
    pub(super) fn link_timing(
        self,
        table: &mut Table<'_>,
    ) -> Result<(SimTime, SimTime), ScenarioError> {
        let speed_mbit = match table.get("speed_mbit") {
            Some(item) => item.number(self.slowest_mbit()..=100_000.0)?,
            None => self.speed_mbit,
        };
        let length = table.get("length_m");
        let direct = table.get("propagation_ns");
        let propagation = match (&length, &direct) {
            (Some(_), Some(item)) => {
                return Err(item.place.refuse("the link has a length_m already"));
            }
            (_, Some(item)) => {
                let ns = item.number(0.0..=self.longest_ns())?;
                nonzero(SimTime::from_ps((ns * 1000.0).round() as u64), item)?
            }
            (Some(item), None) => {
                let most = self.longest_ns() * 1000.0 / ps_per_metre(self.medium);
                nonzero(self.propagation(item.number(0.0..=most.min(1e6))?), item)?
            }
            (None, None) => self.propagation(DEFAULT_LENGTH_M),
        };
        Ok((byte_time(speed_mbit), propagation))
    }

    /// A byte of Myrinet takes at most 1 us.
    const fn slowest_mbit(self) -> f64 {
        match self.medium {
            Medium::Ethernet => 1.0,
            Medium::Myrinet => 8.0,
        }
    }

    /// A cable of Myrinet takes at most 1 ms.
    const fn longest_ns(self) -> f64 {
        match self.medium {
            Medium::Ethernet => 1e9,
            Medium::Myrinet => 1e6,
        }
    }
}

fn nonzero(propagation: SimTime, item: &Item<'_>) -> Result<SimTime, ScenarioError> {
    if propagation == SimTime::ZERO {
        let reason =
            "a link without latency: what happens at one end cannot be at the other at once";
        return Err(item.place.refuse(reason));
    }
    Ok(propagation)
}
