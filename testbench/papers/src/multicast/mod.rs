//! Multicasts over FM's multi-send: the measurements of Buntinas 2003, chapter 2, beside the published figures (docs/fm.md).
//!
//! The file `experiment.toml` holds the measured points.

mod best;
mod claims;
mod figures;
pub mod model;
pub mod results;
mod rows;

use lanigon_experiments::Error;
use lanigon_experiments::conditions::Conditions;
use lanigon_experiments::drawing::Named;
use lanigon_experiments::execute::Found;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::grid::{Grid, Key, Point};
use lanigon_experiments::paper::{Explains, Paper, Request, start};
use lanigon_experiments::published::{Published, Table};
use lanigon_experiments::verdict::Claim;
use serde::Serialize;

use results::Results;

/// The points.
pub const FILE: &str = include_str!("experiment.toml");

/// The published figures.
pub static TABLE: Table = Table::new(
    "published-multicast",
    include_str!("../../data/published-multicast.csv"),
);

/// Its place in the list of papers.
pub static PAPER: Paper = Paper {
    name: "multicast",
    about: "Multicasts over FM's multi-send",
    subject: "Multicasts over FM",
    manual: "fm",
    accepts: &[],
    explains: Explains::Nothing(
        "a multicast has no critical path here; `lanigon plan multicast` tells when each node has the message",
    ),
    table: &TABLE,
    calibrated: &["dissertation-011", "dissertation-012", "dissertation-016"],
    start: start::<Multicast>,
};

/// The experiment.
#[derive(Debug, Clone)]
pub struct Multicast(Grid);

impl Experiment for Multicast {
    type Key = Key;
    type Point = Point;
    type Results = Results;
    const CLAIMS: &'static [Claim<Results>] = &claims::CLAIMS;
    const TEXTS: &'static str = include_str!("claims.toml");

    fn new(_: &'static Paper, request: &Request) -> Result<Self, Error> {
        Ok(Self(Grid::new(FILE, request)?))
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        self.0.conditions()
    }

    fn keys(&self) -> Vec<Key> {
        self.0.keys()
    }

    fn measure(&self, key: &Key) -> Result<Point, Error> {
        self.0.measure(key)
    }

    fn results(&self, found: Found<Key, Point>) -> Results {
        Results {
            points: self.0.points(found),
            sizes: self.0.numbers("sizes"),
        }
    }

    fn value(&self, number: &Published, results: &Results) -> Option<f64> {
        rows::value(number, results)
    }

    fn note(&self, number: &Published, _: &Results) -> &'static str {
        rows::note(number)
    }

    fn figures(&self, results: &Results) -> Vec<Named> {
        figures::figures(results)
    }

    fn points(&self, results: &Results) -> impl Serialize {
        results.points.clone()
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        best::Extra::of(results)
    }

    fn more(&self, results: &Results) -> String {
        best::text(results)
    }
}
