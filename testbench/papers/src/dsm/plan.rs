//! A run: all points, each a world of its own, on all threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Identity;
use emulator::profile::Profile;
use lanigon_worlds::boards;
use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::outcome::RunError;
use lanigon_worlds::profile;
use lanigon_worlds::programs::dsm::NodeTimes;
use rayon::prelude::*;

use super::key::{Amount, Key, Program, Size, Testbed, keys};
use super::primitives::Primitives;
use super::{DsmError, OTHER, PROFILE};
use crate::gm::GmError;
use crate::verdict::Sample;

/// Repetitions of each primitive.
const ROUNDS: u32 = 100;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How much.
    pub amount: Amount,
    /// The profiles: the paper's testbed, and other boards.
    pub profiles: [Profile; 2],
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The primitives of both profiles.
    pub primitives: Vec<(&'static str, Primitives)>,
    /// The programs: means of their nodes.
    pub points: BTreeMap<Key, NodeTimes>,
    /// How much was asked for.
    pub amount: Amount,
    /// Whether the user interrupted: points are missing.
    pub partial: bool,
}

impl Plan {
    /// All measurements.
    ///
    /// # Errors
    /// A profile.
    pub fn new(amount: Amount, interrupt: Arc<AtomicBool>) -> Result<Self, DsmError> {
        let load = |name| {
            let loaded = profile::load(name);
            loaded.map_err(|error| DsmError::Profile(format!("{error:#}")))
        };
        Ok(Self {
            amount,
            profiles: [load(PROFILE)?, load(OTHER)?],
            interrupt,
        })
    }

    /// Number of measurements.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.profiles.len() + keys(self.amount).len()
    }

    /// Name and identity of the image.
    ///
    /// # Errors
    /// It is missing.
    pub fn identities(&self) -> Result<Vec<(String, Identity)>, DsmError> {
        let board = boards::of(&self.profiles[0]);
        let gm = board.gm.ok_or(GmWorldError::Board(board.name))?;
        let image = board.own_image(gm.image, gm.sram_bytes)?;
        Ok(vec![(gm.image.to_owned(), image.identity())])
    }

    /// Carries out all measurements; `done` is called after each.
    ///
    /// # Errors
    /// [`DsmError`]. An interrupt is no error.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Results, DsmError> {
        let mut primitives = Vec::new();
        for (name, profile) in [PROFILE, OTHER].into_iter().zip(&self.profiles) {
            let found = Primitives::measure(profile, ROUNDS, &self.interrupt);
            if let Some(found) = finished(found)? {
                primitives.push((name, found));
            }
            done();
        }
        let all = keys(self.amount);
        let count = all.len();
        let measure = |key: Key| {
            let found = finished(key.measure(&self.interrupt));
            done();
            Ok(found?.map(|times| (key, times)))
        };
        // One by one, so that the longest begin first.
        let found = all.into_par_iter().with_max_len(1).map(measure);
        let found: Vec<_> = found.collect::<Result<_, DsmError>>()?;
        let points: BTreeMap<_, _> = found.into_iter().flatten().collect();
        Ok(Results {
            partial: points.len() < count || primitives.len() < self.profiles.len(),
            primitives,
            points,
            amount: self.amount,
        })
    }
}

/// What was measured; `None`: the user interrupted.
fn finished<T>(found: Result<T, DsmError>) -> Result<Option<T>, DsmError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(
            DsmError::Run(RunError::Interrupted)
            | DsmError::Messages(GmError::Run(RunError::Interrupted)),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

// Its values are those of single runs, without intervals.
impl Sample for Results {}

impl Results {
    /// The primitives of a profile.
    #[must_use]
    pub fn primitives(&self, profile: &str) -> Option<&Primitives> {
        let mut all = self.primitives.iter();
        all.find(|(name, _)| *name == profile)
            .map(|(_, found)| found)
    }

    /// A run.
    #[must_use]
    pub fn times(
        &self,
        testbed: Testbed,
        program: Program,
        size: Size,
        nodes: u16,
        ardmar: bool,
    ) -> Option<&NodeTimes> {
        self.points.get(&Key {
            testbed,
            program,
            size,
            nodes,
            ardmar,
        })
    }

    /// Time of a page fetch in the benchmark, in us.
    #[must_use]
    pub fn fetch_us(&self, testbed: Testbed, nodes: u16, ardmar: bool) -> Option<f64> {
        let size = self.amount.pages();
        let times = self.times(testbed, Program::Pages, size, nodes, ardmar);
        times.map(NodeTimes::page_fetch_us)
    }

    /// How many times faster an application is without handlers.
    #[must_use]
    pub fn gain(&self, testbed: Testbed, program: Program, size: Size, nodes: u16) -> Option<f64> {
        let total = |ardmar| {
            let times = self.times(testbed, program, size, nodes, ardmar);
            times.map(|times| times.total_us)
        };
        Some(total(false)? / total(true)?)
    }

    /// How many times faster an application is than on one node, which needs no network.
    #[must_use]
    pub fn speed_up(&self, program: Program, size: Size, nodes: u16, ardmar: bool) -> Option<f64> {
        let total = |nodes, ardmar| {
            let times = self.times(Testbed::Paper, program, size, nodes, ardmar);
            times.map(|times| times.total_us)
        };
        Some(total(1, false)? / total(nodes, ardmar)?)
    }

    /// The size that is nearest to the one that was asked for.
    #[must_use]
    pub fn nearest(&self, wanted: Size) -> Size {
        let sizes = self.amount.sizes();
        let found = sizes.iter().copied().find(|size| *size == wanted);
        found.or(sizes.last().copied()).unwrap_or(wanted)
    }
}
