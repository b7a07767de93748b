//! Shared memory in pages: the measurements of the paper on DSM over InfiniBand (sections 5.1 to 5.3), beside the published figures
//! (docs/dsm-results.md, section 6).

pub mod primitives;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_experiments::Error;
use lanigon_experiments::conditions::Conditions;
use lanigon_experiments::execute::{MeasuredPoints, OneOf};
use lanigon_experiments::experiment::Experiment;
use lanigon_experiments::formula::{FormulaError, FormulaValue, Measurements};
use lanigon_experiments::grid::{Grid, PointKey, PointValues, Points};
use lanigon_experiments::paper::{ExplainEffect, Paper, ResultRequest, start};
use lanigon_experiments::published::PublishedTable;
use lanigon_experiments::statements::{PaperFile, Statements};
use lanigon_experiments::verdict::Sample;
use serde::Serialize;

use primitives::Primitives;

/// The programs.
pub const FILE: PaperFile = file!("ardmar/experiment.toml");
/// Statements about them.
const STATEMENTS: PaperFile = file!("ardmar/statements.toml");
/// The profile of the publication's nodes.
pub const PROFILE: &str = "hca-4x";
/// Boards of another kind, beside them.
pub const OTHER: &str = "lanai9.2-200";
/// Repetitions of each primitive.
const ROUNDS: u32 = 100;

/// The published figures.
pub static TABLE: PublishedTable = table!("ardmar");

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
    calibrated: &CALIBRATED_ON,
    start: start::<Ardmar>,
};

/// The figures on which the profile is calibrated, and those which it takes over as costs.
const CALIBRATED_ON: [&str; 9] = [
    "ardmar-003",
    "ardmar-012",
    "ardmar-014",
    "ardmar-015",
    "ardmar-016",
    "ardmar-017",
    "ardmar-022",
    "ardmar-023b",
    "ardmar-057",
];

/// The experiment.
#[derive(Debug, Clone)]
pub struct Ardmar {
    statements: Statements,
    /// The programs; its profiles are those of the paper's testbed and of other boards.
    grid: Grid,
    interrupt: Arc<AtomicBool>,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The primitives of both profiles.
    pub primitives: Vec<(&'static str, Primitives)>,
    /// The programs: means of their nodes.
    pub points: Points,
}

// Its values are those of single runs, without intervals.
impl Sample for Results {}

impl Measurements for Results {
    /// A primitive of the publication's nodes by its name, or a measure of the programs.
    fn find(&self, measure: &str, at: &[FormulaValue]) -> Result<FormulaValue, FormulaError> {
        let ("primitive", [name]) = (measure, at) else {
            return self.points.find(measure, at);
        };
        let name = name.text()?;
        let mut profiles = self.primitives.iter();
        let found = profiles.find(|(profile, _)| *profile == PROFILE);
        let (_, found) = found.ok_or_else(FormulaError::missing)?;
        let unknown = || FormulaError::unknown(name);
        found.named(name).map(Into::into).ok_or_else(unknown)
    }
}

impl Experiment for Ardmar {
    /// The primitives of a profile, by its place; a program.
    type Key = OneOf<usize, PointKey>;
    /// The primitives; means of a program's nodes.
    type Point = OneOf<Primitives, PointValues>;
    type Results = Results;

    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let grid = Grid::new(FILE, request)?;
        let nothing = Results {
            points: grid.points(MeasuredPoints::default()),
            ..Results::default()
        };
        Ok(Self {
            statements: Statements::read(&STATEMENTS, paper.table, &nothing)?,
            grid,
            interrupt: Arc::clone(&request.interrupt),
        })
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        self.grid.conditions()
    }

    fn keys(&self) -> Vec<Self::Key> {
        let runs = self.grid.keys().into_iter().map(OneOf::Second);
        let primitives = [0, 1].map(OneOf::First);
        primitives.into_iter().chain(runs).collect()
    }

    fn measure(&self, key: &Self::Key) -> Result<Self::Point, Error> {
        Ok(match key {
            OneOf::First(place) => {
                let profile = &self.grid.profiles[*place];
                let found = Primitives::measure(profile, ROUNDS, &self.interrupt)?;
                OneOf::First(found)
            }
            OneOf::Second(key) => OneOf::Second(self.grid.measure(key)?),
        })
    }

    fn results(&self, found: MeasuredPoints<Self::Key, Self::Point>) -> Results {
        let (primitives, points) = found.split();
        let primitives = primitives.points.into_iter();
        Results {
            primitives: primitives
                .map(|(place, found)| ([PROFILE, OTHER][place], found))
                .collect(),
            points: self.grid.points(points),
        }
    }

    fn statements(&self) -> &Statements {
        &self.statements
    }

    fn points(&self, results: &Results) -> impl Serialize {
        results.points.clone()
    }

    fn extra(&self, results: &Results) -> impl Serialize {
        BTreeMap::from([("primitives", results.primitives.clone())])
    }
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::grid::AxisValue;
    use lanigon_experiments::paper::Amount;

    use super::*;

    /// The experiment, and results in which a run without handlers takes half as long for each part, and parts become shorter with more
    /// nodes.
    fn made_up(amount: Amount) -> (Ardmar, Results) {
        let request = ResultRequest {
            amount,
            ..ResultRequest::default()
        };
        let paper = Ardmar::new(&PAPER, &request).unwrap();
        let measured = |measurement: OneOf<usize, PointKey>| {
            let measured = match &measurement {
                OneOf::First(_) => OneOf::First(Primitives::default()),
                OneOf::Second(key) => {
                    let factor = if key[4] == true.into() { 0.5 } else { 1.0 };
                    let AxisValue::Count(nodes) = key[3] else {
                        panic!("{key:?}");
                    };
                    let part = factor * 1000.0 / nodes as f64;
                    // In the order of the file's measures.
                    let means = [
                        5.0 * part,
                        0.0,
                        part,
                        part,
                        0.0,
                        0.0,
                        66.0,
                        10.0,
                        10.0,
                        0.0,
                        0.0,
                    ];
                    OneOf::Second(means.map(|mean| vec![mean]).into())
                }
            };
            (measurement, measured)
        };
        let points = paper.keys().into_iter().map(measured).collect();
        let partial = false;
        let results = paper.results(MeasuredPoints { points, partial });
        (paper, results)
    }

    #[test]
    fn every_program_is_a_scenario_and_every_figure_has_an_answer() {
        for amount in [Amount::Quick, Amount::Usual, Amount::Full] {
            let (paper, results) = made_up(amount);
            paper.grid.check().unwrap();
            for row in paper.rows(&PAPER, &results) {
                assert!(row.measured.is_some(), "{row:?}");
            }
            for judged in paper.claims(&results) {
                let is_whole = judged.holds.is_some() && !judged.claim.is_empty();
                assert!(is_whole, "{judged:?}");
            }
            for row in paper.rows(&PAPER, &Results::default()) {
                assert_eq!((row.measured, row.role), (None, "not measured"));
            }
        }
    }

    #[test]
    fn a_gain_is_async_against_ardmar() {
        let (paper, results) = made_up(Amount::Full);
        let all = paper.rows(&PAPER, &results);
        let gains = all.iter().filter(|row| row.unit == "x");
        let gains: Vec<_> = gains.filter_map(|row| row.measured).collect();
        assert_eq!(gains, [2.0; 6]);
        let fault = all.iter().find(|row| row.id == Some("ardmar-057"));
        assert_eq!(fault.and_then(|row| row.measured), Some(6.6));
    }
}
