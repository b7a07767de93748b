//! `lanigon reproduce emp`: runs the thesis's benchmarks and sets the results beside its numbers.
//!
//! A [`Plan`] says what to measure. Its points are independent worlds, so they run on as many threads
//! as the machine has; the results stand in the plan's order, whoever finished first.

pub mod results;
pub mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use emulator::image::Image;
use emulator::sim::time::SimTime;
use emulator::tigon2::timing::Profile;

use crate::experiments::rounds::Rounds;
use crate::experiments::{ExperimentError, Setup, calibrate, latency, ledger, one_way};
use results::{Experiment, Point, ProfileResults, Results};

/// The sizes of the usual run.
pub const SIZES: &[u32] = &[
    4, 10, 64, 256, 1024, 1478, 2048, 4096, 8192, 14_336, 16_384, 32_768, 65_536,
];
/// The sizes of a first look.
pub const QUICK_SIZES: &[u32] = &[4, 10, 256, 1478, 4096, 16_384, 65_536];
/// The message whose time is accounted for (emp-004).
const LEDGER_BYTES: u32 = 10;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The firmware.
    pub image: Arc<Image>,
    /// Under which profiles.
    pub profiles: Vec<Profile>,
    /// Which message sizes.
    pub sizes: Vec<u32>,
    /// Which experiments.
    pub experiments: Vec<Experiment>,
    /// How many rounds.
    pub rounds: Rounds,
    /// Bound of simulated time of each point.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

impl Plan {
    /// The number of points to measure.
    #[must_use]
    pub fn points(&self) -> usize {
        self.profiles.len() * self.sizes.len() * self.experiments.len()
    }

    /// Measures everything; `progress` is told how many points are done. When the user interrupts,
    /// the results so far come back, marked as partial.
    ///
    /// # Errors
    /// The first error of any point.
    pub fn run(&self, progress: impl Fn(usize) + Sync) -> Result<Results, ExperimentError> {
        let setups = self
            .profiles
            .iter()
            .map(|profile| self.setup(profile))
            .collect::<Result<Vec<_>, _>>()?;
        let tasks: Vec<_> = (0..setups.len())
            .flat_map(|profile| {
                self.sizes.iter().rev().flat_map(move |&size| {
                    let experiments = self.experiments.iter();
                    experiments.map(move |&experiment| (profile, experiment, size))
                })
            })
            .collect();
        let outcomes = in_parallel(tasks.len(), &progress, |index| {
            let (profile, experiment, size) = tasks[index];
            measure(&setups[profile], experiment, size)
        });
        let mut points: Vec<Vec<Point>> = vec![Vec::new(); setups.len()];
        let mut partial = false;
        for ((profile, ..), outcome) in tasks.iter().zip(outcomes) {
            match outcome {
                Ok(point) => points[*profile].push(point),
                Err(ExperimentError::Interrupted) => partial = true,
                Err(error) => return Err(error),
            }
        }
        let mut profiles = Vec::new();
        for (setup, mut points) in setups.iter().zip(points) {
            points.sort_by_key(|point| (point.size, point.experiment));
            profiles.push(self.profile_results(setup, points, &mut partial)?);
        }
        Ok(Results { profiles, partial })
    }

    fn setup(&self, profile: &Profile) -> Result<Setup, ExperimentError> {
        Ok(Setup {
            image: Arc::clone(&self.image),
            factors: Arc::new(calibrate::factors(&self.image, profile)?),
            profile: Arc::new(profile.clone()),
            rounds: self.rounds,
            max_time: self.max_time,
            interrupt: Arc::clone(&self.interrupt),
        })
    }

    fn profile_results(
        &self,
        setup: &Setup,
        points: Vec<Point>,
        partial: &mut bool,
    ) -> Result<ProfileResults, ExperimentError> {
        let ledger = match ledger::follow(setup, LEDGER_BYTES) {
            Ok(ledger) => ledger,
            Err(ExperimentError::Interrupted) => {
                *partial = true;
                None
            }
            Err(error) => return Err(error),
        };
        Ok(ProfileResults {
            profile: Arc::clone(&setup.profile),
            stages: calibrate::stage_times(&setup.image, &setup.profile)?,
            factors: setup.factors.to_vec(),
            points,
            ledger,
        })
    }
}

fn measure(setup: &Setup, experiment: Experiment, size: u32) -> Result<Point, ExperimentError> {
    if setup.interrupt.load(Ordering::Relaxed) {
        return Err(ExperimentError::Interrupted);
    }
    let (value, rounds) = match experiment {
        Experiment::Latency => {
            let latency = latency::measure(setup, size)?;
            (latency.us, latency.rounds)
        }
        Experiment::OneWay => {
            let bandwidth = one_way::measure(setup, size)?;
            (bandwidth.megabits_per_s, bandwidth.rounds)
        }
    };
    Ok(Point {
        experiment,
        size,
        value,
        rounds,
    })
}

/// Runs `work` for every index below `count` on the machine's threads; the results in order.
fn in_parallel<T: Send>(
    count: usize,
    progress: &(impl Fn(usize) + Sync),
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = slots.get(index) else {
                        return;
                    };
                    let result = work(index);
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    slots
        .into_iter()
        .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}
