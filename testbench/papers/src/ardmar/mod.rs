//! Shared memory in pages: the measurements of the paper on DSM over InfiniBand (sections 5.1 to 5.3), beside the published figures
//! (docs/dsm-results.md, section 6).

mod claims;
mod figures;
pub mod primitives;
pub mod results;
mod rows;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_experiments::Error;
use lanigon_experiments::conditions::Conditions;
use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::grid::{self, Grid};
use lanigon_experiments::paper::{Amount, ExplainEffect, Paper, ResultRequest, start};
use lanigon_experiments::published::{Published, PublishedTable};
use lanigon_experiments::verdict::Claim;
use serde::Serialize;

use primitives::Primitives;
use results::Results;

/// The programs.
pub const FILE: &str = include_str!("experiment.toml");
/// The profile of the publication's nodes.
pub const PROFILE: &str = "hca-4x";
/// Boards of another kind, beside them.
pub const OTHER: &str = "lanai9.2-200";
/// Repetitions of each primitive.
const ROUNDS: u32 = 100;

/// The published figures.
pub static TABLE: PublishedTable = PublishedTable::new(
    "published-ardmar",
    include_str!("../../data/published-ardmar.csv"),
);

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "ardmar",
    about: "Programs over shared memory, with and without handlers",
    subject: "Shared memory without handlers",
    manual: "dsm",
    accepts: &[],
    explains: ExplainEffect::Nothing(
        "handlers and waits of many nodes have no critical path; `lanigon run scenarios/dsm.toml` tells where the time of each node goes",
    ),
    table: &TABLE,
    calibrated: &rows::CALIBRATED_ON,
    start: start::<Ardmar>,
};

/// The experiment.
#[derive(Debug, Clone)]
pub struct Ardmar {
    amount: Amount,
    /// The programs; its profiles are those of the paper's testbed and of other boards.
    grid: Grid,
    interrupt: Arc<AtomicBool>,
}

/// Task of one world.
#[derive(Debug, Clone)]
pub enum Measurement {
    /// The primitives of a profile, by its place.
    Primitives(usize),
    /// A program.
    Run(grid::PointKey),
}

/// Result of one world.
#[derive(Debug, Clone)]
pub enum Measured {
    /// The primitives of a profile.
    Primitives(Primitives),
    /// Means of a program's nodes.
    Run(grid::PointValues),
}

impl Experiment for Ardmar {
    type Key = Measurement;
    type Point = Measured;
    type Results = Results;
    const CLAIMS: &'static [Claim<Results>] = &claims::CLAIMS;
    const TEXTS: &'static str = include_str!("claims.toml");

    fn new(_: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        Ok(Self {
            amount: request.amount,
            grid: Grid::new(FILE, request)?,
            interrupt: Arc::clone(&request.interrupt),
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        self.grid.conditions()
    }

    fn keys(&self) -> Vec<Measurement> {
        let runs = self.grid.keys().into_iter().map(Measurement::Run);
        let primitives = [0, 1].map(Measurement::Primitives);
        primitives.into_iter().chain(runs).collect()
    }

    fn measure(&self, key: &Measurement) -> Result<Measured, Error> {
        Ok(match key {
            Measurement::Primitives(place) => {
                let profile = &self.grid.profiles[*place];
                let found = Primitives::measure(profile, ROUNDS, &self.interrupt)?;
                Measured::Primitives(found)
            }
            Measurement::Run(key) => Measured::Run(self.grid.measure(key)?),
        })
    }

    fn results(&self, found: MeasuredPoints<Measurement, Measured>) -> Results {
        let (mut points, mut primitives) = (Vec::new(), Vec::new());
        for point in found.points {
            match point {
                (Measurement::Run(key), Measured::Run(times)) => points.push((key, times)),
                (Measurement::Primitives(place), Measured::Primitives(found)) => {
                    primitives.push(([PROFILE, OTHER][place], found));
                }
                _ => {}
            }
        }
        let partial = found.partial;
        Results {
            primitives,
            points: self.grid.points(MeasuredPoints { points, partial }),
            amount: self.amount,
        }
    }

    fn value(&self, number: &Published, results: &Results) -> Option<f64> {
        rows::value(number, results)
    }

    fn note(&self, number: &Published, results: &Results) -> &'static str {
        rows::note(number, results)
    }

    fn figures(&self, results: &Results) -> Vec<NamedFigure> {
        figures::figures(results)
    }

    fn points(&self, results: &Results) -> impl Serialize {
        results.points.clone()
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        BTreeMap::from([("primitives", results.primitives.clone())])
    }

    fn more(&self, results: &Results) -> String {
        text::text(results)
    }
}
