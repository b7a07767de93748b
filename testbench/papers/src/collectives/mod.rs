//! Collective operations over GM, on hosts and on NICs: the measurements of Buntinas 2003 (sections 3.5.1, 3.5.4 to 3.5.6,
//! and 4.3) and of the paper on NIC-based all-to-all broadcast (section 6), beside the published figures
//! (docs/collectives.md, docs/mpi.md).
//!
//! A measurement is a function of a [`Setup`]: profile, image, and the place where the operation is executed.

pub mod beyond;
pub mod chapter;
pub mod claims;
pub mod explain;
mod figures;
pub mod key;
pub mod measure;
pub mod results;
pub mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::image::Image;
use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::document::ExperimentOutcome;
use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::paper::{Amount, Paper, ResultRequest};
use lanigon_experiments::published::Published;
use lanigon_experiments::verdict::{self, JudgedClaim, Limits};
use serde::Serialize;

pub use lanigon_workloads::collective::ExecutedOn;

use crate::gm;
use beyond::{Case, MeasuredCase};
use chapter::Chapter;
use key::Key;
use results::Results;

/// Operations of a measurement with `--full`.
const FULL_ROUNDS: u64 = 10_000;
/// Begin of the names of profiles of boards that are as fast as published; the name of the hardware's follows.
const CALIBRATED: &str = "gm-paper-";

/// Firmware, costs and executor of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The firmware.
    pub image: &'a Image,
    /// The costs.
    pub profile: &'a Profile,
    /// Executor of the operation.
    pub on: ExecutedOn,
    /// Set when the user interrupts.
    pub interrupt: &'a Arc<AtomicBool>,
}

/// Boards that are measured: their costs, and their image with its name.
#[derive(Debug, Clone)]
struct Boards {
    profile: Profile,
    name: &'static str,
    image: Image,
}

/// The experiment.
#[derive(Debug, Clone)]
pub struct Collectives {
    chapter: Chapter,
    amount: Amount,
    /// By the hardware's profile.
    boards: BTreeMap<&'static str, Boards>,
    /// Operations of a measurement.
    rounds: u64,
    interrupt: Arc<AtomicBool>,
}

/// Task of one world.
#[derive(Debug, Clone)]
pub enum Measurement {
    /// A point of a publication.
    Point(Key),
    /// A point that no publication has.
    Beyond(Case),
}

/// Result of one world.
#[derive(Debug, Clone)]
pub enum Measured {
    /// Result of a publication's point.
    Point(Estimate),
    /// Result of a point that no publication has.
    Beyond(MeasuredCase),
}

impl Collectives {
    fn all(&self) -> Vec<Key> {
        key::keys(self.chapter, self.amount == Amount::Quick)
    }

    fn setup(&self, board: &str, on: ExecutedOn) -> Setup<'_> {
        let boards = &self.boards[board];
        Setup {
            image: &boards.image,
            profile: &boards.profile,
            on,
            interrupt: &self.interrupt,
        }
    }
}

impl Experiment for Collectives {
    type Key = Measurement;
    type Point = Measured;
    type Results = Results;

    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let mut collectives = Self {
            chapter: Chapter::from_paper(paper).ok_or(Error::NoRound)?,
            amount: request.amount,
            boards: BTreeMap::new(),
            rounds: request.amount.choose([40, 200, FULL_ROUNDS]),
            interrupt: Arc::clone(&request.interrupt),
        };
        for Key { board, .. } in collectives.all() {
            if !collectives.boards.contains_key(board) {
                let profile = profile(&format!("{CALIBRATED}{board}"))?;
                let (name, image) = gm::image(&profile)?;
                let boards = Boards {
                    profile,
                    name,
                    image,
                };
                collectives.boards.insert(board, boards);
            }
        }
        Ok(collectives)
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        let boards = self.boards.values();
        let images = boards.map(|boards| (boards.name.to_owned(), boards.image.identity()));
        let images: BTreeMap<_, _> = images.collect();
        Ok(Conditions::new(
            about(self.boards.values().map(|boards| &boards.profile)),
            images.into_iter().collect(),
            format!(
                "{} operations after 20 that are ignored; all-to-all broadcasts a fourth of them",
                self.rounds
            ),
        ))
    }

    fn keys(&self) -> Vec<Measurement> {
        let mut cases = beyond::cases(self.chapter, self.amount.choose([64, 256, 1_024]));
        // Long runs first: threads end at about the same time.
        cases.sort_by_key(|case| std::cmp::Reverse(case.nodes));
        let points = self.all().into_iter().map(Measurement::Point);
        points
            .chain(cases.into_iter().map(Measurement::Beyond))
            .collect()
    }

    fn measure(&self, key: &Measurement) -> Result<Measured, Error> {
        Ok(match key {
            Measurement::Point(key) => {
                let setup = self.setup(key.board, key.on);
                Measured::Point(key.measure(&setup, self.rounds)?)
            }
            Measurement::Beyond(case) => Measured::Beyond(case.measure(&self.interrupt)?),
        })
    }

    fn results(&self, found: MeasuredPoints<Measurement, Measured>) -> Results {
        let mut results = Results::default();
        for found in found.points {
            match found {
                (Measurement::Point(key), Measured::Point(value)) => {
                    results.points.insert(key, value);
                }
                (_, Measured::Beyond(value)) => results.beyond.push(value),
                _ => {}
            }
        }
        // Threads end in any order.
        results.beyond.sort_by(|a, b| a.case.cmp(&b.case));
        results
    }

    fn value(&self, number: &Published, results: &Results) -> Option<f64> {
        rows::value(self.chapter, number, results)
    }

    fn note(&self, number: &Published, _: &Results) -> &'static str {
        rows::note(number)
    }

    /// Rounds of most points: all-to-all broadcasts have a fourth of the others'.
    fn limits(&self) -> Limits {
        let share = if self.chapter == Chapter::Gossip {
            4
        } else {
            1
        };
        Limits {
            run: (self.rounds / share) as usize,
            full: (FULL_ROUNDS / share) as usize,
        }
    }

    fn claims(&self, results: &Results) -> Vec<JudgedClaim> {
        let claims = claims::for_chapter(self.chapter);
        verdict::judge_all(results, self.limits(), claims, include_str!("claims.toml"))
    }

    fn figures(&self, results: &Results) -> Vec<NamedFigure> {
        figures::figures(self.chapter, results)
    }

    fn points(&self, results: &Results) -> impl Serialize {
        Vec::from_iter(results.points.clone())
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        BTreeMap::from([("beyond", results.beyond.clone())])
    }

    fn more(&self, results: &Results) -> String {
        beyond::render(&results.beyond)
    }

    /// Explains operations: the critical path of each, on hosts and on boards.
    fn explain(&self) -> Result<ExperimentOutcome, Error> {
        let mut all = Vec::new();
        for (board, nodes, settings) in explain::subjects(self.chapter) {
            let places = [ExecutedOn::Host, ExecutedOn::Nic].into_iter();
            for on in places.filter(|on| explain::is_on(settings.work, *on)) {
                all.push(self.setup(board, on).explain(nodes, &settings)?);
            }
        }
        ExperimentOutcome::explanation(explain::render(&all), &all)
    }
}
