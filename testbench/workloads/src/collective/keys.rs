//! Collective operations of a scenario: programs that execute one many times.

use defs::gm::collective::CHILD_LIMIT;
use defs::gm::layout::Layout;
use defs::gm::vector::ELEMENT_LIMIT;
use host_lib::gm::collective::{Arithmetic, Barrier, Operation, Shape, most_children};

use super::skew::{SKEWS, Skew};
use super::workload::Collective;
use super::{
    Broadcast, CollectiveWork, ExecutedOn, Layer, MOST_PER_NODE, Settings, Type, VectorWork,
};
use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::programs::LONGEST_US;
use lanigon_worlds::scenario::reference::Values::{
    Choice, Flag, Integer, Node as NodeOf, Nodes as NodesOf, Number,
};
use lanigon_worlds::scenario::reference::{Key, key, names, need};
use lanigon_worlds::scenario::table::{Item, Table};

/// Longest block of an all-to-all broadcast, in bytes.
const MOST_BLOCK_BYTES: u64 = 1 << 20;

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

const ARITHMETICS: [(&str, Arithmetic); 2] = [
    ("nic", Arithmetic::Nic),
    ("fast-trap", Arithmetic::FastTrap),
];

const PLACES: [(&str, ExecutedOn); 2] = [("host", ExecutedOn::Host), ("nic", ExecutedOn::Nic)];

keys! {
    NODES = need("nodes", NodesOf, "the members, by rank");
    ALGORITHM = key(
        "algorithm",
        Choice(const { &names(&ALGORITHMS) }),
        "the first",
        "barrier: the first two; reduction: the next two; all-to-all-broadcast: recursive-doubling, on hosts ring, on NICs the last",
    );
    ON = key("on", Choice(const { &names(&PLACES) }), "host", "where it is executed");
    PER_NODE = key(
        "per_node",
        Integer(1, MOST_PER_NODE as u64),
        "1",
        "members of each node, with successive ranks",
    );
    ROUNDS = key("rounds", Integer(1, 1_000_000), "100", "how often");
    BYTES = need(
        "bytes",
        Integer(0, MOST_BLOCK_BYTES),
        "length of a block; random-collectives: the longest",
    );
    DEGREE = key(
        "degree",
        Integer(1, 255),
        "2",
        "children of a node; reduction on the NIC: up to 9",
    );
    ROOT = key("root", NodeOf, "the first one", "the root of the tree");
    OPERATION = key(
        "operation",
        Choice(const { &names(&OPERATIONS) }),
        "sum",
        "reduction: what is computed",
    );
    TYPE = key(
        "type",
        Choice(const { &names(&TYPES) }),
        "integer",
        "reduction of 64 bits; and, or: integers",
    );
    ELEMENTS = key(
        "elements",
        Integer(1, ELEMENT_LIMIT as u64),
        "none",
        "reduction: vectors of so many elements (docs/fast-trap.md)",
    );
    ARITHMETIC = key(
        "arithmetic",
        Choice(const { &names(&ARITHMETICS) }),
        "nic",
        "of vectors on the NIC: where it is done",
    );
    ALL = key(
        "all",
        Flag,
        "false",
        "reduction on the NIC: all nodes get the result",
    );
    COMPUTE_US = key("compute_us", Number(0.0, LONGEST_US), "0", "computation before each round");
    VARIATION = key(
        "variation",
        Integer(0, 100),
        "0",
        "their random variation, in percent",
    );
    SKEW_US = key(
        "skew_us",
        Number(0.0, LONGEST_US),
        "none",
        "a barrier and a delay up to this before each round",
    );
    SKEW = key(
        "skew",
        Choice(const { &names(&SKEWS) }),
        "uniform",
        "model of these delays",
    );
    LAST_LATE_US = key(
        "last_late_us",
        Number(0.0, LONGEST_US),
        "0",
        "the last of `nodes` comes so much later",
    );
}

