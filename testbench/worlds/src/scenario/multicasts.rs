//! Multicasts of a scenario: programs in which one node sends messages along a tree to all others.

use defs::fm::map::MULTI_LIMIT;

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::nanoseconds;
use super::table::Table;
use crate::boards::Protocol;
use crate::programs::multicast::{MOST_BYTES, Settings, TreeKind, Way};

/// Most repeats for each answering node.
const MOST_ROUNDS: u64 = 1_000_000;
/// Repeats, unless the scenario says otherwise.
const DEFAULT_ROUNDS: u64 = 100;
/// Most nodes, and so the largest lambda.
const MOST_MEMBERS: u64 = 256;
/// Lambda, unless the scenario says otherwise (dissertation-051).
const DEFAULT_LAMBDA: u32 = 2;

/// Shapes of trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Optimal,
    Binomial,
    Star,
}

const SHAPES: [(&str, Shape); 3] = [
    ("optimal", Shape::Optimal),
    ("binomial", Shape::Binomial),
    ("star", Shape::Star),
];

/// Ways of sending a message to several nodes: whether the board copies it.
const SENDS: [(&str, bool); 2] = [("multi-send", true), ("unicast", false)];

/// Reads the nodes, the root first, and the settings of a multicast.
pub(super) fn read(
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<(Vec<usize>, Settings), ScenarioError> {
    let item = table.need("nodes")?;
    let mut members = nodes.resolve(&item)?;
    let count = members.len();
    if !(2..=MOST_MEMBERS as usize).contains(&count) {
        let reason = format!("a multicast has 2 to {MOST_MEMBERS} nodes, not {count}");
        return Err(item.place.refuse(reason));
    }
    if let Some(item) = table.get("root") {
        let root = nodes.resolve_one(&item)?;
        let Some(place) = members.iter().position(|member| *member == root) else {
            let name = &nodes.all[root].name;
            let reason = format!("node {name} is none of the program's nodes");
            return Err(item.place.refuse(reason));
        };
        members.rotate_left(place);
    }
    let shape = match table.get("tree") {
        Some(item) => item.choice("tree", &SHAPES)?,
        None => Shape::Optimal,
    };
    let tree = match shape {
        Shape::Binomial => TreeKind::Binomial,
        Shape::Star => TreeKind::Optimal {
            lambda: count as u32,
        },
        Shape::Optimal => TreeKind::Optimal {
            lambda: table.integer("lambda", 1..=MOST_MEMBERS, DEFAULT_LAMBDA)?,
        },
    };
    let way = way(table, nodes.all[members[0]].protocol == Some(Protocol::Fm))?;
    let settings = Settings {
        tree,
        way,
        bytes: table.need("bytes")?.integer(0..=u64::from(MOST_BYTES))?,
        rounds: table.integer("rounds", 1..=MOST_ROUNDS, DEFAULT_ROUNDS)?,
        pause_ns: match table.get("pause_us") {
            Some(item) => nanoseconds(&item)?,
            None => 0,
        },
    };
    let built = settings.tree.build(count);
    let built = built.map_err(|error| item.place.refuse(error.to_string()))?;
    let most = (0..count).map(|rank| built.children(rank).len()).max();
    let most = most.unwrap_or_default();
    if way.multi_send && most > MULTI_LIMIT as usize {
        let reason = format!(
            "a node of this tree has {most} children, and a multi-send at most {MULTI_LIMIT} destinations: a smaller lambda, or send = \"unicast\""
        );
        return Err(item.place.refuse(reason));
    }
    Ok((members, settings))
}

/// How messages are sent on. Only boards with FM copy packets, and only its packets can be sent on before the message is complete.
fn way(table: &mut Table<'_>, over_fm: bool) -> Result<Way, ScenarioError> {
    let send = table.get("send");
    let multi_send = match &send {
        Some(item) => item.choice("send", &SENDS)?,
        None => over_fm,
    };
    let way = Way {
        multi_send,
        pipelined: table.flag("pipelined", false)?,
    };
    let place = || send.map_or_else(|| table.place.clone(), |item| item.place);
    match way {
        _ if over_fm => Ok(way),
        Way {
            multi_send: true, ..
        } => Err(place().refuse("multi-send needs protocol = \"fm\"")),
        Way {
            pipelined: true, ..
        } => Err(table.place.refuse("pipelined needs protocol = \"fm\"")),
        _ => Ok(way),
    }
}
