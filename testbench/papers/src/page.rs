//! The report of a reproduction: the parts that all of them have.

use lanigon_report::{Block, Picture, Report, Section};

use crate::collectives::claims::Judged;
use crate::collectives::plots::Named;
use crate::collectives::report::{claims, published};
use crate::collectives::rows::Row;

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
