//! Programs of message passing of a scenario.

use host_lib::mpi::BarrierOn;

use super::error::ScenarioError;
use super::nodes::Nodes;
use super::programs::{Program, nanoseconds};
use super::table::Table;
use crate::boards::Protocol;
use crate::programs::mpi::{Class, MpiSettings, Work};

/// Most ranks of a program.
const MOST_RANKS: usize = 1024;
/// Measured rounds, unless the scenario says otherwise.
const DEFAULT_ROUNDS: u32 = 100;
/// Longest message in bytes.
const MOST_BYTES: u64 = (1 << 24) - 8;
/// Longest message that can be sent at once.
const MOST_EAGER_BYTES: u64 = 64 << 10;

/// The programs, with the key that chooses.
const BENCHMARKS: [(&str, Work); 10] = [
    ("latency", Work::Latency),
    ("bandwidth", Work::Bandwidth),
    ("both-ways", Work::BothWays),
    ("broadcast", Work::Broadcast),
    ("reduce", Work::Reduce),
    ("reduce-latency", Work::ReduceLatency),
    ("all-reduce", Work::AllReduce),
    ("barrier", Work::Barrier),
    ("integer-sort", Work::IntegerSort(Class::S)),
    (
        "stencil",
        Work::Stencil {
            points: 64,
            steps: 20,
        },
    ),
];

const CLASSES: [(&str, Class); 2] = [("S", Class::S), ("W", Class::W)];

const PLACES: [(&str, BarrierOn); 2] = [("host", BarrierOn::Host), ("nic", BarrierOn::Nic)];

/// What goes on while programs compute: broadcasts, reductions.
const BYPASSES: [(&str, (bool, bool)); 4] = [
    ("none", (false, false)),
    ("broadcast", (true, false)),
    ("reduce", (false, true)),
    ("both", (true, true)),
];

/// Reads the nodes and settings of a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<Program, ScenarioError> {
    let members = nodes.resolve(&table.need("nodes")?)?;
    let item = table.need("benchmark")?;
    let mut work = item.choice("benchmark", &BENCHMARKS)?;
    let ranks = members.len();
    if let Some(needed) = work.ranks().filter(|needed| *needed != ranks) {
        let reason = format!("{} has {needed} ranks, not {ranks}", work.name());
        return Err(item.place.refuse(reason));
    }
    if ranks > MOST_RANKS {
        let reason = format!("{ranks} ranks are more than {MOST_RANKS}");
        return Err(table.place.refuse(reason));
    }
    match &mut work {
        Work::IntegerSort(class) => {
            if let Some(item) = table.get("class") {
                *class = item.choice("class", &CLASSES)?;
            }
        }
        Work::Stencil { points, steps } => {
            *points = table.integer("points", 3..=4096, 64)?;
            *steps = table.integer("steps", 1..=100_000, 20)?;
            if *points < ranks {
                let reason = format!("{points} rows for {ranks} ranks: each needs one");
                return Err(table.place.refuse(reason));
            }
        }
        _ => {}
    }
    let mut settings = MpiSettings::new(work);
    if let Some(least) = work.least_bytes()
        && let Some(item) = table.get("bytes")
    {
        let sizes = item.list().into_iter();
        let sizes = sizes.map(|item| item.integer(least as u64..=MOST_BYTES));
        settings.sizes = sizes.collect::<Result<_, _>>()?;
        let whole = |size: &&usize| size.is_multiple_of(work.element_bytes());
        if let Some(size) = settings.sizes.iter().find(|size| !whole(size)) {
            let reason = format!("{size} bytes are no whole number of doubles");
            return Err(item.place.refuse(reason));
        }
    }
    settings.rounds = table.integer("rounds", 1..=1_000_000, DEFAULT_ROUNDS)?;
    let eager = settings.eager_bytes;
    settings.eager_bytes = table.integer("eager_bytes", 0..=MOST_EAGER_BYTES, eager)?;
    if let Some(item) = table.get("barrier") {
        settings.barrier = item.choice("place", &PLACES)?;
        let emp = |node: &&usize| nodes.all[**node].protocol == Some(Protocol::Emp);
        if settings.barrier == BarrierOn::Nic && members.iter().find(emp).is_some() {
            let reason = "boards with EMP execute no barriers: barrier = \"host\"";
            return Err(item.place.refuse(reason));
        }
    }
    if let Some(item) = table.get("operation_ns") {
        settings.operation_ns = item.integer(0..=1_000_000)?;
    }
    if let Some(item) = table.get("pin_us") {
        settings.pin_page_ns = nanoseconds(&item)?;
    }
    read_skew(table, &mut settings)?;
    read_bypass(table, &members, nodes, &mut settings)?;
    Ok(Program::Mpi {
        nodes: members,
        settings,
    })
}

/// Reads the keys of random delays.
fn read_skew(table: &mut Table<'_>, settings: &mut MpiSettings) -> Result<(), ScenarioError> {
    if !matches!(settings.work, Work::Broadcast | Work::Reduce) {
        return Ok(());
    }
    if let Some(item) = table.get("skew_us") {
        settings.skew_ns = Some(nanoseconds(&item)?);
    }
    if settings.work == Work::Reduce
        && let Some(item) = table.get("catch_up_us")
    {
        settings.catch_up_ns = nanoseconds(&item)?;
    }
    Ok(())
}

/// Reads which operations go on while programs compute.
fn read_bypass(
    table: &mut Table<'_>,
    members: &[usize],
    nodes: &Nodes,
    settings: &mut MpiSettings,
) -> Result<(), ScenarioError> {
    if let Some(item) = table.get("bypass") {
        (settings.bypass.broadcast, settings.bypass.reduce) = item.choice("bypass", &BYPASSES)?;
        let emp = |node: &&usize| nodes.all[**node].protocol == Some(Protocol::Emp);
        if settings.bypasses() && members.iter().find(emp).is_some() {
            let reason = "boards with EMP raise no signals: bypass = \"none\"";
            return Err(item.place.refuse(reason));
        }
    }
    if let Some(item) = table.get("exit_delay_us") {
        settings.bypass.exit_delay_ns = nanoseconds(&item)?;
    }
    Ok(())
}
