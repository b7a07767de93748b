//! Collective operations of a scenario: programs that execute one many times.

use defs::gm::collective::CHILD_LIMIT;
use host_lib::gm::collective::{
    Barrier, MOST_GOSSIP_MEMBERS, MOST_MEMBERS, Operation, Shape, most_children,
};

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::nanoseconds;
use super::table::{Item, Table};
use crate::programs::collective::{Broadcast, Layer, MOST_PER_NODE, On, Settings, Type, Work};

/// Most rounds of a program.
const MOST_ROUNDS: u64 = 1_000_000;
/// Rounds, unless the scenario says otherwise.
const DEFAULT_ROUNDS: u64 = 100;
/// Children of a node of a tree, unless the scenario says otherwise.
const DEFAULT_DEGREE: usize = 2;
/// Longest block of an all-to-all broadcast, in bytes.
const MOST_BLOCK_BYTES: u64 = 1 << 20;

/// The operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Barrier,
    Reduction,
    AllToAllBroadcast,
    Random,
}

/// The algorithms of all operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    PairwiseExchange,
    GatherBroadcast,
    Binomial,
    Tree,
    RecursiveDoubling,
    Ring,
    ConcurrentBroadcasting,
}

const ALGORITHMS: [(&str, Algorithm); 7] = [
    ("pairwise-exchange", Algorithm::PairwiseExchange),
    ("gather-broadcast", Algorithm::GatherBroadcast),
    ("binomial", Algorithm::Binomial),
    ("tree", Algorithm::Tree),
    ("recursive-doubling", Algorithm::RecursiveDoubling),
    ("ring", Algorithm::Ring),
    ("concurrent-broadcasting", Algorithm::ConcurrentBroadcasting),
];

const OPERATIONS: [(&str, Operation); 5] = [
    ("and", Operation::And),
    ("or", Operation::Or),
    ("sum", Operation::Sum),
    ("min", Operation::Min),
    ("max", Operation::Max),
];

const TYPES: [(&str, Type); 2] = [("integer", Type::Integer), ("float", Type::Float)];

const PLACES: [(&str, On); 2] = [("host", On::Host), ("nic", On::Nic)];

