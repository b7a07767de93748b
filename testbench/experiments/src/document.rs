//! The results for programs: one form for all papers.

use std::fmt;

use lanigon_report::Report;
use serde::Serialize;

use crate::Error;
use crate::conditions::Conditions;
use crate::drawing::NamedFigure;
use crate::paper::Amount;
use crate::row::Row;
use crate::verdict::{JudgedClaim, Totals};

/// Head of a paper's document, equal in form for all papers.
#[derive(Debug, Clone, Serialize)]
pub struct Head {
    /// Name of the paper.
    pub experiment: &'static str,
    /// Amount of the measurements.
    pub amount: Amount,
    /// Everything on which the results depend.
    pub conditions: Conditions,
    /// The published numbers.
    pub rows: Vec<Row>,
    /// Numbers of the verdicts.
    pub verdicts: Totals,
    /// Claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
    /// Whether the user interrupted: points are missing.
    pub partial: bool,
}

/// The document of results.
#[derive(Debug, Serialize)]
pub(crate) struct PaperDocument<'a, P, X> {
    #[serde(flatten)]
    pub head: &'a Head,
    /// The measured points.
    pub points: P,
    /// Further results of the experiment.
    pub extra: X,
}

/// Result of an experiment.
#[derive(Debug, Clone, Default)]
pub struct ExperimentOutcome {
    /// The results for programs, as JSON.
    pub document: String,
    /// The results for people.
    pub text: String,
    /// The rows as CSV.
    pub table: String,
    /// Figures with their names.
    pub figures: Vec<NamedFigure>,
    /// Report for people, as HTML or Markdown.
    pub report: Report,
    /// Head of the document; `None` for an explanation.
    pub head: Option<Head>,
}

impl ExperimentOutcome {
    /// Explanations, which are printed only, as `write` shows each on a terminal of 80 columns.
    ///
    /// # Errors
    /// It has no form as JSON.
    pub fn explanation<T: Serialize>(
        all: &[T],
        write: impl Fn(&mut String, &T) -> fmt::Result,
    ) -> Result<Self, Error> {
        let mut text = String::new();
        for one in all {
            // Writing to a string cannot fail.
            let _ = write(&mut text, one);
        }
        Ok(Self {
            document: json(&all)?,
            text,
            ..Self::default()
        })
    }

    /// Whether the user interrupted.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.partial)
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Error::Request(error.to_string()))?;
    Ok(text + "\n")
}