/// Reads the nodes and settings of a collective operation.
pub(super) fn read(
    name: &'static str,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<Collective, ScenarioError> {
    let members = nodes.resolve(&table.want(&NODES)?)?;
    let on = table.choose(&ON, "place", &PLACES)?;
    let on = on.unwrap_or(ExecutedOn::Host);
    let per_node = table.whole(&PER_NODE)?;
    let count = members.len() * per_node;
    let layouts = members.iter().map(|node| nodes.all[*node].image.layout());
    let limits = layouts.min_by_key(|layout| layout.nodes());
    let limits = limits.unwrap_or(&Layout::USUAL);
    let most = 4 * limits.nodes() as usize;
    if count > most {
        let reason = format!("{count} members are more than {most}");
        return Err(table.place.refuse(reason));
    }
    let algorithm = match name {
        "random-collectives" => None,
        _ => table.find(&ALGORITHM),
    };
    let work = match name {
        "barrier" => {
            CollectiveWork::Barrier(barrier(algorithm, table, nodes, (&members, per_node))?)
        }
        "reduction" => reduction(algorithm, table, nodes, &members, (on, per_node))?,
        "all-to-all-broadcast" => all_to_all(algorithm, table, (on, count, limits))?,
        _ => {
            check_gossip(table, (on, count, limits))?;
            CollectiveWork::Random {
                bytes: table.want(&BYTES)?.integer(1..=MOST_BLOCK_BYTES)?,
            }
        }
    };
    let compute_ns = table.find_time(&COMPUTE_US)?.into_iter().collect();
    let (skew_ns, skew) = read_skew(table, &SKEW_US, &SKEW)?;
    let settings = Settings {
        work,
        on,
        layer: Layer::Gm,
        per_node,
        rounds: table.whole(&ROUNDS)?,
        compute_ns,
        variation_percent: table.whole(&VARIATION)?,
        skew_ns,
        skew,
        last_late_ns: table.find_time(&LAST_LATE_US)?.unwrap_or_default(),
    };
    Ok(Collective {
        name,
        nodes: members,
        settings,
    })
}

/// Reads the longest delay before each round and the model of these delays, which needs the first.
pub(crate) fn read_skew(
    table: &mut Table<'_>,
    longest: &'static Key,
    model: &'static Key,
) -> Result<(Option<u64>, Skew), ScenarioError> {
    let skew_ns = table.find_time(longest)?;
    let item = table.find(model);
    if let (None, Some(item)) = (skew_ns, &item) {
        return Err(item.place.refuse("without skew_us there are no delays"));
    }
    let skew = item.map(|item| item.choice("skew", &SKEWS)).transpose()?;
    Ok((skew_ns, skew.unwrap_or_default()))
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
    (on, per_node): (ExecutedOn, usize),
) -> Result<CollectiveWork, ScenarioError> {
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
    let of = table.choose(&TYPE, "type", &TYPES)?;
    let of = of.unwrap_or(Type::Integer);
    let item = table.find(&OPERATION);
    let operation = match &item {
        Some(item) => item.choice("operation", &OPERATIONS)?,
        None => Operation::Sum,
    };
    if let (Some(item), Type::Float, Operation::And | Operation::Or) = (item, of, operation) {
        return Err(item
            .place
            .refuse("and, or are operations on type = \"integer\""));
    }
    let all = table.is_set(&ALL)?;
    if all && on == ExecutedOn::Host {
        let reason = "only boards give the result to all nodes: on = \"nic\"";
        return Err(table.place.refuse(reason));
    }
    Ok(CollectiveWork::Reduction {
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
        vector: vector(table, on)?,
    })
}

