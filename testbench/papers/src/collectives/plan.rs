//! A run: all measurements of a table, each a world of its own, on all threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::{Identity, Image};
use emulator::profile::Profile;
use lanigon_worlds::boards;
use lanigon_worlds::gm::GmWorldError;
use lanigon_worlds::outcome::RunError;
use lanigon_worlds::profile;
use lanigon_worlds::programs::collective::Broadcast;
use rayon::prelude::*;

use super::beyond::{self, Value};
use super::explain::{self, Explanation};
use super::key::{Key, What, keys};
use super::published::Table;
use super::{CollectiveError, On, Setup};
use crate::interval::Estimate;
use crate::verdict::{Limits, Sample};

/// Operations of a measurement with `--full`.
pub const FULL_ROUNDS: u64 = 10_000;

/// What profiles of boards that are as fast as published begin with, before the name of the hardware's.
const CALIBRATED: &str = "gm-paper-";

/// What is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The publication.
    pub table: Table,
    /// The profiles, by the hardware's.
    pub profiles: BTreeMap<&'static str, Profile>,
    /// Fewer points.
    pub quick: bool,
    /// Operations of a measurement.
    pub rounds: u64,
    /// Most nodes of the measurements of scaling.
    pub most_nodes: u16,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The measured points.
    pub points: BTreeMap<Key, Estimate>,
    /// What no publication has.
    pub beyond: Vec<Value>,
    /// Rounds of a point.
    pub limits: Limits,
    /// Whether the user interrupted: points are missing.
    pub partial: bool,
}

impl Plan {
    /// All measurements of a table.
    ///
    /// # Errors
    /// A profile.
    pub fn new(
        table: Table,
        quick: bool,
        rounds: u64,
        most_nodes: u16,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, CollectiveError> {
        let mut profiles = BTreeMap::new();
        for key in keys(table, quick) {
            if !profiles.contains_key(key.board) {
                let profile = profile::load(&format!("{CALIBRATED}{}", key.board))
                    .map_err(|error| CollectiveError::Profile(format!("{error:#}")))?;
                profiles.insert(key.board, profile);
            }
        }
        Ok(Self {
            table,
            profiles,
            quick,
            rounds,
            most_nodes,
            interrupt,
        })
    }

    /// Number of measurements.
    #[must_use]
    pub fn steps(&self) -> usize {
        keys(self.table, self.quick).len() + beyond::cases(self.table, self.most_nodes).len()
    }

    /// Rounds of most points: all-to-all broadcasts have a fourth of the others'.
    fn limits(&self) -> Limits {
        let share = if self.table == Table::Gossip { 4 } else { 1 };
        Limits {
            run: (self.rounds / share) as usize,
            full: (FULL_ROUNDS / share) as usize,
        }
    }

    /// The images of the profiles' boards.
    fn images(&self) -> Result<BTreeMap<&'static str, (&'static str, Image)>, CollectiveError> {
        let load = |(board, profile): (&&'static str, &Profile)| {
            let of = boards::of(profile);
            let gm = of.gm.ok_or(GmWorldError::Board(of.name))?;
            let image = of.own_image(gm.image, gm.sram_bytes)?;
            Ok((*board, (gm.image, image)))
        };
        self.profiles.iter().map(load).collect()
    }

    /// Names and identities of the images.
    ///
    /// # Errors
    /// One of them is missing.
    pub fn identities(&self) -> Result<Vec<(String, Identity)>, CollectiveError> {
        let images = self.images()?;
        let named = images
            .values()
            .map(|(name, image)| ((*name).to_owned(), image.identity()));
        let named: BTreeMap<_, _> = named.collect();
        Ok(named.into_iter().collect())
    }

    /// Explains operations: the critical path of each, on hosts and on boards.
    ///
    /// # Errors
    /// [`CollectiveError`].
    pub fn explain(&self) -> Result<Vec<Explanation>, CollectiveError> {
        let images = self.images()?;
        let mut all = Vec::new();
        for (board, nodes, settings) in explain::subjects(self.table) {
            let places = [On::Host, On::Nic].into_iter();
            for on in places.filter(|on| explain::is_on(settings.work, *on)) {
                let setup = Setup {
                    image: &images[board].1,
                    profile: &self.profiles[board],
                    on,
                    interrupt: &self.interrupt,
                };
                all.push(setup.explain(nodes, &settings)?);
            }
        }
        Ok(all)
    }

