//! Experiments by the thesis's methods (docs/emp.md, "Benchmarks").

pub mod activity;
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
use emulator::sim::world::RunLimits;
use emulator::tigon2::timing::{Profile, ProfileError};
use emulator::wire::ethernet::EthernetError;
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::fault::FaultError;

use lanigon_worlds::calibrate::CalibrationError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::outcome::{Outcome, RunError, completed};
use lanigon_worlds::pairs::EmpPairs;
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
    World(#[from] EthernetError),
    /// Faults that cannot be.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// The run did not complete.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The calibration of a profile's stages.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
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
                return Err(RunError::Program { program, message }.into());
            }
        }
        Ok(completed(end)?)
    }

    /// The mean time of a round in picoseconds, and the rounds that it was taken over, once they are enough.
    fn mean(&self, setup: &Setup, pair: &mut EmpPairs) -> Result<(f64, usize), ExperimentError> {
        self.until(setup, pair, |stamps| setup.rounds.mean(stamps).is_some())?;
        let mean =
            |stamps: &mut Option<Vec<_>>| setup.rounds.mean(stamps.as_deref().unwrap_or_default());
        self.stamps.with(mean).ok_or(RunError::Interrupted.into())
    }
}
