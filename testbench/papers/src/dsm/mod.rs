//! Shared memory in pages: the measurements of the paper on DSM over InfiniBand (sections 5.1 to 5.3), beside the published figures
//! (docs/dsm.md, section 6).

pub mod claims;
pub mod key;
pub mod plan;
pub mod plots;
pub mod primitives;
pub mod published;
pub mod report;
pub mod rows;

use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::outcome::RunError;

use crate::gm::GmError;

/// The profile of the publication's nodes.
pub const PROFILE: &str = "hca-4x";
/// Boards of another kind, beside them.
pub const OTHER: &str = "lanai9.2-200";

/// A measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum DsmError {
    /// The world cannot be built.
    #[error(transparent)]
    World(#[from] GmWorldError),
    /// The image.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// A measurement of messages.
    #[error(transparent)]
    Messages(#[from] GmError),
    /// The profile.
    #[error("{0}")]
    Profile(String),
    /// The run did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A measurement that is a scenario.
    #[error(transparent)]
    Scenario(#[from] lanigon_worlds::scenario::ScenarioError),
    /// There is no result to compute with.
    #[error("a program has no result")]
    NoResult,
}
