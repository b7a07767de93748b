//! The report: claims, published numbers and figures of a run.

use lanigon_report::{Block, Cell, Picture, Report, Section, Table};
use lanigon_worlds::boards;

use super::figures::Figure;
use super::results::{ProfileResults, Results};
use super::rows::{self, NOT_MEASURED, Row};
use super::table::median_line;
use super::{Selection, claims, explain, plot};
use crate::conditions::{Conditions, INTERVALS};
use crate::experiments::scheme::Scheme;
use crate::published;

/// File name of a figure under a profile, without an extension.
#[must_use]
pub fn figure_file(figure: &Figure, profile: &ProfileResults) -> String {
    format!("figure-{}-{}", figure.id, profile.profile.name)
}

/// The report of a run.
#[must_use]
pub fn report(results: &Results, selection: &Selection, conditions: &Conditions) -> Report {
    let mut sections = vec![run(results, conditions)];
    sections.extend(judged(results, selection));
    for profile in &results.profiles {
        sections.push(numbers(results, profile, selection));
        sections.extend(figures(profile, selection));
        sections.extend(explanations(profile));
    }
    sections.extend(results.profiles.iter().map(points));
    Report {
        title: format!(
            "EMP on the {}: published and reproduced",
            boards::DEFAULT.title
        ),
        sections,
    }
}

fn run(results: &Results, conditions: &Conditions) -> Section {
    let mut blocks = vec![Block::Text(
        "Written by lanigon reproduce emp. The same numbers for programs: emp.json, emp.csv; as the terminal shows them: emp.txt. \
         What the roles mean: docs/emp-results.md."
            .into(),
    )];
    for scheme in &results.missing {
        let (title, image) = (scheme.title(), scheme.image());
        blocks.push(Block::Text(format!(
            "{title}: not measured: no image {image}."
        )));
    }
    if results.partial {
        blocks.push(Block::Text("Interrupted: values are missing.".into()));
    }
    let profiles = results.profiles.iter();
    let profiles = profiles.map(|of| (of.profile.name.as_str(), of.profile.description.as_str()));
    blocks.push(Block::Facts(conditions.facts(profiles)));
    blocks.push(Block::Text(INTERVALS.into()));
    Section {
        title: "Run".into(),
        blocks,
    }
}

/// The judged claims, if any is selected.
fn judged(results: &Results, selection: &Selection) -> Option<Section> {
    let claims = claims::judge(results, selection);
    let profile = &claims.first()?.profile;
    let under = Block::Text(format!("Judged under the profile {profile}."));
    let claims = claims.iter().map(|claim| claim.judged.clone());
    Some(Section {
        title: "Claims".into(),
        blocks: vec![under, crate::page::claims(claims)],
    })
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
    let numbered: Vec<_> = rows.iter().filter(|row| row.id.is_some()).collect();
    if !revised.is_empty() && !numbered.is_empty() {
        blocks.push(Block::Text(format!(
            "{}: {}.",
            explain::REVISED,
            revised.join("; ")
        )));
    }
    if !numbered.is_empty() {
        let columns = [
            "id",
            "section",
            "scheme",
            "what",
            "bytes",
            "testbed",
            "here",
            "±",
            "published",
            "unit",
            "error",
            "role",
            "note",
        ];
        blocks.push(Block::Table(Table {
            title: "Published numbers".into(),
            columns: columns.map(String::from).into(),
            rows: numbered.into_iter().map(number_row).collect(),
        }));
    }
    Section {
        title: format!("Profile {name}"),
        blocks,
    }
}

fn number_row(row: &Row) -> Vec<Cell> {
    let number = row.id.and_then(published::by_id);
    // The experiment adds nothing to a quantity of the same name.
    let what = match row.experiment {
        "-" => row.metric.to_owned(),
        experiment if experiment == row.metric => row.metric.to_owned(),
        experiment => format!("{experiment} {}", row.metric),
    };
    let error = match (row.error_percent, row.error_points, row.verdict) {
        (Some(error), ..) => Cell::number(error, format!("{error:+.1} %")),
        (_, Some(error), _) => Cell::number(error, format!("{error:+.1} points")),
        (.., Some(verdict)) => Cell::text(verdict).news(row.holds),
        _ => Cell::default(),
    };
    let measured = (row.role == NOT_MEASURED).then_some(false);
    vec![
        Cell::text(row.id.unwrap_or_default()),
        Cell::text(number.map_or("", |number| number.section)),
        Cell::text(row.scheme),
        Cell::text(what),
        Cell::of(row.message_bytes.map(f64::from)),
        Cell::text(row.testbed),
        Cell::of(row.value),
        Cell::of(row.interval),
        Cell::of(row.published),
        Cell::text(row.unit),
        error,
        Cell::text(row.role).news(measured),
        Cell::text(&row.note),
    ]
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

/// All points, for readers who look for one.
fn points(profile: &ProfileResults) -> Section {
    let rows = profile.points.iter().map(|(key, value)| {
        let flow_control = if key.flow_control { "yes" } else { "no" };
        vec![
            Cell::text(key.experiment.name()),
            Cell::text(key.testbed.name()),
            Cell::text(key.scheme.title()),
            Cell::text(flow_control),
            Cell::of(Some(key.size.into())),
            Cell::of(Some(rows::round(value.value))),
            Cell::of(value.interval.map(rows::round)),
            Cell::text(key.experiment.unit()),
            Cell::of(Some(value.rounds as f64)),
        ]
    });
    let others = profile.others.iter().map(|((system, size), value)| {
        vec![
            Cell::text("latency"),
            Cell::default(),
            Cell::text(system.name()),
            Cell::text("no"),
            Cell::of(Some((*size).into())),
            Cell::of(Some(rows::round(value.value))),
            Cell::of(value.interval.map(rows::round)),
            Cell::text("us"),
            Cell::of(Some(value.rounds as f64)),
        ]
    });
    let columns = [
        "experiment",
        "testbed",
        "scheme",
        "flow control",
        "bytes",
        "value",
        "±",
        "unit",
        "rounds",
    ];
    let table = Table {
        title: "Measured points".into(),
        columns: columns.map(String::from).into(),
        rows: rows.chain(others).collect(),
    };
    Section {
        title: format!("Points under {}", profile.profile.name),
        blocks: vec![Block::Table(table)],
    }
}
