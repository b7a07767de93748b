//! Experiments all of whose points are scenarios: a [`Grid`], and functions of what it measured.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::Serialize;

use crate::Error;
use crate::conditions::Conditions;
use crate::drawing::NamedFigure;
use crate::execute::MeasuredPoints;
use crate::experiment::Experiment;
use crate::grid::{Grid, PointKey, PointValues, Points};
use crate::paper::{Amount, Paper, ResultRequest};
use crate::published::Published;
use crate::verdict::{Claim, Sample};

/// Statements of an experiment about its measured points: claims, figures, notes.
pub trait Scenarios: Send + Sync + 'static {
    /// The points, as claims and figures take them: [`Points`], or a type around them.
    type Results: Sample + From<Points> + AsRef<Points> + 'static;
    /// The points that are measured (`experiment.toml`).
    const FILE: &'static str;
    /// The claims.
    const CLAIMS: &'static [Claim<Self::Results>] = &[];
    /// Texts of the claims, by id (`claims.toml`).
    const TEXTS: &'static str = "";

    /// The own value for a published number; `None`: it was not measured.
    fn value(number: &Published, results: &Self::Results) -> Option<f64>;

    /// Difference of the measurement from the publication's; empty if there is none.
    fn note(_number: &Published) -> &'static str {
        ""
    }

    /// The figures, with the names of their files.
    fn figures(results: &Self::Results) -> Vec<NamedFigure>;

    /// Further results for programs; lists by name are tables of the report.
    fn extra(_results: &Self::Results) -> impl Serialize {}

    /// Text behind rows and claims.
    fn more(_results: &Self::Results) -> String {
        String::new()
    }
}

/// The experiment of [`Scenarios`].
#[derive(Debug, Clone)]
pub struct ScenariosOf<S>(Grid, PhantomData<S>);

impl<S: Scenarios> Experiment for ScenariosOf<S> {
    type Key = PointKey;
    type Point = PointValues;
    type Results = S::Results;
    const CLAIMS: &'static [Claim<S::Results>] = S::CLAIMS;
    const TEXTS: &'static str = S::TEXTS;

    fn new(_: &'static Paper, request: &ResultRequest) -> Result<Self, Error> {
        Ok(Self(Grid::new(S::FILE, request)?, PhantomData))
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

    fn results(&self, found: MeasuredPoints<PointKey, PointValues>) -> S::Results {
        self.0.points(found).into()
    }

    fn value(&self, number: &Published, results: &S::Results) -> Option<f64> {
        S::value(number, results)
    }

    fn note(&self, number: &Published, _: &S::Results) -> &'static str {
        S::note(number)
    }

    fn figures(&self, results: &S::Results) -> Vec<NamedFigure> {
        match results.as_ref().is_empty() {
            true => Vec::new(),
            false => S::figures(results),
        }
    }

    fn points(&self, results: &S::Results) -> impl Serialize {
        results.as_ref().clone()
    }

    fn extra(&self, results: &S::Results) -> impl Serialize {
        S::extra(results)
    }

    fn more(&self, results: &S::Results) -> String {
        S::more(results)
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
) -> (ScenariosOf<S>, S::Results) {
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
        let nothing = MeasuredPoints {
            points: Vec::new(),
            partial: true,
        };
        let nothing = experiment.results(nothing);
        assert!(experiment.figures(&nothing).is_empty(), "{}", paper.name);
        for row in experiment.rows(paper, &nothing) {
            assert_eq!((row.measured, row.role), (None, "not measured"));
        }
    }
    values
}
