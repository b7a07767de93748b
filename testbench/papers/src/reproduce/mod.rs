//! `lanigon reproduce emp`: runs the thesis's benchmarks and compares the results with its numbers.
//!
//! A [`Plan`] lists the tasks. They are independent worlds and run in parallel on all threads; results do
//! not depend on the order of their completion.

pub mod absent;
pub mod answers;
pub mod claims;
pub mod explain;
pub mod figures;
pub mod key;
pub mod page;
pub mod plot;
pub mod results;
pub mod rows;
mod selection;
pub mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use defs::emp::control::DEFAULT_FRAME_BYTES;
use defs::emp::frame::header_frame_capacity;
use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;

use crate::experiments::passing::{self, System};
use crate::experiments::quiet::{self, Quiet};
use crate::experiments::rounds::Rounds;
use crate::experiments::scheme::Scheme;
use crate::experiments::testbed::Testbed;
use crate::experiments::usage::{self, Flow, Usage};
use crate::experiments::{ExperimentError, Setup, latency, one_way, two_way};
use crate::gm::GmError;
use crate::interval::Estimate;
use crate::verdict::Limits;
use key::{Experiment, Key};
use lanigon_worlds::boards;
use lanigon_worlds::calibrate;
use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::outcome::RunError;
use lanigon_worlds::profile::built_in;
use results::{ProfileResults, Results, SchemeResults};
pub use selection::Selection;

/// Message sizes of the default run, including both sides of frame and page boundaries.
pub const SIZES: &[u32] = &[
    4, 10, 64, 256, 512, 1024, 1478, 1479, 2048, 2964, 2965, 4096, 4097, 6144, 8192, 8193, 10_240,
    12_288, 14_336, 16_384, 20_480, 24_576, 28_672, 32_768, 40_960, 49_152, 65_536,
];
/// Message sizes of `--quick`.
pub const QUICK_SIZES: &[u32] = &[4, 10, 256, 1478, 1479, 4096, 4097, 8192, 14_336, 65_536];

/// Size used for "small" messages of the thesis.
pub const SMALL: u32 = 10;
/// Size used for "medium" messages of the thesis.
pub const MEDIUM: u32 = 8192;
/// Size used for "large" messages of the thesis.
pub const LARGE: u32 = 65_536;

/// Length of a message that fills one frame.
pub const FRAME: u32 = header_frame_capacity(DEFAULT_FRAME_BYTES);
/// Message lengths with which other systems are compared, in bytes: none is below that of the shortest message of the thesis.
pub const OTHER_SIZES: [u32; 6] = [4, SMALL, 256, FRAME, 4096, LARGE_LATENCY];
/// The long message of the thesis's latencies (emp-011), in bytes.
pub const LARGE_LATENCY: u32 = 14_336;
/// Message lengths with a ledger: emp-004, and a full frame.
pub const LEDGERS: [u32; 2] = [SMALL, FRAME];

/// A task of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A point.
    Point(Key),
    /// The ledger of one message of this length.
    Ledger(Scheme, u32),
    /// Utilisation of resources.
    Usage(Scheme, Flow),
    /// The latency of another system with messages of this length.
    Other(System, u32),
}

impl Task {
    /// The scheme whose firmware it needs. Experiments with GM need no scheme, but its image.
    const fn scheme(self) -> Scheme {
        match self {
            Self::Point(key) => key.scheme,
            Self::Ledger(scheme, _) | Self::Usage(scheme, _) => scheme,
            Self::Other(..) => Scheme::Base,
        }
    }

    /// The latencies of other systems.
    pub fn others() -> impl Iterator<Item = Self> {
        let all = System::ALL.into_iter();
        all.flat_map(|system| OTHER_SIZES.map(|size| Self::Other(system, size)))
    }

    /// Testbed and flow control of the task.
    const fn conditions(self) -> (Testbed, bool) {
        match self {
            Self::Point(key) => (key.testbed, key.flow_control),
            Self::Ledger(..) | Self::Usage(..) | Self::Other(..) => (Testbed::Direct933, false),
        }
    }

    /// Tasks that explain a scheme: ledgers and utilisation.
    pub fn explanation(scheme: Scheme) -> impl Iterator<Item = Self> {
        let ledgers = LEDGERS.into_iter();
        let flows = [Flow::OneWay, Flow::TwoWay].into_iter();
        ledgers
            .map(move |size| Self::Ledger(scheme, size))
            .chain(flows.map(move |flow| Self::Usage(scheme, flow)))
    }

