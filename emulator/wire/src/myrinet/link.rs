//! Cables: rates and lengths.

use emulator_base::time::SimTime;
use emulator_state::value_struct;

/// A cable's properties; both directions are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Time of one byte.
    pub byte_time: SimTime,
    /// Time from one end to the other, for bytes, STOP and GO.
    pub propagation: SimTime,
}

value_struct!(Link {
    byte_time: byte_time,
    propagation: propagation
});

impl Link {
    /// Delay of a metre of cable.
    const METRE: SimTime = SimTime::from_ps(6_500);

    /// A cable of 1.28 Gb/s, as for LANai 4 to 7.
    #[must_use]
    pub const fn at_1_28_gbps(metres: u64) -> Self {
        Self::new(SimTime::from_ps(6_250), metres)
    }

    /// A cable of 2.0 Gb/s: Myrinet-2000.
    #[must_use]
    pub const fn at_2_gbps(metres: u64) -> Self {
        Self::new(SimTime::from_ps(4_000), metres)
    }

    /// A cable of any rate.
    #[must_use]
    pub const fn new(byte_time: SimTime, metres: u64) -> Self {
        let delay = Self::METRE.ps().saturating_mul(metres);
        Self {
            byte_time,
            propagation: SimTime::from_ps(delay),
        }
    }

    /// The time that bytes take to pass.
    #[must_use]
    pub const fn span(&self, bytes: u64) -> SimTime {
        SimTime::from_ps(self.byte_time.ps().saturating_mul(bytes))
    }

    /// Bits in a second.
    #[must_use]
    pub const fn bits_per_s(&self) -> u64 {
        match 8_000_000_000_000_u64.checked_div(self.byte_time.ps()) {
            Some(bits) => bits,
            None => 0,
        }
    }
}
