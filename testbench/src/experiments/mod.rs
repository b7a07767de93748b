//! Experiments by the thesis's methods (docs/emp.md, "Benchmarks").

pub mod activity;
pub mod calibrate;
pub mod goodput;
pub mod latency;
pub mod ledger;
pub mod one_way;
pub mod rounds;
pub mod scheme;
pub mod testbed;
pub mod two_way;
pub mod usage;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, WorldError};
use emulator::tigon2::timing::{Profile, ProfileError};
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::fault::FaultError;

use crate::cluster::{EmpPairs, FirmwareError, Outcome};
use rounds::Rounds;

/// Why an experiment gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The firmware image.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The timing profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The switch.
    #[error(transparent)]
    Switch(#[from] testbed::SwitchError),
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

/// All that an experiment's world depends on beside its programs: the same for every experiment.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The firmware.
    pub image: Arc<Image>,
    /// The timing profile, with the hosts of the testbed.
    pub profile: Arc<Profile>,
    /// The stages' factors under that profile.
    pub factors: Arc<Vec<(String, f64)>>,
    /// The switch between the nodes; without one they are connected directly.
    pub switch: Option<Arc<SwitchConfig>>,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// When to stop counting rounds.
    pub rounds: Rounds,
    /// Bound of simulated time.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

impl Setup {
    /// Two nodes, ready for programs.
    fn pair(&self) -> Result<EmpPairs, ExperimentError> {
        let mut pair = match &self.switch {
            None => EmpPairs::one(&self.image, &self.profile, &self.factors)?,
            Some(switch) => EmpPairs::switched(&self.image, &self.profile, &self.factors, switch)?,
        };
        for node in 0..pair.world.nodes.len() {
            pair.config_mut(node).flow_control = self.flow_control;
        }
        Ok(pair)
    }

    fn limits(&self) -> RunLimits {
        RunLimits {
            max_time: self.max_time,
            interrupt: Some(Arc::clone(&self.interrupt)),
            ..RunLimits::default()
        }
    }
}

/// The programs of a benchmark on a pair of nodes.
#[derive(Debug)]
pub struct Run {
    /// The time at the start, then at the end of each round, as the timed program leaves them.
    stamps: Outcome<Vec<SimTime>>,
    programs: [(&'static str, Outcome<Result<(), String>>); 2],
}

impl Run {
    /// Lets the pair run until `done` says of the stamps that they are enough.
    fn until(
        &self,
        setup: &Setup,
        pair: &mut EmpPairs,
        done: impl Fn(&[SimTime]) -> bool + Send + Sync,
    ) -> Result<(), ExperimentError> {
        let enough = || {
            self.stamps
                .with(|stamps| done(stamps.as_deref().unwrap_or_default()))
        };
        let end = pair.world.run_until(&setup.limits(), enough);
        for (program, outcome) in &self.programs {
            if let Some(Err(message)) = outcome.take() {
                return Err(ExperimentError::Program { program, message });
            }
        }
        completed(end)
    }

    /// The mean time of a round in picoseconds, and the rounds that it was taken over, once they are enough.
    fn mean(&self, setup: &Setup, pair: &mut EmpPairs) -> Result<(f64, usize), ExperimentError> {
        self.until(setup, pair, |stamps| setup.rounds.mean(stamps).is_some())?;
        let mean =
            |stamps: &mut Option<Vec<_>>| setup.rounds.mean(stamps.as_deref().unwrap_or_default());
        self.stamps.with(mean).ok_or(ExperimentError::Interrupted)
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
