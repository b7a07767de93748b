//! The tasks of a run, and how each is carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emulator::image::Image;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use lanigon_experiments::Error;
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::verdict::Limits;
use lanigon_worlds::calibrate;
use lanigon_worlds::end::RunError;
use lanigon_worlds::images::{FirmwareError, own_image};
use lanigon_worlds::nodes::EMP_SRAM_BYTES;
use lanigon_worlds::profile::built_in;

use super::key::{Experiment, Key};
use super::measure::netpipe::{NetPipe, Stack};
use super::measure::passing;
use super::measure::quiet::{self, Quiet};
use super::measure::rounds::Rounds;
use super::measure::scheme::Scheme;
use super::measure::testbed::Testbed;
use super::measure::usage::{self, Directions, Usage};
use super::measure::{Setup, latency, one_way, two_way};
use super::results::{Lacks, ProfileResults, Results, SchemeResults};
use super::{LARGE, LEDGERS, OTHER_SIZES};
use crate::gm;

/// Rounds of a latency of another system: their rounds are cheap, and claims compare them closely (emp-187).
const OTHER_ROUNDS: usize = 300;
/// The firmware for Linux's driver.
const ACENIC: &str = "acenic";

/// A task of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Measurement of a point.
    Point(Key),
    /// The ledger of one message of this length.
    Ledger(Scheme, u32),
    /// Utilisation of resources.
    Usage(Scheme, Directions),
    /// NetPIPE between sockets.
    NetPipe(Stack),
}

impl Task {
    /// The scheme whose firmware it needs. Experiments with GM need no scheme, but its image.
    pub(super) const fn scheme(self) -> Scheme {
        match self {
            Self::Point(key) => key.scheme,
            Self::Ledger(scheme, _) | Self::Usage(scheme, _) => scheme,
            Self::NetPipe(_) => Scheme::Base,
        }
    }

    /// The latencies of other systems.
    pub fn others() -> impl Iterator<Item = Self> {
        let all = Experiment::OTHERS.into_iter();
        let key = |other, size| Self::Point(Key::new(other, Scheme::Base, size));
        all.flat_map(move |other| OTHER_SIZES.map(|size| key(other, size)))
    }

    /// Testbed and flow control of the task.
    pub(super) const fn conditions(self) -> (Testbed, bool) {
        match self {
            Self::Point(key) => (key.testbed, key.flow_control),
            Self::Ledger(..) | Self::Usage(..) | Self::NetPipe(_) => (Testbed::Direct933, false),
        }
    }

    /// Tasks that explain a scheme: ledgers and utilisation.
    pub fn explanation(scheme: Scheme) -> impl Iterator<Item = Self> {
        let ledgers = LEDGERS.into_iter();
        let flows = [Directions::OneWay, Directions::TwoWay].into_iter();
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
            Self::NetPipe(_) => u32::MAX,
        }
    }
}

/// Result of a task.
#[derive(Debug)]
pub enum TaskResult {
    /// Mean of a point.
    Mean(Estimate),
    /// Ledger of a quiet message.
    Ledger(Box<Quiet>),
    /// Utilisation.
    Usage(Usage),
    /// NetPIPE.
    NetPipe(NetPipe),
    /// No result: an image is missing, or the firmware does not tell it.
    Nothing,
}

/// Plan of measurements.
#[derive(Debug, Clone)]
pub struct EmpPlan {
    /// The firmware of each scheme that has one.
    pub images: BTreeMap<Scheme, Arc<Image>>,
    /// Profiles under which all tasks are carried out.
    pub profiles: Vec<Profile>,
    /// Tasks; those of schemes without an image are skipped.
    pub tasks: BTreeSet<Task>,
    /// GM's boards and image, if it is built.
    pub gm: Option<(Profile, Image)>,
    /// Why Linux cannot run on hosts, if it cannot.
    pub no_linux: Option<String>,
    /// Number of rounds.
    pub rounds: Rounds,
    /// Limit of simulated time per point.
    pub max_time: Option<SimTime>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

/// A profile with the stage durations of each scheme's firmware.
#[derive(Debug)]
pub(super) struct Calibrated {
    profile: Arc<Profile>,
    pub(super) schemes: BTreeMap<Scheme, SchemeResults>,
}

impl EmpPlan {
    /// The executable tasks, largest first.
    pub(super) fn possible(&self) -> Vec<Task> {
        let has_image = |task: &Task| {
            let is_on_gm = matches!(task, Task::Point(key) if key.experiment.is_on_gm());
            let is_netpipe = matches!(task, Task::NetPipe(_));
            self.images.contains_key(&task.scheme())
                && (!is_on_gm || self.gm.is_some())
                && (!is_netpipe || self.no_linux.is_none())
        };
        let mut tasks: Vec<_> = self.tasks.iter().copied().filter(has_image).collect();
        // Long runs first: threads end at about the same time.
        tasks.sort_by_key(|task| std::cmp::Reverse(task.work()));
        tasks
    }

