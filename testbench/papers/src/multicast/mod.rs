//! Multicasts over FM's multi-send: the measurements of Buntinas 2003, chapter 2, beside the published figures (docs/fm.md).
//!
//! Each measurement is a scenario of its own: nodes around one crossbar whose hosts run the benchmark of section 2.5.

mod best;
mod claims;
mod figures;
pub mod key;
pub mod model;
pub mod results;
mod rows;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::conditions::{Conditions, about};
use lanigon_experiments::drawing::Named;
use lanigon_experiments::error::profile;
use lanigon_experiments::execute::Found;
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::paper::{Amount, Explains, Paper, Request, start};
use lanigon_experiments::published::{Published, Table};
use lanigon_experiments::verdict::Claim;
use lanigon_worlds::boards;
use serde::Serialize;

use key::{Key, Point};
use results::Results;

/// The profile of the publication's nodes.
pub const PROFILE: &str = "fm-paper-lanai4.3-33";
/// The images that are measured.
const IMAGES: [&str; 2] = ["fm", "fm-plain"];

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
pub struct Multicast {
    amount: Amount,
    /// Rounds for each answering leaf.
    rounds: u64,
    profile: Profile,
    interrupt: Arc<AtomicBool>,
}

impl Experiment for Multicast {
    type Key = Key;
    type Point = Point;
    type Results = Results;
    const CLAIMS: &'static [Claim<Results>] = &claims::CLAIMS;

    fn new(_: &'static Paper, request: &Request) -> Result<Self, Error> {
        Ok(Self {
            amount: request.amount,
            rounds: request.amount.of([2, 10, 1000]),
            profile: profile(PROFILE)?,
            interrupt: Arc::clone(&request.interrupt),
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        let board = boards::of(&self.profile);
        let identity = |name: &str| {
            let image = board.own_image(name, board.scenario_sram_bytes)?;
            Ok((name.to_owned(), image.identity()))
        };
        let images = IMAGES.into_iter().map(identity);
        Ok(Conditions::new(
            about([&self.profile]),
            images.collect::<Result<_, Error>>()?,
            format!("{} messages for each answering leaf", self.rounds),
        ))
    }

    fn keys(&self) -> Vec<Key> {
        key::keys(self.amount == Amount::Quick)
    }

    fn measure(&self, key: &Key) -> Result<Point, Error> {
        key.measure(self.rounds, &self.interrupt)
    }

    fn results(&self, found: Found<Key, Point>) -> Results {
        Results {
            quick: self.amount == Amount::Quick,
            points: found.points.into_iter().collect(),
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
        Vec::from_iter(results.points.clone())
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        best::Extra::of(results)
    }

    fn more(&self, results: &Results) -> String {
        best::text(results)
    }
}
