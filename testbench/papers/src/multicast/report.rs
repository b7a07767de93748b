//! The best trees and all points: for programs, as text, and in the report.

use std::collections::BTreeMap;

use lanigon_report::{Block, Cell};
use serde::Serialize;

use super::key::{Key, LONG, NODES, Point, Variant, WAYS};
use super::model::Model;
use super::results::Results;

/// The best tree for a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Best {
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

/// What is in the document beside rows, claims and points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Extra {
    /// The cost model.
    model: Option<Model>,
    /// The best trees.
    best: Vec<Best>,
}

impl Extra {
    pub(super) fn of(results: &Results) -> Self {
        Self {
            model: Model::of(results, Variant::Usual),
            best: best(results),
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

/// The best trees as text.
pub(super) fn text(results: &Results) -> String {
    let line = |best: Best| {
        let kind = match best.multi_send {
            true => "multi-sends",
            false => "ordinary sends",
        };
        let way = if best.pipelined {
            "pipelined"
        } else {
            "whole messages"
        };
        format!(
            "{} nodes, {} bytes, {kind}, {way}: lambda {}, {:.2} us\n",
            best.nodes, best.bytes, best.lambda, best.us
        )
    };
    let lines: String = best(results).into_iter().map(line).collect();
    format!("\n{lines}")
}

/// The best trees, and all points.
pub(super) fn blocks(results: &Results) -> Vec<(&'static str, Vec<Block>)> {
    vec![
        ("Best trees", vec![trees(&best(results))]),
        ("Points", vec![points(&results.points)]),
    ]
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

fn points(points: &BTreeMap<Key, Point>) -> Block {
    let row = |(key, point): (&Key, &Point)| {
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