/// Vectors, if the values are some.
fn vector(table: &mut Table<'_>, on: ExecutedOn) -> Result<Option<VectorWork>, ScenarioError> {
    let elements = table.find(&ELEMENTS);
    let elements = elements.map(|item| item.integer(1..=u64::from(ELEMENT_LIMIT)));
    let elements = elements.transpose()?;
    let item = table.find(&ARITHMETIC);
    let arithmetic = item
        .as_ref()
        .map(|item| item.choice("arithmetic", &ARITHMETICS));
    let arithmetic = arithmetic.transpose()?;
    match (elements, arithmetic, item) {
        (None, None, _) => Ok(None),
        (_, Some(_), Some(item)) if on == ExecutedOn::Host => {
            Err(item.place.refuse("without on = \"nic\" the hosts compute"))
        }
        (elements, arithmetic, _) => Ok(Some(VectorWork {
            elements: elements.unwrap_or(1),
            arithmetic: arithmetic.unwrap_or_default(),
        })),
    }
}

/// Refuses a binomial tree whose root has more children than a board knows.
fn check_binomial(table: &Table<'_>, on: ExecutedOn, members: usize) -> Result<(), ScenarioError> {
    let children = most_children(Shape::Binomial, members);
    if on == ExecutedOn::Host || children <= CHILD_LIMIT as usize {
        return Ok(());
    }
    let reason = format!(
        "the root of a binomial tree of {members} members has {children} children, boards know at most {CHILD_LIMIT}: algorithm = \"tree\""
    );
    Err(table.place.refuse(reason))
}

/// Refuses a group that is too large for all-to-all broadcasts of boards.
fn check_gossip(
    table: &Table<'_>,
    (on, members, limits): (ExecutedOn, usize, &Layout),
) -> Result<(), ScenarioError> {
    let most = limits.members();
    if on == ExecutedOn::Host || members <= most as usize {
        return Ok(());
    }
    let reason = format!(
        "{members} members are more than {most}, among which boards broadcast from all to all"
    );
    Err(table.place.refuse(reason))
}

/// Children of a node in the tree of a reduction.
fn reduction_degree(table: &mut Table<'_>, on: ExecutedOn) -> Result<usize, ScenarioError> {
    match on {
        ExecutedOn::Host => degree(table),
        ExecutedOn::Nic => match table.find(&DEGREE) {
            Some(item) => item.integer(1..=u64::from(CHILD_LIMIT)),
            None => degree(table),
        },
    }
}

fn all_to_all(
    item: Option<Item<'_>>,
    table: &mut Table<'_>,
    (on, members, limits): (ExecutedOn, usize, &Layout),
) -> Result<CollectiveWork, ScenarioError> {
    check_gossip(table, (on, members, limits))?;
    let algorithm = match chosen(item.as_ref(), Algorithm::RecursiveDoubling)? {
        Algorithm::RecursiveDoubling => Some(Broadcast::RecursiveDoubling),
        Algorithm::Ring => Some(Broadcast::Ring),
        Algorithm::ConcurrentBroadcasting => Some(Broadcast::ConcurrentBroadcasting),
        _ => None,
    };
    let Some(algorithm) = algorithm.filter(|algorithm| algorithm.is_on(on)) else {
        let own = match on {
            ExecutedOn::Host => "recursive-doubling and ring",
            ExecutedOn::Nic => "recursive-doubling and concurrent-broadcasting on the NIC",
        };
        return refuse(item, table, own);
    };
    let least = match on {
        ExecutedOn::Host => 0,
        ExecutedOn::Nic => 1,
    };
    Ok(CollectiveWork::AllToAll {
        algorithm,
        bytes: table.want(&BYTES)?.integer(least..=MOST_BLOCK_BYTES)?,
    })
}

fn degree(table: &mut Table<'_>) -> Result<usize, ScenarioError> {
    table.whole(&DEGREE)
}

/// The rank of the root: a node of the program, or its first one.
fn root(table: &mut Table<'_>, nodes: &Nodes, members: &[usize]) -> Result<usize, ScenarioError> {
    let Some(item) = table.find(&ROOT) else {
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
