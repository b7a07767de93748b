//! All points in the report.

use std::collections::BTreeMap;

use lanigon_experiments::interval::Estimate;
use lanigon_report::{Block, Cell};

use super::key::Key;

/// All points.
pub(super) fn points(points: &BTreeMap<Key, Estimate>) -> Block {
    let row = |(key, point): (&Key, &Estimate)| {
        vec![
            Cell::text(key.board),
            Cell::text(key.on.name()),
            Cell::of(Some(key.nodes.into())),
            Cell::text(format!("{:?}", key.what)),
            Cell::of(Some(point.value)),
            Cell::of(point.interval),
        ]
    };
    let columns = ["boards", "on", "nodes", "measurement", "us", "±"];
    Block::Table(lanigon_report::Table {
        title: "Measured points".into(),
        columns: columns.map(String::from).into(),
        rows: points.iter().map(row).collect(),
    })
}
