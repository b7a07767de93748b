//! Collective operations of a scenario: programs that execute one many times.

use host_lib::gm::collective::{AllToAll, Barrier, Operation, Shape};

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::nanoseconds;
use super::table::{Item, Table};
use crate::programs::collective::{Settings, Type, Work};

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
}

const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("pairwise-exchange", Algorithm::PairwiseExchange),
    ("gather-broadcast", Algorithm::GatherBroadcast),
    ("binomial", Algorithm::Binomial),
    ("tree", Algorithm::Tree),
    ("recursive-doubling", Algorithm::RecursiveDoubling),
    ("ring", Algorithm::Ring),
];

const OPERATIONS: [(&str, Operation); 5] = [
    ("and", Operation::And),
    ("or", Operation::Or),
    ("sum", Operation::Sum),
    ("min", Operation::Min),
    ("max", Operation::Max),
];

const TYPES: [(&str, Type); 2] = [("integer", Type::Integer), ("float", Type::Float)];

/// Where an operation is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Nic,
}

const PLACES: [(&str, Place); 2] = [("host", Place::Host), ("nic", Place::Nic)];

/// Reads the nodes and settings of a collective operation.
pub(super) fn read(
    name: Name,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<(Vec<usize>, Settings), ScenarioError> {
    let members = nodes.resolve(&table.need("nodes")?)?;
    if let Some(item) = table.get("on")
        && item.choice("place", &PLACES)? == Place::Nic
    {
        let reason = "collective operations on the NIC are not there yet: on = \"host\"";
        return Err(item.place.refuse(reason));
    }
    let algorithm = table.get("algorithm");
    let work = match name {
        Name::Barrier => Work::Barrier(barrier(algorithm, table, nodes, &members)?),
        Name::Reduction => reduction(algorithm, table, nodes, &members)?,
        Name::AllToAllBroadcast => all_to_all(algorithm, table)?,
    };
    let compute_ns = time(table, "compute_us")?.into_iter().collect();
    let settings = Settings {
        work,
        rounds: table.integer("rounds", 1..=MOST_ROUNDS, DEFAULT_ROUNDS)?,
        compute_ns,
        variation_percent: table.integer("variation", 0..=100, 0)?,
        skew_ns: time(table, "skew_us")?,
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
    members: &[usize],
) -> Result<Barrier, ScenarioError> {
    match chosen(item.as_ref(), Algorithm::PairwiseExchange)? {
        Algorithm::PairwiseExchange => Ok(Barrier::PairwiseExchange),
        Algorithm::GatherBroadcast => Ok(Barrier::GatherBroadcast {
            root: root(table, nodes, members)?,
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
) -> Result<Work, ScenarioError> {
    let shape = match chosen(item.as_ref(), Algorithm::Binomial)? {
        Algorithm::Binomial => Shape::Binomial,
        Algorithm::Tree => Shape::Fixed {
            degree: degree(table)?,
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
    Ok(Work::Reduction {
        operation,
        of,
        shape,
        root: root(table, nodes, members)?,
    })
}

fn all_to_all(item: Option<Item<'_>>, table: &mut Table<'_>) -> Result<Work, ScenarioError> {
    let algorithm = match chosen(item.as_ref(), Algorithm::RecursiveDoubling)? {
        Algorithm::RecursiveDoubling => AllToAll::RecursiveDoubling,
        Algorithm::Ring => AllToAll::Ring,
        _ => return refuse(item, table, "recursive-doubling and ring"),
    };
    Ok(Work::AllToAll {
        algorithm,
        bytes: table.need("bytes")?.integer(0..=MOST_BLOCK_BYTES)?,
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
