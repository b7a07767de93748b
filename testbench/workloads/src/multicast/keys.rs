//! Multicasts of a scenario: programs in which one node sends messages along a tree to all others.

use defs::fm::map::MULTI_LIMIT;

use super::workload::MulticastProgram;
use super::{MOST_BYTES, SendMethod, Settings, TreeKind};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::programs::LONGEST_US;
use lanigon_worlds::scenario::reference::Values::{
    Choice, Flag, Integer, Node as NodeOf, Nodes as NodesOf, Number,
};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::Table;

/// Most repeats for each answering node.
const MOST_ROUNDS: u64 = 1_000_000;
/// Most nodes, and so the largest lambda.
const MOST_MEMBERS: u64 = 256;

/// Shapes of trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeShape {
    Optimal,
    Binomial,
    Star,
}

const SHAPES: [(&str, TreeShape); 3] = [
    ("optimal", TreeShape::Optimal),
    ("binomial", TreeShape::Binomial),
    ("star", TreeShape::Star),
];

/// Ways of sending a message to several nodes: whether the board copies it.
const SENDS: [(&str, bool); 2] = [("multi-send", true), ("unicast", false)];

keys! {
    NODES = need("nodes", NodesOf, "the members");
    ROOT = key("root", NodeOf, "the first one", "the root of the tree");
    TREE = key(
        "tree",
        Choice(const { &names(&SHAPES) }),
        "optimal",
        "optimal: of the postal model for `lambda`; star: the root sends to all",
    );
    LAMBDA = key(
        "lambda",
        Integer(1, MOST_MEMBERS),
        "2",
        "time until a receiver sends on, in times between two sends",
    );
    SEND = key(
        "send",
        Choice(const { &names(&SENDS) }),
        "multi-send with FM, else unicast",
        "who copies messages",
    );
    PIPELINED = key(
        "pipelined",
        Flag,
        "false",
        "over FM: nodes send on each packet",
    );
    BYTES = need("bytes", Integer(0, MOST_BYTES as u64), "length of a message");
    ROUNDS = key("rounds", Integer(1, MOST_ROUNDS), "100", "how often for each leaf that answers");
    PAUSE_US = key("pause_us", Number(0.0, LONGEST_US), "0", "pause before each message");
}

/// Reads the nodes, the root first, and the settings of a multicast.
pub(super) fn read(
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<MulticastProgram, ScenarioError> {
    let item = table.want(&NODES)?;
    let mut members = nodes.resolve(&item)?;
    let count = members.len();
    if !(2..=MOST_MEMBERS as usize).contains(&count) {
        let reason = format!("a multicast has 2 to {MOST_MEMBERS} nodes, not {count}");
        return Err(item.place.refuse(reason));
    }
    if let Some(item) = table.find(&ROOT) {
        let root = nodes.resolve_one(&item)?;
        let Some(place) = members.iter().position(|member| *member == root) else {
            let name = &nodes.all[root].name;
            let reason = format!("node {name} is none of the program's nodes");
            return Err(item.place.refuse(reason));
        };
        members.rotate_left(place);
    }
    let shape = table.choose(&TREE, "tree", &SHAPES)?;
    let shape = shape.unwrap_or(TreeShape::Optimal);
    let tree = match shape {
        TreeShape::Binomial => TreeKind::Binomial,
        TreeShape::Star => TreeKind::Optimal {
            lambda: count as u32,
        },
        TreeShape::Optimal => TreeKind::Optimal {
            lambda: table.whole(&LAMBDA)?,
        },
    };
    let way = read_method(table, nodes.all[members[0]].protocol == Some(Protocol::Fm))?;
    let settings = Settings {
        tree,
        way,
        bytes: table.whole(&BYTES)?,
        rounds: table.whole(&ROUNDS)?,
        pause_ns: table.find_time(&PAUSE_US)?.unwrap_or_default(),
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
    Ok(MulticastProgram {
        nodes: members,
        settings,
    })
}

/// Reads the method by which messages are sent on. Only boards with FM copy packets, and only its packets can be sent on before the message
/// is complete.
fn read_method(table: &mut Table<'_>, over_fm: bool) -> Result<SendMethod, ScenarioError> {
    let send = table.find(&SEND);
    let multi_send = match &send {
        Some(item) => item.choice("send", &SENDS)?,
        None => over_fm,
    };
    let way = SendMethod {
        multi_send,
        pipelined: table.is_set(&PIPELINED)?,
    };
    let place = || send.map_or_else(|| table.place.clone(), |item| item.place);
    match way {
        _ if over_fm => Ok(way),
        SendMethod {
            multi_send: true, ..
        } => Err(place().refuse("multi-send needs protocol = \"fm\"")),
        SendMethod {
            pipelined: true, ..
        } => Err(table.place.refuse("pipelined needs protocol = \"fm\"")),
        _ => Ok(way),
    }
}
