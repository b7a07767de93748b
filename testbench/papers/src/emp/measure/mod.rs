//! Experiments with the thesis's methods (docs/emp-stages.md, "Benchmarks").

pub mod activity;
pub mod latency;
pub mod netpipe;
pub mod one_way;
pub mod passing;
pub mod quiet;
pub mod rounds;
pub mod scheme;
pub mod testbed;
pub mod two_way;
pub mod usage;
pub mod wire;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::wire::ethernet::switch::SwitchConfig;

use lanigon_experiments::Error;
use lanigon_experiments::interval::Estimate;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::{ResultSlot, RunError, completed};
use one_way::MORE;
use rounds::{Mean, Rounds};
use wire::Starts;

/// Setup of an experiment's world, without its programs: equal for all experiments.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The firmware.
    pub image: Arc<Image>,
    /// The timing profile, with the hosts of the testbed.
    pub profile: Arc<Profile>,
    /// The stages' factors under that profile.
    pub factors: Arc<Vec<(String, f64)>>,
    /// The switch between the nodes; `None`: a direct cable.
    pub switch: Option<Arc<SwitchConfig>>,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// Number of rounds.
    pub rounds: Rounds,
    /// Limit of simulated time.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

impl Setup {
    /// Creates two nodes, ready for programs.
    fn pair(&self) -> Result<EmpPairs, Error> {
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
pub struct BenchmarkRun {
    /// Start time, and end of each round, stored by the timed program.
    stamps: ResultSlot<Vec<SimTime>>,
    programs: [(&'static str, ResultSlot<Result<(), String>>); 2],
}

impl BenchmarkRun {
    /// Runs the pair until `done` accepts the stamps.
    fn until(
        &self,
        setup: &Setup,
        world: &mut World,
        done: impl Fn(&[SimTime]) -> bool + Send + Sync,
    ) -> Result<(), Error> {
        let mut enough = || {
            self.stamps
                .with(|stamps| done(stamps.as_deref().unwrap_or_default()))
        };
        let end = world.run_until(&setup.limits(), &mut enough);
        for (program, outcome) in &self.programs {
            if let Some(Err(message)) = outcome.take() {
                return Err(RunError::Program { program, message }.into());
            }
        }
        Ok(completed(end)?)
    }

    /// Mean duration of a round, once there are enough.
    fn mean(&self, setup: &Setup, world: &mut World) -> Result<Mean, Error> {
        self.until(setup, world, |stamps| setup.rounds.mean(stamps).is_some())?;
        self.mean_so_far(setup)
    }

    /// Mean duration of the rounds so far.
    fn mean_so_far(&self, setup: &Setup) -> Result<Mean, Error> {
        let mean =
            |stamps: &mut Option<Vec<_>>| setup.rounds.mean(stamps.as_deref().unwrap_or_default());
        self.stamps.with(mean).ok_or(RunError::Interrupted.into())
    }

    /// Payload bandwidth of messages of `size` bytes from these nodes together, on the wire, once the timed program's rounds
    /// suffice.
    fn bandwidth(
        &self,
        setup: &Setup,
        pair: &mut EmpPairs,
        size: u32,
        nodes: &[u16],
    ) -> Result<Estimate, Error> {
        let starts = Starts::default();
        pair.world.observe(starts.observer());
        // The first message after the ignored rounds begins when those that were posted with them have gone.
        let first = setup.rounds.skipped + MORE;
        let enough = |stamps: &[SimTime]| {
            let mean = setup.rounds.mean(stamps);
            mean.is_some_and(|mean| stamps.len() > first + mean.rounds + MORE)
        };
        self.until(setup, &mut pair.world, enough)?;
        let rounds = self.mean_so_far(setup)?.rounds;
        pair.world.finish_observing();
        let begin = self.stamps.with(|stamps| stamps.as_ref()?.first().copied());
        let begin = begin.unwrap_or(SimTime::ZERO);
        let of_node = |&node| {
            let starts = starts.times_of(node, begin);
            let window = starts.get(first..).unwrap_or_default();
            let mean = Mean::from_stamps(window, rounds).ok_or(RunError::Interrupted)?;
            Ok(mean.estimate(f64::from(size) * 8.0 / (mean.ps / 1e6)))
        };
        let all: Vec<_> = nodes.iter().map(of_node).collect::<Result<_, RunError>>()?;
        Ok(Estimate::sum(&all))
    }
}