    /// The results of some tasks under the calibrated profiles.
    pub(super) fn results(
        &self,
        calibrated: &[Calibrated],
        found: MeasuredPoints<(usize, Task), TaskResult>,
    ) -> Results {
        let lacks = Arc::new(Lacks {
            missing: self.missing(),
            no_linux: self.no_linux.clone(),
            partial: found.partial,
        });
        let of_profile = |of: &Calibrated| ProfileResults {
            profile: Arc::clone(&of.profile),
            schemes: of.schemes.clone(),
            points: BTreeMap::new(),
            netpipe: BTreeMap::new(),
            lacks: Arc::clone(&lacks),
        };
        let mut profiles: Vec<_> = calibrated.iter().map(of_profile).collect();
        for ((profile, task), result) in found.points {
            let of = &mut profiles[profile];
            let scheme = of.schemes.entry(task.scheme()).or_default();
            match (task, result) {
                (Task::Point(key), TaskResult::Mean(mean)) => {
                    of.points.insert(key, mean);
                }
                (Task::NetPipe(stack), TaskResult::NetPipe(netpipe)) => {
                    of.netpipe.insert(stack, netpipe);
                }
                (_, TaskResult::Ledger(quiet)) => {
                    scheme.ledgers.insert(quiet.ledger.length, *quiet);
                }
                (_, TaskResult::Usage(usage)) => scheme.usages.push(usage),
                (_, TaskResult::Nothing | TaskResult::Mean(_) | TaskResult::NetPipe(_)) => {}
            }
        }
        for profile in 0..profiles.len() {
            profiles[profile].netpipe = profiles[self.netpipe_of(profile)].netpipe.clone();
        }
        Results {
            profiles,
            limits: Limits {
                run: self.rounds.most,
                full: Rounds::FULL.most,
            },
            lacks,
        }
    }

    /// GM's boards in the thesis's comparison, and its image; `None`: that is not built.
    ///
    /// # Errors
    /// The profile or the image is not usable.
    pub fn gm_boards() -> Result<Option<(Profile, Image)>, Error> {
        let profile = built_in(passing::GM_PROFILE)?;
        match gm::image(&profile) {
            Ok((_, image)) => Ok(Some((profile, image))),
            Err(Error::Firmware(FirmwareError::File { error, .. }))
                if error.kind() == ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Why Linux cannot run on hosts: what is missing for it.
    #[must_use]
    pub fn no_linux() -> Option<String> {
        if own_image(ACENIC, EMP_SRAM_BYTES).is_err() {
            return Some(format!("no image {ACENIC}"));
        }
        let kernel = lanigon_workloads::linux::missing();
        kernel.map(|_| "no kernel of guests (`make linux` builds it)".into())
    }

    /// The first profile with the entries of this one: NetPIPE is measured under that one alone: durations of EMP's stages do not matter.
    pub(super) fn netpipe_of(&self, profile: usize) -> usize {
        let entries = &self.profiles[profile].entries;
        let mut all = self.profiles.iter();
        all.position(|other| other.entries == *entries)
            .unwrap_or(profile)
    }

    /// Requested schemes without an image.
    fn missing(&self) -> Vec<Scheme> {
        let wanted: BTreeSet<_> = self.tasks.iter().map(|task| task.scheme()).collect();
        let missing = wanted.into_iter();
        missing
            .filter(|scheme| !self.images.contains_key(scheme))
            .collect()
    }

    pub(super) fn calibrate(&self, profile: &Profile) -> Result<Calibrated, Error> {
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
            schemes: schemes.collect::<Result<_, Error>>()?,
            profile: Arc::new(profile.clone()),
        })
    }

    /// Setup of a scheme's worlds on a testbed. It is independent of the experiment: all experiments use
    /// one set of parameters.
    pub(super) fn setup(
        &self,
        calibrated: &Calibrated,
        scheme: Scheme,
        testbed: Testbed,
        flow_control: bool,
    ) -> Result<Option<Setup>, Error> {
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

    pub(super) fn run_task(
        &self,
        calibrated: &Calibrated,
        task: Task,
    ) -> Result<TaskResult, Error> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted.into());
        }
        let (testbed, flow_control) = task.conditions();
        let setup = self.setup(calibrated, task.scheme(), testbed, flow_control)?;
        let Some(mut setup) = setup else {
            return Ok(TaskResult::Nothing);
        };
        if let Task::Point(key) = task
            && key.experiment.is_other()
        {
            setup.rounds = setup.rounds.at_least(OTHER_ROUNDS);
        }
        Ok(match task {
            Task::Point(key) => self.mean(&setup, key)?,
            Task::Ledger(_, size) => match quiet::follow(&setup, size)? {
                Some(quiet) => TaskResult::Ledger(Box::new(quiet)),
                None => TaskResult::Nothing,
            },
            Task::Usage(_, flow) => TaskResult::Usage(usage::measure(&setup, flow, LARGE)?),
            Task::NetPipe(stack) => TaskResult::NetPipe(stack.measure(&setup)?),
        })
    }

    fn mean(
        &self,
        setup: &Setup,
        Key {
            experiment, size, ..
        }: Key,
    ) -> Result<TaskResult, Error> {
        let mean = match (experiment, &self.gm) {
            (Experiment::Latency, _) => latency::measure(setup, size),
            (Experiment::OneWay, _) => one_way::measure(setup, size),
            (Experiment::TwoWay, _) => two_way::measure(setup, size),
            (Experiment::MpiOverEmp, _) => passing::mpi_over_emp(setup, size),
            (Experiment::MpiOverGm, Some((profile, image))) => {
                passing::mpi_over_gm(setup, image, profile, size)
            }
            (Experiment::Gm, Some((profile, image))) => {
                passing::gm_alone(setup, image, profile, size)
            }
            (_, None) => return Ok(TaskResult::Nothing),
        };
        mean.map(TaskResult::Mean)
    }
}
