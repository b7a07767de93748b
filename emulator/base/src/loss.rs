//! Losses: why units do not arrive, and how many.

use emulator_state::value_struct;

/// Reason why a unit does not reach the end of its link, or does not leave a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossReason {
    /// The link was cut.
    Cut,
    /// A fault layer made it shorter or longer than the medium allows.
    Length,
    /// The check sequence of the unit is wrong; a switch that stores units drops such.
    Damaged,
    /// The switch has no route to its destination.
    UnknownDestination,
    /// The route of the unit leads back to the port where it came in.
    Returning,
    /// No cable is plugged in at the port to which its route leads.
    Unconnected,
    /// The port's buffer is full.
    BufferFull,
    /// The unit passed so many switches that its route must be a loop.
    TooManySwitches,
    /// The unit was blocked for so long that a watchdog took it out of the network.
    Blocked,
}

impl LossReason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Cut,
        Self::Length,
        Self::Damaged,
        Self::UnknownDestination,
        Self::Returning,
        Self::Unconnected,
        Self::BufferFull,
        Self::TooManySwitches,
        Self::Blocked,
    ];

    /// The name in traces and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "link cut",
            Self::Length => "impossible length",
            Self::Damaged => "damaged",
            Self::UnknownDestination => "unknown destination",
            Self::Returning => "destination where it came from",
            Self::Unconnected => "nothing plugged in",
            Self::BufferFull => "buffer full",
            Self::TooManySwitches => "too many switches",
            Self::Blocked => "blocked too long",
        }
    }
}

/// Number of lost units for each reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCounts([u64; LossReason::ALL.len()]);

value_struct!(LossCounts { 0: counts });

impl LossCounts {
    /// Number of units lost for this reason.
    #[must_use]
    pub const fn of(&self, reason: LossReason) -> u64 {
        self.0[reason as usize]
    }

    /// Number of lost units.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Counts a lost unit.
    pub const fn count(&mut self, reason: LossReason) {
        self.0[reason as usize] += 1;
    }
}
