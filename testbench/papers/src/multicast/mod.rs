//! Multicasts over FM's multi-send: the measurements of Buntinas 2003, chapter 2, beside the published figures (docs/fm.md).
//!
//! The file `experiment.toml` holds the measured points.

mod best;
mod claims;
mod figures;
pub mod model;
pub mod results;
mod rows;

use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::paper::{ExplainEffect, Paper, start};
use lanigon_experiments::published::{Published, PublishedTable};
use lanigon_experiments::scenarios::{Scenarios, ScenariosOf};
use lanigon_experiments::verdict::Claim;
use serde::Serialize;

use results::Results;

/// The points.
pub const FILE: &str = include_str!("experiment.toml");

/// The published figures.
pub static TABLE: PublishedTable = PublishedTable::new(
    "published-multicast",
    include_str!("../../data/published-multicast.csv"),
);

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "multicast",
    about: "Multicasts over FM's multi-send",
    subject: "Multicasts over FM",
    manual: "fm",
    accepts: &[],
    explains: ExplainEffect::Nothing(
        "a multicast has no critical path here; `lanigon plan multicast` tells when each node has the message",
    ),
    table: &TABLE,
    calibrated: &["dissertation-011", "dissertation-012", "dissertation-016"],
    start: start::<ScenariosOf<Multicast>>,
};

/// The experiment.
#[derive(Debug, Clone)]
pub struct Multicast;

impl Scenarios for Multicast {
    type Results = Results;
    const FILE: &'static str = FILE;
    const CLAIMS: &'static [Claim<Results>] = &claims::CLAIMS;
    const TEXTS: &'static str = include_str!("claims.toml");

    fn value(number: &Published, results: &Results) -> Option<f64> {
        rows::value(number, results)
    }

    fn note(number: &Published) -> &'static str {
        rows::note(number)
    }

    fn figures(results: &Results) -> Vec<NamedFigure> {
        figures::figures(results)
    }

    fn extra(results: &Results) -> impl Serialize {
        best::Extra::from_results(results)
    }

    fn more(results: &Results) -> String {
        best::text(results)
    }
}
