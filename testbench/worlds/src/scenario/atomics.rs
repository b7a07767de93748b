//! Atomic operations of a scenario: programs that execute them, alone or for a lock.

use host_lib::gm::atomic::Wait;
use host_lib::gm::collective::MOST_MEMBERS;

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::{Program, nanoseconds};
use super::table::Table;
use crate::programs::atomic::{MOST_WORDS, Settings, Which, Work};
use crate::programs::collective::On;

/// Most operations of all members, whose records are kept in memory.
const MOST_OPERATIONS: u64 = 10_000_000;
/// Operations of each member, unless the scenario says otherwise.
const DEFAULT_COUNT: u64 = 100;
/// Words of each home, unless the scenario says otherwise.
const DEFAULT_WORDS: u32 = 4;

/// The programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Atomics,
    Lock,
}

const OPERATIONS: [(&str, Which); 5] = [
    ("random", Which::Random),
    ("fetch-add", Which::FetchAdd),
    ("fetch-write", Which::FetchWrite),
    ("compare-swap", Which::CompareSwap),
    ("compare-swap-miss", Which::CompareSwapMiss),
];

const EXECUTORS: [(&str, On); 2] = [("host", On::Host), ("nic", On::Nic)];

const WAITS: [(&str, Wait); 3] = [
    ("poll", Wait::Poll),
    ("spin-block", Wait::SpinBlock),
    ("block", Wait::Block),
];

const REPLIES: [(&str, bool); 2] = [("event", false), ("memory", true)];

/// Who executes the operations, how servers wait, and how boards answer.
struct Execution {
    on: On,
    wait: Wait,
    direct: bool,
    mutex: bool,
}

impl Execution {
    fn read(table: &mut Table<'_>) -> Result<Self, ScenarioError> {
        let on = match table.get("on") {
            Some(item) => item.choice("place", &EXECUTORS)?,
            None => On::Nic,
        };
        let wait = match (on, table.get("wait")) {
            (On::Host, Some(item)) => item.choice("kind of wait", &WAITS)?,
            (On::Nic, Some(item)) => {
                let reason = "it is servers on hosts that wait for requests: on = \"host\"";
                return Err(item.place.refuse(reason));
            }
            (_, None) => Wait::Poll,
        };
        let direct = match table.get("reply") {
            Some(item) => item.choice("place of results", &REPLIES)?,
            None => false,
        };
        let mutex = table.flag("mutex", false)?;
        if on == On::Host && (direct || mutex) {
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

fn time(table: &mut Table<'_>, key: &'static str) -> Result<u64, ScenarioError> {
    match table.get(key) {
        Some(item) => nanoseconds(&item),
        None => Ok(0),
    }
}

/// What the members do, and with the words of which nodes.
fn work(
    name: Name,
    table: &mut Table<'_>,
    nodes: &Nodes,
    members: &[usize],
) -> Result<(Work, Vec<usize>), ScenarioError> {
    Ok(match name {
        Name::Atomics => {
            let homes = match table.get("homes") {
                Some(item) => nodes.resolve(&item)?,
                None => members.to_vec(),
            };
            let which = match table.get("operations") {
                Some(item) => item.choice("operation", &OPERATIONS)?,
                None => Which::Random,
            };
            let words = table.integer("words", 1..=u64::from(MOST_WORDS), DEFAULT_WORDS)?;
            (Work::Operations { which, words }, homes)
        }
        Name::Lock => {
            let home = match table.get("home") {
                Some(item) => nodes.resolve_one(&item)?,
                None => members[0],
            };
            let hold_ns = time(table, "hold_us")?;
            (Work::Lock { hold_ns }, vec![home])
        }
    })
}

/// Reads the nodes and settings of a program.
pub(super) fn read(
    name: Name,
    table: &mut Table<'_>,
    nodes: &Nodes,
) -> Result<Program, ScenarioError> {
    let members = nodes.resolve(&table.need("nodes")?)?;
    let Execution {
        on,
        wait,
        direct,
        mutex,
    } = Execution::read(table)?;
    let (work, homes) = work(name, table, nodes, &members)?;
    let count = table.integer("count", 1..=1_000_000, DEFAULT_COUNT)?;
    let warm_up = table.integer("warm_up", 0..=999_999, 0)?;
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
        counter: table.flag("counter", false)?,
        think_ns: time(table, "think_us")?,
        variation_percent: table.integer("variation", 0..=100, 0)?,
    };
    let others = homes.iter().filter(|home| !members.contains(home)).count();
    let (all, operations) = (members.len() + others, count * members.len() as u64);
    if all > MOST_MEMBERS {
        let reason = format!("{all} nodes are more than {MOST_MEMBERS}");
        return Err(table.place.refuse(reason));
    }
    if operations > MOST_OPERATIONS {
        let reason = format!("{operations} operations in all; {MOST_OPERATIONS} can be checked");
        return Err(table.place.refuse(reason));
    }
    Ok(Program::Atomic {
        nodes: members,
        homes,
        settings,
    })
}
