//! Errors in profiles.

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
    /// A profile without a base that names no board.
    #[error("profile \"{profile}\": the entry \"board\" is missing (there are: {known})")]
    NoBoard {
        /// The profile.
        profile: String,
        /// Existing types of boards.
        known: String,
    },
    /// The profile names a type of board that does not exist.
    #[error("profile \"{profile}\": there is no board \"{board}\" (there are: {known})")]
    UnknownBoard {
        /// The profile.
        profile: String,
        /// The board that it names.
        board: String,
        /// Existing types of boards.
        known: String,
    },
    /// The profile is for another type of board.
    #[error("profile \"{profile}\" is for the board \"{board}\", not for \"{wanted}\"")]
    OtherBoard {
        /// The profile.
        profile: String,
        /// The type of board of the profile.
        board: &'static str,
        /// The board for which it is used.
        wanted: String,
    },
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
        /// Value of the entry.
        value: f64,
        /// Unit of the entry.
        unit: String,
        /// The reason.
        reason: String,
    },
    /// Profiles that name each other as base.
    #[error("profile \"{0}\": its base leads back to itself")]
    Cycle(String),
    /// An overlay that is a profile of its own.
    #[error("overlay \"{0}\": it has a base, a board or stages, which only profiles have")]
    NoOverlay(String),
}
