//! The report: claims, published numbers and figures of a run.

use lanigon_experiments::page::{claims as judged_claims, section};
use lanigon_experiments::row;
use lanigon_report::{Block, Picture, Section};

use super::figures::Figure;
use super::measure::scheme::Scheme;
use super::results::{ProfileResults, Results};
use super::table::median_line;
use super::{Selection, explain, plot, rows};
use lanigon_experiments::document::Head;

/// File name of a figure under a profile, without an extension.
#[must_use]
pub fn figure_file(figure: &Figure, profile: &ProfileResults) -> String {
    format!("figure-{}-{}", figure.id, profile.profile.name)
}

/// The sections behind that of the run.
#[must_use]
pub fn sections(head: &Head, results: &Results, selection: &Selection) -> Vec<Section> {
    let mut sections = Vec::from_iter(missing(results));
    sections.extend(judged(head, results));
    for profile in &results.profiles {
        sections.push(numbers(results, profile, selection));
        sections.extend(figures(profile, selection));
        sections.extend(explanations(profile));
    }
    let points = |of: &ProfileResults| {
        let rows = rows::points(results, of, selection);
        let title = format!("Points under {}", of.profile.name);
        section(&title, vec![row::block("Measured points", &rows)])
    };
    sections.extend(results.profiles.iter().map(points));
    sections
}

/// Schemes without an image, if there are any.
fn missing(results: &Results) -> Option<Section> {
    let missing = results.lacks.missing.iter().map(|scheme| {
        let (title, image) = (scheme.title(), scheme.image());
        Block::Text(format!("{title}: not measured: no image {image}."))
    });
    let blocks: Vec<_> = missing.collect();
    (!blocks.is_empty()).then(|| section("Missing", blocks))
}

/// The judged claims, if any is selected.
fn judged(head: &Head, results: &Results) -> Option<Section> {
    let claims = &head.claims;
    let judged = results.judged().filter(|_| !claims.is_empty())?;
    let name = &judged.profile.name;
    let under = Block::Text(format!("Judged under the profile {name}."));
    Some(section("Claims", vec![under, judged_claims(claims)]))
}

/// The published numbers beside those of a profile.
fn numbers(results: &Results, profile: &ProfileResults, selection: &Selection) -> Section {
    let rows = rows::of_profile(results, profile, selection);
    let name = &profile.profile.name;
    let mut blocks = vec![Block::Text(format!(
        "{}.",
        profile.profile.description.trim_end_matches('.')
    ))];
    blocks.extend(
        rows::medians(&rows)
            .iter()
            .map(|median| Block::Text(format!("{}.", median_line(median)))),
    );
    let revised: Vec<_> = explain::revised_costs(&profile.profile).collect();
    if !revised.is_empty() && !rows.is_empty() {
        blocks.push(Block::Text(format!(
            "{}: {}.",
            explain::REVISED,
            revised.join("; ")
        )));
    }
    if !rows.is_empty() {
        blocks.push(row::block("Published numbers", &rows));
    }
    section(&format!("Profile {name}"), blocks)
}

fn figures(profile: &ProfileResults, selection: &Selection) -> Option<Section> {
    let pictures = selection.figures.iter().filter_map(|figure| {
        Some(Block::Figure(Picture {
            figure: plot::figure(figure, profile)?,
            caption: format!("Figure {}: {}", figure.id, figure.title),
            file: figure_file(figure, profile),
        }))
    });
    let blocks: Vec<_> = pictures.collect();
    (!blocks.is_empty()).then(|| Section {
        title: format!("Figures under {}", profile.profile.name),
        blocks,
    })
}

/// Bottlenecks, and the ledger of the short message.
fn explanations(profile: &ProfileResults) -> Option<Section> {
    let mut blocks = Vec::new();
    for (scheme, measured) in profile.schemes.iter() {
        if measured.usages.is_empty() {
            continue;
        }
        let usages = measured.usages.iter();
        let bottlenecks = usages.map(|usage| {
            let what = format!("{}, {}, large messages", scheme.title(), usage.flow.name());
            (what, usage.bottleneck_name().unwrap_or_default())
        });
        blocks.push(Block::Facts(bottlenecks.collect()));
        let ledger = measured.ledgers.values().next();
        if let Some(ledger) = ledger.filter(|_| *scheme == Scheme::Base) {
            let mut lines = String::new();
            // Writing to a string cannot fail.
            let _ = explain::ledger(&mut lines, *scheme, &ledger.ledger);
            blocks.push(Block::Lines(lines.trim_matches('\n').to_owned()));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        title: format!("Bottlenecks under {}", profile.profile.name),
        blocks,
    })
}
