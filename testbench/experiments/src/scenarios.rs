//! Experiments all of whose points are scenarios: a [`Grid`], and functions of what it measured.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::Serialize;

use crate::Error;
use crate::conditions::Conditions;
use crate::execute::MeasuredPoints;
use crate::experiment::Experiment;
use crate::grid::{Grid, PointKey, PointValues, Points};
use crate::paper::{Amount, Paper, ResultRequest};
use crate::statements::{PaperFile, Statements};

/// An experiment whose points are scenarios: its files, and what they cannot say.
pub trait Scenarios: Send + Sync + 'static {
    /// The points that are measured (`experiment.toml`).
    const FILE: PaperFile;
    /// Numbers, claims and figures (`statements.toml`).
    const STATEMENTS: PaperFile;

    /// Further results for programs; lists by name are tables of the report.
    fn extra(_points: &Points) -> impl Serialize {}
}

/// The experiment of [`Scenarios`].
#[derive(Debug, Clone)]
pub struct ScenariosOf<S>(Grid, Statements, PhantomData<S>);

impl<S: Scenarios> Experiment for ScenariosOf<S> {
    type Key = PointKey;
    type Point = PointValues;
    type Results = Points;

    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        let grid = Grid::new(S::FILE, request)?;
        let nothing = grid.points(MeasuredPoints::default());
        let statements = Statements::read(&S::STATEMENTS, paper.table, &nothing)?;
        Ok(Self(grid, statements, PhantomData))
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        self.0.conditions()
    }

    fn keys(&self) -> Vec<PointKey> {
        self.0.keys()
    }

    fn measure(&self, key: &PointKey) -> Result<PointValues, Error> {
        self.0.measure(key)
    }

    fn results(&self, found: MeasuredPoints<PointKey, PointValues>) -> Points {
        self.0.points(found)
    }

    fn statements(&self) -> &Statements {
        &self.1
    }

    fn points(&self, points: &Points) -> impl Serialize {
        points.clone()
    }

    fn extra(&self, points: &Points) -> impl Serialize {
        S::extra(points)
    }
}

/// The results of a request, as if each point had been measured so.
///
/// # Panics
/// The file of the experiment is invalid.
#[must_use]
pub fn made_up<S: Scenarios>(
    paper: &'static Paper,
    amount: Amount,
    point: impl Fn(&PointKey) -> PointValues,
) -> (ScenariosOf<S>, Points) {
    let request = ResultRequest {
        amount,
        ..ResultRequest::default()
    };
    let experiment = ScenariosOf::<S>::new(paper, &request).expect("a file of points");
    let points = experiment.keys().into_iter();
    let points = points.map(|key| (key.clone(), point(&key))).collect();
    let partial = false;
    let results = experiment.results(MeasuredPoints { points, partial });
    (experiment, results)
}

/// Checks an experiment, in tests: each point is a scenario; in each amount every published number has a value, and every claim a verdict
/// and a text. The values of an usual run by id, as if each point had been measured so.
///
/// # Panics
/// It is not so.
pub fn check<S: Scenarios>(
    paper: &'static Paper,
    point: impl Fn(&PointKey) -> PointValues,
) -> BTreeMap<&'static str, f64> {
    paper.table.check().expect("a table");
    for id in paper.calibrated {
        assert!(paper.table.is_known(id), "{}: no number {id}", paper.name);
    }
    let mut values = BTreeMap::new();
    for amount in [Amount::Quick, Amount::Full, Amount::Usual] {
        let (experiment, results) = made_up::<S>(paper, amount, &point);
        experiment.0.check().expect("scenarios");
        for judged in experiment.claims(&results) {
            let is_whole = judged.holds.is_some() && !judged.claim.is_empty();
            assert!(is_whole, "{}: {judged:?}", paper.name);
        }
        for row in experiment.rows(paper, &results) {
            let value = row.measured.unwrap_or_else(|| panic!("{row:?}"));
            values.extend(row.id.map(|id| (id, value)));
        }
        let nothing = experiment.results(MeasuredPoints::default());
        assert!(
            experiment.figures(paper, &nothing).is_empty(),
            "{}",
            paper.name
        );
        for row in experiment.rows(paper, &nothing) {
            assert_eq!((row.measured, row.role), (None, "not measured"));
        }
    }
    values
}
