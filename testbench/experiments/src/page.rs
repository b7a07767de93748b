//! The report of an experiment: the parts that all of them have.

use std::fmt::Write;

use lanigon_report::{Block, Claim, Picture, Section};

use crate::document::Head;
use crate::drawing::Named;
use crate::paper::Paper;
use crate::row;
use crate::verdict::{Judged, Totals};

/// What error bars and the columns "±" are.
const INTERVALS: &str = "Error bars and the columns ± are half of the 95 % confidence interval of a mean (batch means). \
     Runs are deterministic: the same images, profiles and sizes give the same numbers.";

/// A section.
#[must_use]
pub fn section(title: &str, blocks: Vec<Block>) -> Section {
    Section {
        title: title.into(),
        blocks,
    }
}

/// The conditions of the run.
pub(crate) fn run(paper: &Paper, head: &Head) -> Section {
    let (name, manual) = (paper.name, paper.manual);
    let mut blocks = vec![
        Block::Text(format!(
            "Written by lanigon reproduce {name}. The same numbers for programs: {name}.json, {name}.csv; as the terminal shows them: {name}.txt. \
             What is measured and how: docs/{manual}.md."
        )),
        Block::Facts(head.conditions.facts()),
        Block::Text(INTERVALS.into()),
    ];
    if head.partial {
        blocks.push(Block::Text("Interrupted: points are missing.".into()));
    }
    section("Run", blocks)
}

/// Published values, claims and figures.
pub(crate) fn sections(head: &Head, figures: Vec<Named>) -> Vec<Section> {
    let title = "x: how many times one is better than another; errors are distances from the published value or range";
    let mut sections = vec![section(
        "Published values",
        vec![row::block(title, &head.rows)],
    )];
    if !head.claims.is_empty() {
        sections.push(section("Claims", vec![claims(&head.claims)]));
    }
    let pictures = figures.into_iter().map(|(file, figure)| {
        Block::Figure(Picture {
            caption: figure.title.clone(),
            figure,
            file,
        })
    });
    sections.push(section("Figures", pictures.collect()));
    sections
}

/// Judged claims as a block.
#[must_use]
pub fn claims(judged: &[Judged]) -> Block {
    let claim = |judged: &Judged| Claim {
        id: judged.id.into(),
        text: judged.claim.clone(),
        holds: judged.holds,
        evidence: judged.evidence.clone(),
    };
    Block::Claims(judged.iter().map(claim).collect())
}

/// Writes judged claims as text, with the totals.
pub fn write_claims(text: &mut String, claims: &[Judged]) {
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
