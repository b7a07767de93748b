//! The report of a reproduction: the parts that all of them have.

use std::fmt::Write;

use lanigon_report::{Block, Claim, Picture, Report, Section};

use crate::collectives::plots::Named;
use crate::collectives::report::published;
use crate::collectives::rows::Row;
use crate::verdict::{Judged, Totals};

/// What reports have in common.
pub(crate) struct Page<'a> {
    /// Name of the experiment (`lanigon reproduce NAME`).
    pub(crate) name: &'a str,
    /// What is reproduced.
    pub(crate) subject: String,
    /// The document about it: `docs/MANUAL.md`.
    pub(crate) manual: &'a str,
    /// The conditions of the run.
    pub(crate) facts: Vec<(String, String)>,
    /// Whether points are missing.
    pub(crate) partial: bool,
    /// The published figures.
    pub(crate) rows: &'a [Row],
    /// The claims.
    pub(crate) claims: Vec<Judged>,
    /// The figures, with the names of their files.
    pub(crate) figures: Vec<Named>,
    /// What comes behind them, with titles.
    pub(crate) rest: Vec<(&'static str, Vec<Block>)>,
}

impl Page<'_> {
    /// The report.
    pub(crate) fn report(self) -> Report {
        let Self { name, manual, .. } = self;
        let mut run = vec![
            Block::Text(format!(
                "Written by lanigon reproduce {name}. The same numbers for programs: {name}.json; as the terminal shows them: {name}.txt. \
                 What is measured and how: docs/{manual}.md."
            )),
            Block::Facts(self.facts),
        ];
        if self.partial {
            run.push(Block::Text("Interrupted: points are missing.".into()));
        }
        let pictures = self.figures.into_iter().map(|(file, figure)| {
            Block::Figure(Picture {
                caption: figure.title.clone(),
                figure,
                file,
            })
        });
        let section = |(title, blocks): (&str, _)| Section {
            title: title.into(),
            blocks,
        };
        let parts = [
            ("Run", run),
            ("Published values", vec![published(self.rows)]),
            ("Claims", vec![claims(self.claims)]),
            ("Figures", pictures.collect()),
        ];
        Report {
            title: format!("{}: published and reproduced", self.subject),
            sections: parts.into_iter().chain(self.rest).map(section).collect(),
        }
    }
}

/// Judged claims as a block.
pub(crate) fn claims(judged: impl IntoIterator<Item = Judged>) -> Block {
    let claim = |judged: Judged| Claim {
        id: judged.id.into(),
        text: judged.claim,
        holds: judged.holds,
        evidence: judged.evidence,
    };
    Block::Claims(judged.into_iter().map(claim).collect())
}

/// Writes judged claims as text, with the totals.
pub(crate) fn write_claims(text: &mut String, claims: &[Judged]) {
    for claim in claims {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<17} {:<6} {}\n{:24} {}",
            claim.id, claim.verdict, claim.claim, "", claim.evidence
        );
    }
    let _ = writeln!(text, "{}", Totals::of(claims));
}
