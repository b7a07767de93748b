//! Reasons for which an experiment fails.

use emulator::profile::ProfileError;
use lanigon_worlds::builder::WorldError;
use lanigon_worlds::calibrate::CalibrationError;
use lanigon_worlds::end::RunError;
use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::scenario::ScenarioError;

use crate::published::TableError;

/// An experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The world cannot be built.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A world of GM cannot be built.
    #[error(transparent)]
    Gm(#[from] GmWorldError),
    /// The image.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// A profile cannot be read.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A measurement that is a scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The calibration of a profile's stages.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// A table of published numbers.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There is no result to compute with.
    #[error("no round was complete")]
    NoRound,
    /// The request, or a file that it names.
    #[error("{0}")]
    Request(String),
}

impl Error {
    /// Whether the user interrupted.
    #[must_use]
    pub const fn is_interrupt(&self) -> bool {
        matches!(self, Self::Run(RunError::Interrupted))
    }
}

/// A profile by name or file.
///
/// # Errors
/// There is none, or it is invalid.
pub fn profile(name_or_file: &str) -> Result<emulator::profile::Profile, Error> {
    let loaded = lanigon_worlds::profile::load(name_or_file);
    loaded.map_err(|error| Error::Request(format!("{error:#}")))
}
