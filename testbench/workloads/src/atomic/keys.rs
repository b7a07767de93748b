//! Atomic operations of a scenario: programs that execute them, alone or for a lock.

use defs::gm::layout::LARGE_NODE_LIMIT;
use host_lib::gm::atomic::Wait;

use super::workload::Atomics;
use super::{AtomicWork, MOST_WORDS, OperationMix, Settings};
use crate::collective::ExecutedOn;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::programs::LONGEST_US;
use lanigon_worlds::scenario::reference::Values::{
    Choice, Flag, Integer, Node as NodeOf, Nodes as NodesOf, Number,
};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::Table;

/// Most operations of all members, whose records are kept in memory.
const MOST_OPERATIONS: u64 = 10_000_000;

const OPERATIONS: [(&str, OperationMix); 5] = [
    ("random", OperationMix::Random),
    ("fetch-add", OperationMix::FetchAdd),
    ("fetch-write", OperationMix::FetchWrite),
    ("compare-swap", OperationMix::CompareSwap),
    ("compare-swap-miss", OperationMix::CompareSwapMiss),
];

const EXECUTORS: [(&str, ExecutedOn); 2] = [("host", ExecutedOn::Host), ("nic", ExecutedOn::Nic)];

const WAITS: [(&str, Wait); 3] = [
    ("poll", Wait::Poll),
    ("spin-block", Wait::SpinBlock),
    ("block", Wait::Block),
];

const REPLIES: [(&str, bool); 2] = [("event", false), ("memory", true)];

keys! {
    NODES = need("nodes", NodesOf, "the members, by rank");
    HOMES = key("homes", NodesOf, "the members", "atomics: nodes whose words change");
    HOME = key("home", NodeOf, "the first member", "lock: the node with the word of the lock");
    WORDS = key("words", Integer(1, MOST_WORDS as u64), "4", "atomics: words of each home");
    WHICH = key(
        "operations",
        Choice(const { &names(&OPERATIONS) }),
        "random",
        "atomics: compare-swap expects the value seen last, compare-swap-miss one that never occurs",
    );
    ON = key("on", Choice(const { &names(&EXECUTORS) }), "nic", "who executes the operations");
    WAIT = key(
        "wait",
        Choice(const { &names(&WAITS) }),
        "poll",
        "on hosts: how a server waits for requests",
    );
    REPLY = key(
        "reply",
        Choice(const { &names(&REPLIES) }),
        "event",
        "on boards: where a result comes",
    );
    MUTEX = key(
        "mutex",
        Flag,
        "false",
        "on boards: kept apart from accesses of hosts",
    );
    COUNT = key(
        "count",
        Integer(1, 1_000_000),
        "100",
        "operations of each member, or uses of the lock",
    );
    WARM_UP = key(
        "warm_up",
        Integer(0, 999_999),
        "0",
        "of these, without times; fewer than `count`",
    );
    COUNTER = key(
        "counter",
        Flag,
        "false",
        "other homes than members count iterations of a loop",
    );
    HOLD_US = key("hold_us", Number(0.0, LONGEST_US), "0", "lock: how long it is held");
    THINK_US = key(
        "think_us",
        Number(0.0, LONGEST_US),
        "0",
        "pause after each operation or release",
    );
    VARIATION = key(
        "variation",
        Integer(0, 100),
        "0",
        "their random variation, in percent",
    );
}

/// Executor of the operations, with the waits of servers and the answers of boards.
struct Execution {
    on: ExecutedOn,
    wait: Wait,
    direct: bool,
    mutex: bool,
}

impl Execution {
    fn read(table: &mut Table<'_>) -> Result<Self, ScenarioError> {
        let on = table.choose(&ON, "place", &EXECUTORS)?;
        let on = on.unwrap_or(ExecutedOn::Nic);
        let wait = match (on, table.find(&WAIT)) {
            (ExecutedOn::Host, Some(item)) => item.choice("kind of wait", &WAITS)?,
            (ExecutedOn::Nic, Some(item)) => {
                let reason = "it is servers on hosts that wait for requests: on = \"host\"";
                return Err(item.place.refuse(reason));
            }
            (_, None) => Wait::Poll,
        };
        let direct = table.choose(&REPLY, "place of results", &REPLIES)?;
        let direct = direct.unwrap_or(false);
        let mutex = table.is_set(&MUTEX)?;
        if on == ExecutedOn::Host && (direct || mutex) {
            let reason = "reply and mutex are settings of boards: on = \"nic\"";
            return Err(table.place.refuse(reason));
        }
        Ok(Self {
            on,
            wait,
            direct,
            mutex,
        })
    }
}

/// Reads the work of the members, and the homes: the nodes whose words they use.
fn work(
    name: &'static str,
    table: &mut Table<'_>,
    nodes: &Nodes,
    members: &[usize],
) -> Result<(AtomicWork, Vec<usize>), ScenarioError> {
    Ok(match name {
        "atomics" => {
            let homes = match table.find(&HOMES) {
                Some(item) => nodes.resolve(&item)?,
                None => members.to_vec(),
            };
            let which = table.choose(&WHICH, "operation", &OPERATIONS)?;
            let which = which.unwrap_or(OperationMix::Random);
            let words = table.whole(&WORDS)?;
            (AtomicWork::Operations { which, words }, homes)
        }
        _ => {
            let home = match table.find(&HOME) {
                Some(item) => nodes.resolve_one(&item)?,
                None => members[0],
            };
            let hold_ns = table.find_time(&HOLD_US)?.unwrap_or_default();
            (AtomicWork::Lock { hold_ns }, vec![home])
        }
    })
}

/// Reads the nodes and settings of a program.
pub(super) fn read(
    name: &'static str,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<Atomics, ScenarioError> {
    let members = nodes.resolve(&table.want(&NODES)?)?;
    let Execution {
        on,
        wait,
        direct,
        mutex,
    } = Execution::read(table)?;
    let (work, homes) = work(name, table, nodes, &members)?;
    let count = table.whole(&COUNT)?;
    let warm_up = table.whole(&WARM_UP)?;
    if warm_up >= count {
        let reason =
            format!("{count} (count) times in all, of which {warm_up} (warm_up) do not count");
        return Err(table.place.refuse(reason));
    }
    let settings = Settings {
        work,
        on,
        wait,
        direct,
        mutex,
        count,
        warm_up,
        counter: table.is_set(&COUNTER)?,
        think_ns: table.find_time(&THINK_US)?.unwrap_or_default(),
        variation_percent: table.whole(&VARIATION)?,
    };
    let others = homes.iter().filter(|home| !members.contains(home)).count();
    let (all, operations) = (members.len() + others, count * members.len() as u64);
    if all > LARGE_NODE_LIMIT as usize {
        let reason = format!("{all} nodes are more than {LARGE_NODE_LIMIT}");
        return Err(table.place.refuse(reason));
    }
    if operations > MOST_OPERATIONS {
        let reason = format!("{operations} operations in all; {MOST_OPERATIONS} can be checked");
        return Err(table.place.refuse(reason));
    }
    Ok(Atomics {
        nodes: members,
        homes,
        settings,
    })
}
