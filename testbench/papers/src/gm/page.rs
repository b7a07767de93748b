//! The report of GM's curves and published values.

use lanigon_report::{Block, Cell, Picture, Report, Section, Table};

use super::report::{Row, rows};
use super::{Measured, Results, plot};
use crate::conditions::{Conditions, INTERVALS};

/// The report of a run.
#[must_use]
pub fn report(results: &Results, conditions: &Conditions) -> Report {
    let mut profiles: Vec<_> = results
        .profiles
        .iter()
        .map(|of| (of.profile.as_str(), of.description.as_str()))
        .collect();
    profiles.dedup();
    let mut run = vec![
        Block::Text(
            "Written by lanigon reproduce gm. The same numbers for programs: gm.json; as the terminal shows them: gm.txt. \
             What is measured and how: docs/gm.md."
                .into(),
        ),
        Block::Facts(conditions.facts(profiles.into_iter())),
        Block::Text(INTERVALS.into()),
    ];
    if results.partial {
        run.push(Block::Text("Interrupted: profiles are missing.".into()));
    }
    let section = |title: &str, blocks| Section {
        title: title.into(),
        blocks,
    };
    let pictures = plot::figures(&results.profiles)
        .into_iter()
        .map(|(file, figure)| {
            Block::Figure(Picture {
                caption: figure.title.clone(),
                figure,
                file: file.into(),
            })
        });
    Report {
        title: "GM: published and reproduced".into(),
        sections: vec![
            section("Run", run),
            section("Published values", vec![published(&results.profiles)]),
            section("Figures", pictures.collect()),
            section("Points", vec![points(&results.profiles)]),
        ],
    }
}

fn published(results: &[Measured]) -> Block {
    let row = |of: &Measured, row: Row| {
        let [low, high] = row.published;
        let published = match low == high {
            true => Cell::of(Some(low)),
            false => Cell::number(low, format!("{low} to {high}")),
        };
        let error = row.error.map(|error| 100.0 * error);
        vec![
            Cell::text(row.id),
            Cell::text(row.system),
            Cell::text(&of.profile),
            Cell::text(of.image),
            Cell::text(row.quantity),
            Cell::of(row.measured),
            published,
            Cell::text(row.unit),
            error.map_or_else(Cell::default, |error| {
                Cell::number(error, format!("{error:+.1} %"))
            }),
            Cell::text(row.role),
            Cell::text(row.basis),
        ]
    };
    let rows = results
        .iter()
        .flat_map(|of| rows(of).into_iter().map(move |one| row(of, one)));
    let columns = [
        "id",
        "system",
        "profile",
        "image",
        "what",
        "here",
        "published",
        "unit",
        "error",
        "role",
        "basis",
    ];
    Block::Table(Table {
        title: "Errors are distances from the published range".into(),
        columns: columns.map(String::from).into(),
        rows: rows.collect(),
    })
}

fn points(results: &[Measured]) -> Block {
    let rows = results.iter().flat_map(|of| {
        of.points.iter().map(|point| {
            let values = [point.latency_us, point.one_way, point.two_way];
            let values = values.into_iter().zip(point.intervals);
            let mut row = vec![
                Cell::text(&of.profile),
                Cell::text(of.image),
                Cell::of(Some(point.bytes.into())),
            ];
            for (value, interval) in values {
                row.extend([Cell::of(Some(value)), Cell::of(interval)]);
            }
            row
        })
    });
    let columns = [
        "profile",
        "image",
        "bytes",
        "latency, us",
        "±",
        "one-way, MB/s",
        "±",
        "two-way, MB/s",
        "±",
    ];
    Block::Table(Table {
        title: "Measured points".into(),
        columns: columns.map(String::from).into(),
        rows: rows.collect(),
    })
}
