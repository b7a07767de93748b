//! Kinds of faults.

use emulator_state::value_enum;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The unit does not leave.
    Lost,
    /// The unit leaves more than once.
    Duplicated,
    /// The unit leaves later, and others may overtake it.
    Delayed,
    /// The unit leaves with wrong bytes.
    Corrupted,
}

value_enum!(FaultKind {
    Lost {},
    Duplicated {},
    Delayed {},
    Corrupted {}
});

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Lost, Self::Duplicated, Self::Delayed, Self::Corrupted];

    /// The name in traces and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Duplicated => "duplicated",
            Self::Delayed => "delayed",
            Self::Corrupted => "corrupted",
        }
    }
}
