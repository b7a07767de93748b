//! The results as text, as one document, and as a report.

use std::fmt::Write;

use lanigon_report::{Block, Cell, Report};
use serde::Serialize;

use super::claims::judge;
use super::key::{Key, LONG, NODES, Point, Variant, WAYS};
use super::model::Model;
use super::plan::Results;
use super::plots;
use super::rows::rows;
use crate::collectives::report::write_rows;
use crate::collectives::rows::Row;
use crate::conditions::Conditions;
use crate::page::{Page, write_claims};
use crate::verdict::{Judged, Totals};

/// The best tree for a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Best {
    /// Number of nodes.
    pub nodes: u16,
    /// Whether boards copy packets.
    pub multi_send: bool,
    /// Whether packets are sent on one by one.
    pub pipelined: bool,
    /// Bytes of the message.
    pub bytes: u32,
    /// The least lambda of the tree.
    pub lambda: u32,
    /// Time, in us.
    pub us: f64,
}

/// Everything, for `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// The published figures.
    pub rows: Vec<Row>,
    /// The claims.
    pub claims: Vec<Judged>,
    /// Numbers of their verdicts.
    pub verdicts: Totals,
    /// The cost model.
    pub model: Option<Model>,
    /// The best trees.
    pub best: Vec<Best>,
    /// All measured points.
    pub points: Vec<(Key, Point)>,
    /// Whether points are missing.
    pub partial: bool,
}

impl Document {
    /// The document of a run.
    #[must_use]
    pub fn new(results: &Results) -> Self {
        let points = results.points.iter();
        let claims = judge(results);
        Self {
            rows: rows(results),
            verdicts: Totals::of(&claims),
            claims,
            model: Model::of(results, Variant::Usual),
            best: best(results),
            points: points.map(|(key, point)| (*key, point.clone())).collect(),
            partial: results.partial,
        }
    }
}

/// The best trees of long messages.
fn best(results: &Results) -> Vec<Best> {
    let cases = NODES
        .into_iter()
        .flat_map(|nodes| WAYS.map(|way| (nodes, way)));
    let of = |(nodes, way)| {
        let (us, lambda) = results.best(nodes, way, LONG)?;
        Some(Best {
            nodes,
            multi_send: way.multi_send,
            pipelined: way.pipelined,
            bytes: LONG,
            lambda,
            us,
        })
    };
    cases.filter_map(of).collect()
}

/// The results as text.
#[must_use]
pub fn render(results: &Results) -> String {
    let document = Document::new(results);
    let mut text = String::new();
    write_rows(&mut text, &document.rows);
    text.push('\n');
    write_claims(&mut text, &document.claims);
    text.push('\n');
    for best in &document.best {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} nodes, {} bytes, {}, {}: lambda {}, {:.2} us",
            best.nodes,
            best.bytes,
            if best.multi_send {
                "multi-sends"
            } else {
                "ordinary sends"
            },
            if best.pipelined {
                "pipelined"
            } else {
                "whole messages"
            },
            best.lambda,
            best.us
        );
    }
    if results.partial {
        text.push_str("\nInterrupted: points are missing.\n");
    }
    text
}

/// The report of a run.
#[must_use]
pub fn report(results: &Results, conditions: &Conditions, profile: (&str, &str)) -> Report {
    let document = Document::new(results);
    Page {
        name: "multicast",
        subject: "Multicasts over FM".into(),
        manual: "fm",
        facts: conditions.facts(std::iter::once(profile)),
        partial: results.partial,
        rows: &document.rows,
        claims: document.claims,
        figures: plots::figures(results),
        rest: vec![
            ("Best trees", vec![trees(&document.best)]),
            ("Points", vec![points(&document.points)]),
        ],
    }
    .report()
}

fn trees(all: &[Best]) -> Block {
    let row = |best: &Best| {
        vec![
            Cell::of(Some(best.nodes.into())),
            Cell::of(Some(best.bytes.into())),
            Cell::text(if best.multi_send {
                "multi-send"
            } else {
                "sends"
            }),
            Cell::text(if best.pipelined {
                "pipelined"
            } else {
                "whole messages"
            }),
            Cell::of(Some(best.lambda.into())),
            Cell::of(Some(best.us)),
        ]
    };
    let columns = ["nodes", "bytes", "by", "sent on", "lambda", "us"];
    Block::Table(lanigon_report::Table {
        title: "Best trees".into(),
        columns: columns.map(String::from).into(),
        rows: all.iter().map(row).collect(),
    })
}

fn points(points: &[(Key, Point)]) -> Block {
    let row = |(key, point): &(Key, Point)| {
        vec![
            Cell::text(format!("{:?}", key.variant)),
            Cell::of(Some(key.nodes.into())),
            Cell::text(match key.lambda {
                Some(lambda) => format!("lambda {lambda}"),
                None => "binomial".into(),
            }),
            Cell::text(if key.multi_send {
                "multi-send"
            } else {
                "sends"
            }),
            Cell::text(if key.pipelined {
                "pipelined"
            } else {
                "whole messages"
            }),
            Cell::of(Some(key.bytes.into())),
            Cell::of(Some(point.call_us)),
            Cell::of(Some(point.answered_us)),
        ]
    };
    let columns = [
        "hosts",
        "nodes",
        "tree",
        "by",
        "sent on",
        "bytes",
        "call, us",
        "answered, us",
    ];
    Block::Table(lanigon_report::Table {
        title: "Measured points".into(),
        columns: columns.map(String::from).into(),
        rows: points.iter().map(row).collect(),
    })
}