/// Reads the nodes and settings of a collective operation.
pub(super) fn read(
    name: Name,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<(Vec<usize>, Settings), ScenarioError> {
    let members = nodes.resolve(&table.need("nodes")?)?;
    let on = match table.get("on") {
        Some(item) => item.choice("place", &PLACES)?,
        None => On::Host,
    };
    let per_node = table.integer("per_node", 1..=MOST_PER_NODE as u64, 1)?;
    let count = members.len() * per_node;
    if count > MOST_MEMBERS {
        let reason = format!("{count} members are more than {MOST_MEMBERS}");
        return Err(table.place.refuse(reason));
    }
    let algorithm = match name {
        Name::Random => None,
        _ => table.get("algorithm"),
    };
    let work = match name {
        Name::Barrier => Work::Barrier(barrier(algorithm, table, nodes, (&members, per_node))?),
        Name::Reduction => reduction(algorithm, table, nodes, &members, (on, per_node))?,
        Name::AllToAllBroadcast => all_to_all(algorithm, table, (on, count))?,
        Name::Random => {
            check_gossip(table, (on, count))?;
            Work::Random {
                bytes: table.need("bytes")?.integer(1..=MOST_BLOCK_BYTES)?,
            }
        }
    };
    let compute_ns = time(table, "compute_us")?.into_iter().collect();
    let settings = Settings {
        work,
        on,
        layer: Layer::Gm,
        per_node,
        rounds: table.integer("rounds", 1..=MOST_ROUNDS, DEFAULT_ROUNDS)?,
        compute_ns,
        variation_percent: table.integer("variation", 0..=100, 0)?,
        skew_ns: time(table, "skew_us")?,
        last_late_ns: time(table, "last_late_us")?.unwrap_or_default(),
    };
    Ok((members, settings))
}

fn time(table: &mut Table<'_>, key: &'static str) -> Result<Option<u64>, ScenarioError> {
    table.get(key).map(|item| nanoseconds(&item)).transpose()
}

fn chosen(item: Option<&Item<'_>>, usual: Algorithm) -> Result<Algorithm, ScenarioError> {
    item.map_or(Ok(usual), |item| item.choice("algorithm", &ALGORITHMS))
}

/// Refuses an algorithm of another operation.
fn refuse<T>(item: Option<Item<'_>>, table: &Table<'_>, own: &str) -> Result<T, ScenarioError> {
    let place = item.map_or_else(|| table.place.clone(), |item| item.place);
    Err(place.refuse(format!("this program has the algorithms {own}")))
}

fn barrier(
    item: Option<Item<'_>>,
    table: &mut Table<'_>,
    nodes: &Nodes,
    (members, per_node): (&[usize], usize),
) -> Result<Barrier, ScenarioError> {
    match chosen(item.as_ref(), Algorithm::PairwiseExchange)? {
        Algorithm::PairwiseExchange => Ok(Barrier::PairwiseExchange),
        Algorithm::GatherBroadcast => Ok(Barrier::GatherBroadcast {
            root: per_node * root(table, nodes, members)?,
            degree: degree(table)?,
        }),
        _ => refuse(item, table, "pairwise-exchange and gather-broadcast"),
    }
}

fn reduction(
    item: Option<Item<'_>>,
    table: &mut Table<'_>,
    nodes: &Nodes,
    members: &[usize],
    (on, per_node): (On, usize),
) -> Result<Work, ScenarioError> {
    let shape = match chosen(item.as_ref(), Algorithm::Binomial)? {
        Algorithm::Binomial => {
            check_binomial(table, on, members.len() * per_node)?;
            Shape::Binomial
        }
        Algorithm::Tree => Shape::Fixed {
            degree: reduction_degree(table, on)?,
        },
        _ => return refuse(item, table, "binomial and tree"),
    };
    let of = match table.get("type") {
        Some(item) => item.choice("type", &TYPES)?,
        None => Type::Integer,
    };
    let item = table.get("operation");
    let operation = match &item {
        Some(item) => item.choice("operation", &OPERATIONS)?,
        None => Operation::Sum,
    };
    if let (Some(item), Type::Float, Operation::And | Operation::Or) = (item, of, operation) {
        return Err(item
            .place
            .refuse("and, or are operations on type = \"integer\""));
    }
    let all = table.flag("all", false)?;
    if all && on == On::Host {
        let reason = "only boards give the result to all nodes: on = \"nic\"";
        return Err(table.place.refuse(reason));
    }
    Ok(Work::Reduction {
        operation,
        of,
        shape,
        // A result for all has no root of the user's choice: a key "root" is refused as unknown.
        root: if all {
            0
        } else {
            per_node * root(table, nodes, members)?
        },
        all,
    })
}

/// Refuses a binomial tree whose root has more children than a board knows.
fn check_binomial(table: &Table<'_>, on: On, members: usize) -> Result<(), ScenarioError> {
    let children = most_children(Shape::Binomial, members);
    if on == On::Host || children <= CHILD_LIMIT as usize {
        return Ok(());
    }
    let reason = format!(
        "the root of a binomial tree of {members} members has {children} children, boards know at most {CHILD_LIMIT}: algorithm = \"tree\""
    );
    Err(table.place.refuse(reason))
}

/// Refuses a group that is too large for all-to-all broadcasts of boards.
fn check_gossip(table: &Table<'_>, (on, members): (On, usize)) -> Result<(), ScenarioError> {
    if on == On::Host || members <= MOST_GOSSIP_MEMBERS {
        return Ok(());
    }
    let reason = format!(
        "{members} members are more than {MOST_GOSSIP_MEMBERS}, among which boards broadcast from all to all"
    );
    Err(table.place.refuse(reason))
}

/// Children of a node in the tree of a reduction.
fn reduction_degree(table: &mut Table<'_>, on: On) -> Result<usize, ScenarioError> {
    match on {
        On::Host => degree(table),
        On::Nic => table.integer("degree", 1..=u64::from(CHILD_LIMIT), DEFAULT_DEGREE),
    }
}

fn all_to_all(
    item: Option<Item<'_>>,
    table: &mut Table<'_>,
    (on, members): (On, usize),
) -> Result<Work, ScenarioError> {
    check_gossip(table, (on, members))?;
    let algorithm = match chosen(item.as_ref(), Algorithm::RecursiveDoubling)? {
        Algorithm::RecursiveDoubling => Some(Broadcast::RecursiveDoubling),
        Algorithm::Ring => Some(Broadcast::Ring),
        Algorithm::ConcurrentBroadcasting => Some(Broadcast::ConcurrentBroadcasting),
        _ => None,
    };
    let Some(algorithm) = algorithm.filter(|algorithm| algorithm.is_on(on)) else {
        let own = match on {
            On::Host => "recursive-doubling and ring",
            On::Nic => "recursive-doubling and concurrent-broadcasting on the NIC",
        };
        return refuse(item, table, own);
    };
    let least = match on {
        On::Host => 0,
        On::Nic => 1,
    };
    Ok(Work::AllToAll {
        algorithm,
        bytes: table.need("bytes")?.integer(least..=MOST_BLOCK_BYTES)?,
    })
}

fn degree(table: &mut Table<'_>) -> Result<usize, ScenarioError> {
    table.integer("degree", 1..=255, DEFAULT_DEGREE)
}

/// The rank of the root: a node of the program, or its first one.
fn root(table: &mut Table<'_>, nodes: &Nodes, members: &[usize]) -> Result<usize, ScenarioError> {
    let Some(item) = table.get("root") else {
        return Ok(0);
    };
    let node = nodes.resolve_one(&item)?;
    let rank = members.iter().position(|member| *member == node);
    rank.ok_or_else(|| {
        let name = &nodes.all[node].name;
        item.place
            .refuse(format!("node {name} is none of the program's nodes"))
    })
}
