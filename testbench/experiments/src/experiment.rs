//! The trait of an experiment: its points, their measurement, rows and claims.

use lanigon_report::{Report, Section};
use serde::Serialize;

use crate::Error;
use crate::conditions::Conditions;
use crate::document::{ExperimentOutcome, Head, PaperDocument, json};
use crate::drawing::NamedFigure;
use crate::execute::{self, MeasuredPoints};
use crate::formula::Measurements;
use crate::page;
use crate::paper::{Amount, Paper, ResultRequest};
use crate::published::Published;
use crate::row::{self, CALIBRATED, PREDICTED, Row};
use crate::statements::Statements;
use crate::verdict::{JudgedClaim, Limits, Sample, Totals};

/// An experiment, made from a request: what is measured, and what becomes of the results.
pub trait Experiment: Sized + Sync {
    /// Identity of a point.
    type Key: Send + Sync;
    /// Measured values of a point.
    type Point: Send;
    /// All points, as claims and figures take them.
    type Results: Sample + Measurements + 'static;

    /// The experiment that a request asks for. The request has no option that the paper does not accept.
    ///
    /// # Errors
    /// The request is invalid, or a file is missing.
    fn new(paper: &'static Paper, request: &ResultRequest) -> Result<Self, Error>;

    /// Everything on which the results depend.
    ///
    /// # Errors
    /// An image is missing.
    fn conditions(&self) -> Result<Conditions, Error>;

    /// All points; those whose measurement takes longest first.
    fn keys(&self) -> Vec<Self::Key>;

    /// Measures a point.
    ///
    /// # Errors
    /// [`Error`].
    fn measure(&self, key: &Self::Key) -> Result<Self::Point, Error>;

    /// The results from all measured points.
    fn results(&self, found: MeasuredPoints<Self::Key, Self::Point>) -> Self::Results;

    /// Statements about the results: numbers, claims, figures.
    fn statements(&self) -> &Statements;

    /// The published numbers beside the measured ones.
    fn rows(&self, paper: &Paper, results: &Self::Results) -> Vec<Row> {
        let row = |number: &Published| {
            let role = match self.statements().role(number) {
                Some(stated) => stated.name(),
                None if paper.calibrated.contains(&number.id) => CALIBRATED,
                None => PREDICTED,
            };
            let value = self.statements().value(number, results);
            Row::new(number, value, role, self.statements().note(number, results))
        };
        paper.table.numbers().iter().map(row).collect()
    }

    /// Numbers of rounds, if points are means.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// The judged claims.
    fn claims(&self, results: &Self::Results) -> Vec<JudgedClaim> {
        self.statements().judge(results, self.limits())
    }

    /// The figures, with the names of their files.
    fn figures(&self, paper: &Paper, results: &Self::Results) -> Vec<NamedFigure> {
        self.statements().figures(paper.table, results)
    }

    /// The measured points, for programs and as a table of the report.
    fn points(&self, results: &Self::Results) -> impl Serialize;

    /// Further results for programs; lists by name are tables of the report.
    fn extra(&self, _results: &Self::Results) -> impl Serialize {}

    /// Text behind rows and claims.
    fn more(&self, results: &Self::Results) -> String {
        self.statements().text(results)
    }

    /// The results as text.
    fn text(&self, head: &Head, results: &Self::Results) -> String {
        page::text(head, &self.more(results))
    }

    /// Rows of the table for programs: the published numbers, and points in their form.
    fn table(&self, rows: &[Row], _results: &Self::Results) -> Vec<Row> {
        rows.to_vec()
    }

    /// Sections of the report behind the run's.
    fn sections(
        &self,
        head: &Head,
        figures: Vec<NamedFigure>,
        results: &Self::Results,
    ) -> Vec<Section> {
        let mut sections = page::sections(head, figures);
        sections.extend(page::lists(&self.extra(results)));
        sections.extend(page::list("Points", &self.points(results)));
        sections
    }

    /// An explanation: as text and for programs.
    ///
    /// # Errors
    /// [`Error`].
    fn explain(&self) -> Result<ExperimentOutcome, Error> {
        Err(Error::NoRound)
    }
}

/// An experiment of any kind.
pub trait StartedExperiment: Sync {
    /// Number of measurements.
    fn steps(&self) -> usize;

    /// Everything on which the results depend.
    ///
    /// # Errors
    /// An image is missing.
    fn conditions(&self) -> Result<Conditions, Error>;

    /// Carries out all measurements; `done` is called with the number of finished ones.
    ///
    /// # Errors
    /// [`Error`]. An interrupt is none.
    fn run(&self, done: &(dyn Fn(usize) + Sync)) -> Result<ExperimentOutcome, Error>;

    /// An explanation.
    ///
    /// # Errors
    /// [`Error`].
    fn explain(&self) -> Result<ExperimentOutcome, Error>;
}

impl<E: Experiment> StartedExperiment for (&'static Paper, Amount, E) {
    fn steps(&self) -> usize {
        self.2.keys().len()
    }

    fn conditions(&self) -> Result<Conditions, Error> {
        self.2.conditions()
    }

    fn run(&self, done: &(dyn Fn(usize) + Sync)) -> Result<ExperimentOutcome, Error> {
        let (paper, amount, experiment) = self;
        let conditions = experiment.conditions()?;
        let (results, partial) = execute::measure(experiment, done)?;
        let rows = experiment.rows(paper, &results);
        let claims = experiment.claims(&results);
        let head = Head {
            experiment: paper.name,
            amount: *amount,
            conditions,
            rows,
            verdicts: Totals::count(&claims),
            claims,
            partial,
        };
        let figures = experiment.figures(paper, &results);
        let mut sections = vec![page::run(paper, &head)];
        sections.extend(experiment.sections(&head, figures.clone(), &results));
        Ok(ExperimentOutcome {
            document: json(&PaperDocument {
                head: &head,
                points: experiment.points(&results),
                extra: experiment.extra(&results),
            })?,
            text: experiment.text(&head, &results),
            table: row::csv(&experiment.table(&head.rows, &results)),
            figures,
            report: Report {
                title: format!("{}: published and reproduced", paper.subject),
                sections,
            },
            head: Some(head),
        })
    }

    fn explain(&self) -> Result<ExperimentOutcome, Error> {
        self.2.explain()
    }
}
