//! The list of papers, and requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::time::SimTime;
use serde::Serialize;

use crate::Error;
use crate::document::ExperimentOutcome;
use crate::experiment::{Experiment, StartedExperiment};
use crate::published::PublishedTable;

/// Amount of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Amount {
    /// Fewer points and rounds.
    Quick,
    /// All points.
    #[default]
    Usual,
    /// As many rounds as published.
    Full,
}

impl Amount {
    /// The value for this amount.
    pub const fn choose<T: Copy>(self, [quick, usual, full]: [T; 3]) -> T {
        match self {
            Self::Quick => quick,
            Self::Usual => usual,
            Self::Full => full,
        }
    }
}

/// A request for results.
#[derive(Debug, Clone, Default)]
pub struct ResultRequest {
    /// Amount of the measurements.
    pub amount: Amount,
    /// Only this figure, table, number or claim.
    pub figure: Option<String>,
    /// An explanation, of this scheme if the text is not empty.
    pub explain: Option<String>,
    /// Message sizes; empty: the experiment's.
    pub sizes: Vec<u32>,
    /// Timing profile.
    pub profile: Option<String>,
    /// Limit of simulated time of a measurement.
    pub max_time: Option<SimTime>,
    /// Folder for files.
    pub out: Option<PathBuf>,
    /// Set when the user interrupts.
    pub interrupt: Arc<AtomicBool>,
}

impl ResultRequest {
    /// The requested sizes, or these; sorted.
    ///
    /// # Errors
    /// One is not within `limits`, of which `limited` tells.
    pub fn sizes(
        &self,
        usual: &[u32],
        limits: std::ops::RangeInclusive<u32>,
        limited: &str,
    ) -> Result<Vec<u32>, Error> {
        let mut sizes = match self.sizes.as_slice() {
            [] => usual.to_vec(),
            sizes => sizes.to_vec(),
        };
        if let Some(size) = sizes.iter().find(|size| !limits.contains(size)) {
            return Err(Error::Request(format!("--size {size}: {limited}")));
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(sizes)
    }
}

/// An option that not every experiment accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// `--figure`.
    Figure,
    /// `--max-time`.
    MaxTime,
    /// `--profile`.
    Profile,
    /// `--size`.
    Size,
}

impl Choice {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Figure, "--figure"),
        (Self::MaxTime, "--max-time"),
        (Self::Profile, "--profile"),
        (Self::Size, "--size"),
    ];

    const fn is_in(self, request: &ResultRequest) -> bool {
        match self {
            Self::Figure => request.figure.is_some(),
            Self::MaxTime => request.max_time.is_some(),
            Self::Profile => request.profile.is_some(),
            Self::Size => !request.sizes.is_empty(),
        }
    }
}

/// Effect of `--explain` for a paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainEffect {
    /// Selects the measurements, by scheme.
    Schemes,
    /// Prints an explanation; no point is measured.
    Runs,
    /// Has no effect, for this reason.
    Nothing(&'static str),
}

/// A paper whose results are reproduced.
#[derive(Debug)]
pub struct Paper {
    /// Name in `lanigon reproduce NAME`.
    pub name: &'static str,
    /// Description of the reproduced results, in a line.
    pub about: &'static str,
    /// Description as the subject of a report.
    pub subject: &'static str,
    /// The document about it: `docs/MANUAL.md`.
    pub manual: &'static str,
    /// The options that it accepts.
    pub accepts: &'static [Choice],
    /// Effect of `--explain`.
    pub explains: ExplainEffect,
    /// The published numbers.
    pub table: &'static PublishedTable,
    /// Ids of those to which profiles are adjusted.
    pub calibrated: &'static [&'static str],
    /// Begins its experiment.
    pub start: Start,
}

/// Turns a request into an experiment.
pub type Start = fn(&'static Paper, &ResultRequest) -> Result<Box<dyn StartedExperiment>, Error>;

/// The experiment of a paper, ready to run.
///
/// # Errors
/// The request is invalid, or a file is missing.
pub fn start<E: Experiment + 'static>(
    paper: &'static Paper,
    request: &ResultRequest,
) -> Result<Box<dyn StartedExperiment>, Error> {
    let experiment = E::new(paper, request)?;
    Ok(Box::new((paper, request.amount, experiment)))
}

/// Checks that a paper accepts what is asked for. `all`: the list.
///
/// # Errors
/// [`Error::Request`].
pub fn check(all: &[&Paper], paper: &Paper, request: &ResultRequest) -> Result<(), Error> {
    let refuse = |text| Err(Error::Request(text));
    let listed = |is_among: &dyn Fn(&Paper) -> bool| {
        let names = all.iter().filter(|paper| is_among(paper));
        let names: Vec<_> = names
            .map(|paper| format!("`reproduce {}`", paper.name))
            .collect();
        names.join(", ")
    };
    for (choice, option) in Choice::ALL {
        if choice.is_in(request) && !paper.accepts.contains(&choice) {
            let others = listed(&|paper| paper.accepts.contains(&choice));
            return refuse(format!("{option} is for {others}"));
        }
    }
    let Some(scheme) = &request.explain else {
        return Ok(());
    };
    match paper.explains {
        ExplainEffect::Schemes => Ok(()),
        ExplainEffect::Nothing(why) => refuse(format!("--explain: {why}")),
        ExplainEffect::Runs if !scheme.is_empty() => {
            let others = listed(&|paper| paper.explains == ExplainEffect::Schemes);
            refuse(format!("--explain {scheme}: a scheme is for {others}"))
        }
        ExplainEffect::Runs if request.out.is_some() => {
            refuse("--out and --explain: the explanation is printed only".into())
        }
        ExplainEffect::Runs => Ok(()),
    }
}

/// Checks a request for all papers: it has no option that only some accept.
///
/// # Errors
/// [`Error::Request`].
pub fn check_all(request: &ResultRequest) -> Result<(), Error> {
    let mut choices = Choice::ALL.into_iter();
    let single = choices.find(|(choice, _)| choice.is_in(request));
    let explain = request.explain.as_ref().map(|_| "--explain");
    match single.map(|(_, option)| option).or(explain) {
        Some(option) => Err(Error::Request(format!("{option} is for single papers"))),
        None => Ok(()),
    }
}

/// Runs a paper's experiment as requested. `begin` is called with the number of measurements, and its result with the number of finished ones.
///
/// # Errors
/// [`Error`]. An interrupt is none.
pub fn run<P: Fn(usize) + Sync>(
    paper: &'static Paper,
    request: &ResultRequest,
    begin: impl FnOnce(usize) -> P,
) -> Result<ExperimentOutcome, Error> {
    paper.table.check()?;
    let started = (paper.start)(paper, request)?;
    if request.explain.is_some() && paper.explains == ExplainEffect::Runs {
        return started.explain();
    }
    if let Some(folder) = &request.out {
        crate::folder::prepare(folder, paper.name)?;
    }
    let progress = begin(started.steps());
    let outcome = started.run(&progress)?;
    drop(progress);
    if let Some(folder) = &request.out {
        crate::folder::write(folder, &outcome)?;
    }
    Ok(outcome)
}
