//! Multicasts over FM's multi-send: the measurements of Buntinas 2003, chapter 2, beside the published figures (docs/fm.md).
//!
//! Each measurement is a scenario of its own: nodes around one crossbar whose hosts run the benchmark of section 2.5.

pub mod claims;
pub mod key;
pub mod model;
pub mod plan;
pub mod plots;
pub mod published;
pub mod report;
pub mod rows;

use lanigon_worlds::outcome::RunError;

/// The profile of the publication's nodes.
pub const PROFILE: &str = "fm-paper-lanai4.3-33";

/// A measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum MulticastError {
    /// The scenario cannot be built.
    #[error("{0}")]
    Scenario(String),
    /// The run did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no result to compute with.
    #[error("no round was complete")]
    NoRound,
}