    /// Carries out all measurements; `done` is called after each.
    ///
    /// # Errors
    /// [`CollectiveError`]. An interrupt is no error.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Results, CollectiveError> {
        let images = self.images()?;
        let measure = |key: Key| {
            let (profile, (_, image)) = (&self.profiles[key.board], &images[key.board]);
            let setup = Setup {
                image,
                profile,
                on: key.on,
                interrupt: &self.interrupt,
            };
            let values = match key.measure(&setup, self.rounds) {
                Ok(values) => values,
                Err(CollectiveError::Run(RunError::Interrupted)) => Vec::new(),
                Err(error) => return Err(error),
            };
            done();
            Ok(values)
        };
        let all = keys(self.table, self.quick);
        let wanted = all.clone();
        let found = all.into_par_iter().map(measure);
        let found: Vec<_> = found.collect::<Result<_, CollectiveError>>()?;
        let points: BTreeMap<_, _> = found.into_iter().flatten().collect();
        // The longest first.
        let mut cases = beyond::cases(self.table, self.most_nodes);
        cases.sort_by_key(|case| std::cmp::Reverse(case.nodes));
        let more = cases.len();
        let measure = |case: beyond::Case| {
            let value = match case.measure(&self.interrupt) {
                Ok(value) => Some(value),
                Err(CollectiveError::Run(RunError::Interrupted)) => None,
                Err(error) => return Err(error),
            };
            done();
            Ok(value)
        };
        let found = cases.into_par_iter().map(measure);
        let found: Vec<_> = found.collect::<Result<_, CollectiveError>>()?;
        let mut beyond: Vec<_> = found.into_iter().flatten().collect();
        beyond.sort_by(|a, b| a.case.cmp(&b.case));
        Ok(Results {
            partial: wanted.iter().any(|key| !points.contains_key(key)) || beyond.len() < more,
            points,
            beyond,
            limits: self.limits(),
        })
    }
}

impl Sample for Results {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.points.values_mut().collect()
    }

    fn name(&self, place: usize) -> String {
        let key = self.points.keys().nth(place);
        key.map(Key::to_string).unwrap_or_default()
    }
}

impl Results {
    /// A measured value.
    #[must_use]
    pub fn at(&self, board: &'static str, on: On, nodes: u16, what: What) -> Option<f64> {
        self.of(Key::new(board, on, nodes, what))
    }

    /// The value of a point.
    #[must_use]
    pub fn of(&self, key: Key) -> Option<f64> {
        self.points.get(&key).map(|point| point.value)
    }

    /// How many times the board is faster than the hosts.
    #[must_use]
    pub fn gain(&self, board: &'static str, nodes: u16, what: What) -> Option<f64> {
        let on = |on| self.at(board, on, nodes, what);
        on(On::Host).zip(on(On::Nic)).map(|(host, nic)| host / nic)
    }

    /// The barrier of a node count, on a tree of the best degree or by exchange.
    #[must_use]
    pub fn barrier(&self, board: &'static str, on: On, nodes: u16, tree: bool) -> Option<f64> {
        if !tree {
            return self.at(board, on, nodes, What::Exchange);
        }
        let degrees = 1..usize::from(nodes).max(2);
        let times = degrees.filter_map(|degree| self.at(board, on, nodes, What::Tree { degree }));
        times.reduce(f64::min)
    }

    /// Time of an all-to-all broadcast.
    #[must_use]
    pub fn all_to_all(
        &self,
        on: On,
        nodes: u16,
        algorithm: Broadcast,
        bytes: usize,
    ) -> Option<f64> {
        self.at(
            super::key::L9_GOSSIP,
            on,
            nodes,
            What::AllToAll { algorithm, bytes },
        )
    }

    /// How many times an algorithm on boards is faster than recursive doubling on hosts.
    #[must_use]
    pub fn gossip_gain(&self, nodes: u16, algorithm: Broadcast, bytes: usize) -> Option<f64> {
        let host = self.all_to_all(On::Host, nodes, Broadcast::RecursiveDoubling, bytes)?;
        Some(host / self.all_to_all(On::Nic, nodes, algorithm, bytes)?)
    }
}