    /// Rough amount of work: the largest tasks start first.
    const fn work(self) -> u32 {
        match self {
            Self::Point(key) => key.size,
            Self::Ledger(..) => 0,
            Self::Usage(..) => LARGE,
            Self::Other(_, size) => size,
        }
    }
}

/// Result of a task.
enum TaskResult {
    Point(Estimate),
    Ledger(Option<Quiet>),
    Usage(Usage),
    Other(Estimate),
}

/// Plan of measurements.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The firmware of each scheme that has one.
    pub images: BTreeMap<Scheme, Arc<Image>>,
    /// Profiles.
    pub profiles: Vec<Profile>,
    /// Tasks; those of schemes without an image are skipped.
    pub tasks: BTreeSet<Task>,
    /// GM's boards and image, if it is built.
    pub gm: Option<(Profile, Image)>,
    /// Number of rounds.
    pub rounds: Rounds,
    /// Limit of simulated time per point.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

/// A profile with the stage durations of each scheme's firmware.
struct Calibrated {
    profile: Arc<Profile>,
    schemes: BTreeMap<Scheme, SchemeResults>,
}

impl Plan {
    /// The executable tasks, largest first.
    fn possible(&self) -> Vec<Task> {
        let has_image = |task: &Task| {
            let is_on_gm = matches!(task, Task::Other(system, _) if system.is_on_gm());
            self.images.contains_key(&task.scheme()) && (!is_on_gm || self.gm.is_some())
        };
        let mut tasks: Vec<_> = self.tasks.iter().copied().filter(has_image).collect();
        tasks.sort_by_key(|task| std::cmp::Reverse(task.work()));
        tasks
    }

