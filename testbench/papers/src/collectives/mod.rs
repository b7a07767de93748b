//! Collective operations over GM, on hosts and on NICs: the measurements of Buntinas 2003 (sections 3.5.1, 3.5.4 to 3.5.6,
//! and 4.3) and of the paper on NIC-based all-to-all broadcast (section 6), beside the published figures
//! (docs/collectives.md); of atomic operations and locks (chapter 5; docs/gm-atomics.md); and of operations that bypass the application
//! (chapter 6, and the paper on reductions; docs/mpi.md).
//!
//! A measurement is a function of a [`Setup`]: profile, image, and the place where the operation is executed.

pub mod atomics;
pub mod beyond;
pub mod bypass;
pub mod claims;
pub mod explain;
pub mod key;
pub mod measure;
pub mod plan;
pub mod plots;
pub mod published;
pub mod report;
pub mod rows;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::profile::Profile;
use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::outcome::RunError;

use crate::gm::GmError;

pub use lanigon_worlds::programs::collective::On;

/// A measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum CollectiveError {
    /// The world cannot be built.
    #[error(transparent)]
    World(#[from] GmWorldError),
    /// The run did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The image.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The profile.
    #[error("{0}")]
    Profile(String),
    /// A measurement of messages.
    #[error(transparent)]
    Messages(#[from] GmError),
    /// A measurement that is a scenario.
    #[error(transparent)]
    Scenario(#[from] lanigon_worlds::scenario::ScenarioError),
    /// There is no result to compute with.
    #[error("no round was complete")]
    NoRound,
}

/// What is measured on.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The firmware.
    pub image: &'a Image,
    /// The costs.
    pub profile: &'a Profile,
    /// Where the operation is executed.
    pub on: On,
    /// Set when the user interrupts.
    pub interrupt: &'a Arc<AtomicBool>,
}
