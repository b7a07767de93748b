//! Experiments by the thesis's methods (docs/emp.md, "Benchmarks").

pub mod calibrate;
pub mod goodput;
pub mod latency;
pub mod ledger;
pub mod one_way;
pub mod rounds;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, WorldError};
use emulator::tigon2::timing::{Profile, ProfileError};
use emulator::wire::fault::FaultError;

use crate::cluster::FirmwareError;

/// Why an experiment gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The firmware image.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The timing profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Faults that cannot be.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// A host program reported an error.
    #[error("{program}: {message}")]
    Program {
        /// The program.
        program: &'static str,
        /// What it said.
        message: String,
    },
    /// Programs wait and nothing can happen.
    #[error("every program waits and nothing can happen any more:\n  {}", .0.join("\n  "))]
    Deadlock(Vec<String>),
    /// The time limit was reached.
    #[error("the limit of simulated time was reached:\n  {}", .0.join("\n  "))]
    TimeLimit(Vec<String>),
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The image lacks a stage's probes, or the stage took no time.
    #[error("the image marks no stage \"{0}\", which the profile stretches")]
    NoStage(String),
}

/// What all experiments have in common.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The firmware.
    pub image: Arc<Image>,
    /// The timing profile.
    pub profile: Arc<Profile>,
    /// The stages' factors under that profile.
    pub factors: Arc<Vec<(String, f64)>>,
    /// When to stop counting rounds.
    pub rounds: rounds::Rounds,
    /// Bound of simulated time.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

impl Setup {
    fn limits(&self) -> RunLimits {
        RunLimits {
            max_time: self.max_time,
            interrupt: Some(Arc::clone(&self.interrupt)),
            ..RunLimits::default()
        }
    }
}

/// Turns the end of a run that should have completed into a result.
fn completed(end: RunEnd) -> Result<(), ExperimentError> {
    match end {
        RunEnd::Completed => Ok(()),
        RunEnd::Deadlock(lines) => Err(ExperimentError::Deadlock(lines)),
        RunEnd::TimeLimit(lines) => Err(ExperimentError::TimeLimit(lines)),
        RunEnd::Interrupted => Err(ExperimentError::Interrupted),
    }
}