    /// Number of steps, for the progress bar.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.profiles.len() * self.possible().len()
    }

    /// Runs all tasks; `progress` is called with the number of finished steps. After an interrupt, the
    /// partial results are returned, marked as such.
    ///
    /// # Errors
    /// The first error of any task.
    pub fn run(&self, progress: impl Fn(usize) + Sync) -> Result<Results, ExperimentError> {
        let profiles = self.profiles.iter().map(|profile| self.calibrate(profile));
        let mut profiles = profiles.collect::<Result<Vec<_>, _>>()?;
        let possible = self.possible();
        let tasks: Vec<_> = possible
            .iter()
            .flat_map(|&task| (0..profiles.len()).map(move |profile| (profile, task)))
            .collect();
        let outcomes = in_parallel(tasks.len(), &progress, |index| {
            let (profile, task) = tasks[index];
            self.carry_out(&profiles[profile], task)
        });
        let mut points = vec![BTreeMap::new(); profiles.len()];
        let mut others = points.iter().map(|_| BTreeMap::new()).collect::<Vec<_>>();
        let mut partial = false;
        for (&(profile, task), outcome) in tasks.iter().zip(outcomes) {
            let schemes = &mut profiles[profile].schemes;
            let scheme = schemes.entry(task.scheme()).or_default();
            match (task, outcome) {
                (Task::Point(key), Ok(TaskResult::Point(value))) => {
                    points[profile].insert(key, value);
                }
                (_, Ok(TaskResult::Ledger(Some(quiet)))) => {
                    scheme.ledgers.insert(quiet.ledger.length, quiet);
                }
                (_, Ok(TaskResult::Usage(usage))) => scheme.usages.push(usage),
                (Task::Other(system, size), Ok(TaskResult::Other(value))) => {
                    others[profile].insert((system, size), value);
                }
                (_, Ok(TaskResult::Ledger(None) | TaskResult::Point(_) | TaskResult::Other(_))) => {
                }
                (_, Err(ExperimentError::Run(RunError::Interrupted))) => partial = true,
                (_, Err(error)) => return Err(error),
            }
        }
        let profiles = profiles.into_iter().zip(points).zip(others);
        Ok(Results {
            profiles: profiles
                .map(|((calibrated, points), others)| ProfileResults {
                    profile: calibrated.profile,
                    schemes: Arc::new(calibrated.schemes),
                    points,
                    others,
                })
                .collect(),
            limits: Limits {
                run: self.rounds.most,
                full: Rounds::FULL.most,
            },
            missing: self.missing(),
            partial,
        })
    }

    /// GM's boards in the thesis's comparison, and its image; `None`: that is not built.
    ///
    /// # Errors
    /// The profile or the image is not usable.
    pub fn gm_boards() -> Result<Option<(Profile, Image)>, GmError> {
        let profile = built_in(passing::GM_PROFILE)?;
        let board = boards::of(&profile);
        let gm = board.gm.ok_or(GmWorldError::Board(board.name))?;
        match board.own_image(gm.image, gm.sram_bytes) {
            Ok(image) => Ok(Some((profile, image))),
            Err(FirmwareError::File { error, .. }) if error.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Requested schemes without an image.
    fn missing(&self) -> Vec<Scheme> {
        let wanted: BTreeSet<_> = self.tasks.iter().map(|task| task.scheme()).collect();
        let missing = wanted.into_iter();
        missing
            .filter(|scheme| !self.images.contains_key(scheme))
            .collect()
    }

    fn calibrate(&self, profile: &Profile) -> Result<Calibrated, ExperimentError> {
        let schemes: BTreeSet<_> = self.possible().into_iter().map(Task::scheme).collect();
        let images = self
            .images
            .iter()
            .filter(|(scheme, _)| schemes.contains(scheme));
        let schemes = images.map(|(&scheme, image)| {
            let stages = calibrate::stage_times(image, profile)?;
            let factors = calibrate::factors_of(&stages, profile)?;
            let results = SchemeResults {
                stages,
                factors,
                ..SchemeResults::default()
            };
            Ok((scheme, results))
        });
        Ok(Calibrated {
            schemes: schemes.collect::<Result<_, ExperimentError>>()?,
            profile: Arc::new(profile.clone()),
        })
    }

    /// Setup of a scheme's worlds on a testbed. It is independent of the experiment: all experiments use
    /// one set of parameters.
    fn setup(
        &self,
        calibrated: &Calibrated,
        scheme: Scheme,
        testbed: Testbed,
        flow_control: bool,
    ) -> Result<Option<Setup>, ExperimentError> {
        let Some((image, results)) = self
            .images
            .get(&scheme)
            .zip(calibrated.schemes.get(&scheme))
        else {
            return Ok(None);
        };
        Ok(Some(Setup {
            image: Arc::clone(image),
            profile: Arc::new(testbed.profile(&calibrated.profile)?),
            factors: Arc::new(results.factors.clone()),
            switch: testbed.switch()?.map(Arc::new),
            flow_control,
            rounds: self.rounds,
            max_time: self.max_time,
            interrupt: Arc::clone(&self.interrupt),
        }))
    }

    fn carry_out(
        &self,
        calibrated: &Calibrated,
        task: Task,
    ) -> Result<TaskResult, ExperimentError> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted.into());
        }
        let (testbed, flow_control) = task.conditions();
        let setup = self.setup(calibrated, task.scheme(), testbed, flow_control)?;
        let Some(setup) = setup else {
            return Ok(TaskResult::Ledger(None));
        };
        Ok(match task {
            Task::Point(key) => TaskResult::Point(measure(&setup, key)?),
            Task::Ledger(_, size) => TaskResult::Ledger(quiet::follow(&setup, size)?),
            Task::Usage(_, flow) => TaskResult::Usage(usage::measure(&setup, flow, LARGE)?),
            Task::Other(system, size) => match (system, &self.gm) {
                (System::MpiOverEmp, _) => TaskResult::Other(passing::mpi_over_emp(&setup, size)?),
                (System::MpiOverGm, Some((profile, image))) => {
                    TaskResult::Other(passing::mpi_over_gm(&setup, image, profile, size)?)
                }
                (System::Gm, Some((profile, image))) => {
                    TaskResult::Other(passing::gm_alone(&setup, image, profile, size)?)
                }
                (_, None) => TaskResult::Ledger(None),
            },
        })
    }
}

fn measure(setup: &Setup, key: Key) -> Result<Estimate, ExperimentError> {
    let bandwidth = |bandwidth: one_way::Bandwidth| Estimate {
        value: bandwidth.megabits_per_s,
        rounds: bandwidth.rounds,
        interval: bandwidth.interval,
    };
    Ok(match key.experiment {
        Experiment::Latency => {
            let latency = latency::measure(setup, key.size)?;
            Estimate {
                value: latency.us,
                rounds: latency.rounds,
                interval: latency.interval,
            }
        }
        Experiment::OneWay => bandwidth(one_way::measure(setup, key.size)?),
        Experiment::TwoWay => bandwidth(two_way::measure(setup, key.size)?),
    })
}

/// Runs `work` for every index below `count` on all threads; returns results in order.
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

#[cfg(test)]
mod tests;
