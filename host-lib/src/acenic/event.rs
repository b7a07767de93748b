//! Events that the firmware reports through its event ring.

use std::fmt;

use defs::acenic::message as m;

/// A change of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkChange {
    /// The gigabit link is up.
    Up,
    /// There is no link.
    Down,
    /// The 10 or 100 Mb/s link is up.
    FastUp,
}

/// An event that the firmware reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The firmware runs.
    FirmwareRunning,
    /// Statistics are in host memory.
    StatisticsUpdated,
    /// The link changed.
    Link(LinkChange),
    /// There is no such command.
    InvalidCommand {
        /// Number of the command.
        command: u32,
    },
    /// The firmware does not carry out this command.
    UnimplementedCommand {
        /// Number of the command.
        command: u32,
    },
    /// The driver's settings make no sense to the firmware.
    BadConfiguration,
    /// An address was added to the multicast list.
    MulticastAdded,
    /// An address was removed from the multicast list.
    MulticastRemoved,
    /// The jumbo ring's buffers were forgotten.
    JumboReset,
    /// Something else.
    Unknown {
        /// The event's word, undecoded.
        word: u32,
    },
}

impl Event {
    /// Decodes the word in the event ring.
    #[must_use]
    pub const fn decode(word: u32) -> Self {
        match (m::what(word), m::code(word)) {
            (m::FIRMWARE_RUNNING, _) => Self::FirmwareRunning,
            (m::STATISTICS_UPDATED, _) => Self::StatisticsUpdated,
            (m::LINK_STATE, m::LINK_UP) => Self::Link(LinkChange::Up),
            (m::LINK_STATE, m::LINK_DOWN) => Self::Link(LinkChange::Down),
            (m::LINK_STATE, m::FAST_LINK_UP) => Self::Link(LinkChange::FastUp),
            (m::ERROR, m::INVALID_COMMAND) => Self::InvalidCommand {
                command: m::index(word),
            },
            (m::ERROR, m::UNIMPLEMENTED_COMMAND) => Self::UnimplementedCommand {
                command: m::index(word),
            },
            (m::ERROR, m::BAD_CONFIGURATION) => Self::BadConfiguration,
            (m::MULTICAST_CHANGED, 1) => Self::MulticastAdded,
            (m::MULTICAST_CHANGED, 2) => Self::MulticastRemoved,
            (m::JUMBO_RESET, _) => Self::JumboReset,
            _ => Self::Unknown { word },
        }
    }

    /// Whether the firmware complains.
    #[must_use]
    pub const fn is_error(self) -> bool {
        match self {
            Self::InvalidCommand { .. }
            | Self::UnimplementedCommand { .. }
            | Self::BadConfiguration => true,
            Self::Unknown { word } => m::what(word) == m::ERROR,
            _ => false,
        }
    }

    /// Name of the event for programs that read output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirmwareRunning => "firmware_running",
            Self::StatisticsUpdated => "statistics_updated",
            Self::Link(LinkChange::Up) => "link_up",
            Self::Link(LinkChange::Down) => "link_down",
            Self::Link(LinkChange::FastUp) => "fast_link_up",
            Self::InvalidCommand { .. } => "error_invalid_command",
            Self::UnimplementedCommand { .. } => "error_unimplemented_command",
            Self::BadConfiguration => "error_bad_configuration",
            Self::MulticastAdded => "multicast_added",
            Self::MulticastRemoved => "multicast_removed",
            Self::JumboReset => "jumbo_ring_reset",
            Self::Unknown { word } if m::what(word) == m::ERROR => "error_unknown",
            Self::Unknown { .. } => "unknown",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirmwareRunning => f.write_str("the firmware runs"),
            Self::StatisticsUpdated => f.write_str("statistics updated"),
            Self::Link(LinkChange::Up) => f.write_str("link up"),
            Self::Link(LinkChange::Down) => f.write_str("link down"),
            Self::Link(LinkChange::FastUp) => f.write_str("10/100 link up"),
            Self::InvalidCommand { command } => write!(f, "error: no command {command:#04x}"),
            Self::UnimplementedCommand { command } => {
                write!(f, "error: command {command:#04x} is not implemented")
            }
            Self::BadConfiguration => f.write_str(
                "error: bad configuration (wrong chip revision, or settings that do not go together)",
            ),
            Self::MulticastAdded => f.write_str("multicast address added"),
            Self::MulticastRemoved => f.write_str("multicast address removed"),
            Self::JumboReset => f.write_str("jumbo ring reset"),
            Self::Unknown { word } => write!(
                f,
                "unknown event {:#04x}, code {:#x}, index {:#x}",
                m::what(*word),
                m::code(*word),
                m::index(*word)
            ),
        }
    }
}

/// An event, as the driver got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// The event, decoded.
    pub event: Event,
    /// The word in the ring.
    pub word: u32,
    /// When the driver took it from the ring, in picoseconds since the start.
    pub time_ps: u64,
}

impl Reported {
    /// The word's code.
    #[must_use]
    pub const fn code(&self) -> u32 {
        m::code(self.word)
    }

    /// The word's index.
    #[must_use]
    pub const fn index(&self) -> u32 {
        m::index(self.word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_meaning() {
        let check = |word, expected: Event, name: &str, error: bool| {
            let event = Event::decode(word);
            assert_eq!(event, expected);
            assert_eq!((event.name(), event.is_error()), (name, error), "{word:#x}");
        };
        check(
            0x0100_0000,
            Event::FirmwareRunning,
            "firmware_running",
            false,
        );
        check(
            0x0400_0000,
            Event::StatisticsUpdated,
            "statistics_updated",
            false,
        );
        check(0x0600_1000, Event::Link(LinkChange::Up), "link_up", false);
        check(
            0x0600_2000,
            Event::Link(LinkChange::Down),
            "link_down",
            false,
        );
        check(
            0x0600_3000,
            Event::Link(LinkChange::FastUp),
            "fast_link_up",
            false,
        );
        check(
            0x0700_1002,
            Event::InvalidCommand { command: 2 },
            "error_invalid_command",
            true,
        );
        check(
            0x0700_2007,
            Event::UnimplementedCommand { command: 7 },
            "error_unimplemented_command",
            true,
        );
        check(
            0x0700_3000,
            Event::BadConfiguration,
            "error_bad_configuration",
            true,
        );
        check(0x0800_1000, Event::MulticastAdded, "multicast_added", false);
        check(
            0x0800_2000,
            Event::MulticastRemoved,
            "multicast_removed",
            false,
        );
        check(0x0900_0000, Event::JumboReset, "jumbo_ring_reset", false);
        for (word, name, error) in [
            (0, "unknown", false),
            (0x0600_0000, "unknown", false),
            (0x07FF_F000, "error_unknown", true),
            (0xFFFF_FFFF, "unknown", false),
        ] {
            check(word, Event::Unknown { word }, name, error);
        }
    }
}
