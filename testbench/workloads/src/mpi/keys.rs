//! Programs of message passing of a scenario.

use host_lib::mpi::Executor;

use super::workload::MessagePassing;
use super::{Grid, MpiSettings, MpiWork, ProblemClass, Solver, grid};
use crate::collective::{SKEWS, read_skew as read_skew_keys};
use lanigon_worlds::boards::Protocol;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::limits::{check_emp_length, shortest_frames};
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::programs::LONGEST_US;
use lanigon_worlds::scenario::reference::Values::{
    Choice, Flag, Integer, Lengths, Nodes as NodesOf, Number,
};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::{Item, Table};
use lanigon_worlds::scenario::{MOST_NODES, ScenarioError};

/// Most ranks of a program.
const MOST_RANKS: usize = MOST_NODES;
/// Longest message in bytes.
const MOST_BYTES: u64 = (1 << 24) - 8;
/// Longest message that can be sent at once.
const MOST_EAGER_BYTES: u64 = 64 << 10;

/// The programs, with the key that chooses.
const BENCHMARKS: [(&str, MpiWork); 13] = [
    ("latency", MpiWork::Latency),
    ("bandwidth", MpiWork::Bandwidth),
    ("both-ways", MpiWork::BothWays),
    ("broadcast", MpiWork::Broadcast),
    ("reduce", MpiWork::Reduce),
    ("reduce-latency", MpiWork::ReduceLatency),
    ("all-reduce", MpiWork::AllReduce),
    ("all-gather", MpiWork::AllGather),
    ("barrier", MpiWork::Barrier),
    ("integer-sort", MpiWork::IntegerSort(ProblemClass::S)),
    (
        "stencil",
        MpiWork::Stencil {
            points: 64,
            steps: 20,
        },
    ),
    ("jacobi", MpiWork::Solve(Solver::Jacobi, Grid::USUAL)),
    (
        "cg",
        MpiWork::Solve(Solver::ConjugateGradients, Grid::USUAL),
    ),
];

const CLASSES: [(&str, ProblemClass); 2] = [("S", ProblemClass::S), ("W", ProblemClass::W)];

const PLACES: [(&str, Executor); 2] = [("host", Executor::Host), ("nic", Executor::Nic)];

/// Operations that go on while programs compute: broadcasts, reductions, those that return at once.
const BYPASSES: [(&str, [bool; 3]); 5] = [
    ("none", [false, false, false]),
    ("broadcast", [true, false, false]),
    ("reduce", [false, true, false]),
    ("both", [true, true, false]),
    ("immediate", [false, false, true]),
];

keys! {
    NODES = need("nodes", NodesOf, "the nodes, by rank");
    BENCHMARK = need(
        "benchmark",
        Choice(const { &names(&BENCHMARKS) }),
        "latency, bandwidth, both-ways: two ranks",
    );
    BYTES = key(
        "bytes",
        Lengths(MOST_BYTES),
        "those of the OSU set",
        "lengths of messages, in turn",
    );
    ROUNDS = key("rounds", Integer(1, 1_000_000), "100", "measured rounds of each length");
    EAGER_BYTES = key(
        "eager_bytes",
        Integer(0, MOST_EAGER_BYTES),
        "16384",
        "longest message that is sent at once",
    );
    BARRIER = key("barrier", Choice(const { &names(&PLACES) }), "host", "executor of barriers");
    ON = key(
        "on",
        Choice(const { &names(&PLACES) }),
        "host",
        "executor of reductions, all-gathers",
    );
    CLASS = key("class", Choice(const { &names(&CLASSES) }), "S", "integer-sort: 2^16 or 2^20 keys");
    POINTS = key(
        "points",
        Integer(3, 4096),
        "64",
        "stencil, jacobi, cg: points in each direction",
    );
    STEPS = key("steps", Integer(1, 100_000), "20", "of these: steps at most");
    DIGITS = key(
        "digits",
        Integer(1, 9),
        "6",
        "jacobi, cg: digits of accuracy",
    );
    OVERLAP = key(
        "overlap",
        Flag,
        "false",
        "jacobi, cg: compute during reductions",
    );
    OPERATION_NS = key(
        "operation_ns",
        Integer(0, 1_000_000),
        "10",
        "processor time for each key or point",
    );
    SKEW_US = key(
        "skew_us",
        Number(0.0, LONGEST_US),
        "none",
        "broadcast, reduce: a barrier, then a delay up to this",
    );
    SKEW = key(
        "skew",
        Choice(const { &names(&SKEWS) }),
        "uniform",
        "model of these delays",
    );
    BYPASS = key(
        "bypass",
        Choice(const { &names(&BYPASSES) }),
        "none",
        "over GM: operations in handlers of signals",
    );
    EXIT_DELAY_US = key(
        "exit_delay_us",
        Number(0.0, LONGEST_US),
        "0",
        "bypass of reductions: wait for children",
    );
    CATCH_UP_US = key(
        "catch_up_us",
        Number(0.0, LONGEST_US),
        "500",
        "reduce with skew_us: computation after each one",
    );
    PIN_US = key(
        "pin_us",
        Number(0.0, LONGEST_US),
        "1",
        "over GM: time to pin a page",
    );
}

/// Reads the nodes and settings of a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<MessagePassing, ScenarioError> {
    let members = nodes.resolve(&table.want(&NODES)?)?;
    let item = table.want(&BENCHMARK)?;
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
        MpiWork::IntegerSort(class) => {
            if let Some(item) = table.find(&CLASS) {
                *class = item.choice("class", &CLASSES)?;
            }
        }
        MpiWork::Stencil { points, steps } => {
            *points = table.whole(&POINTS)?;
            *steps = table.whole(&STEPS)?;
            if *points < ranks {
                let reason = format!("{points} rows for {ranks} ranks: each needs one");
                return Err(table.place.refuse(reason));
            }
        }
        MpiWork::Solve(_, grid) => read_grid(table, grid, ranks)?,
        _ => {}
    }
    let mut settings = MpiSettings::new(work);
    if let Some(sizes) = read_sizes(table, &members, nodes, work)? {
        settings.sizes = sizes;
    }
    settings.rounds = table.whole(&ROUNDS)?;
    settings.eager_bytes = table.whole(&EAGER_BYTES)?;
    if let Some(item) = table.find(&BARRIER) {
        settings.barrier = read_place(&item, &members, nodes, "barriers: barrier")?;
    }
    let has_place = matches!(
        work,
        MpiWork::Reduce | MpiWork::AllReduce | MpiWork::AllGather | MpiWork::Solve(..)
    );
    if has_place && let Some(item) = table.find(&ON) {
        settings.on = read_place(&item, &members, nodes, "reductions: on")?;
    }
    settings.operation_ns = table.whole(&OPERATION_NS)?;
    if let Some(pin_page_ns) = table.find_time(&PIN_US)? {
        settings.pin_page_ns = pin_page_ns;
    }
    read_skew(table, &mut settings)?;
    read_bypass(table, &members, nodes, &mut settings)?;
    Ok(MessagePassing {
        nodes: members,
        settings,
    })
}

/// Reads the problem of a solver.
fn read_grid(table: &mut Table<'_>, grid: &mut Grid, ranks: usize) -> Result<(), ScenarioError> {
    grid.points = table.whole(&POINTS)?;
    grid.steps = table.whole(&STEPS)?;
    grid.digits = table.whole(&DIGITS)?;
    if let Some(item) = table.find(&OVERLAP) {
        grid.overlap = item.flag()?;
    }
    let (points, least) = (grid.points, grid::least_points(ranks));
    if points < least {
        let reason =
            format!("{points} points in each direction for {ranks} ranks: {least} at least");
        return Err(table.place.refuse(reason));
    }
    Ok(())
}

/// Reads where operations are executed; `what` names them and the key.
fn read_place(
    item: &Item<'_>,
    members: &[usize],
    nodes: &Nodes,
    what: &str,
) -> Result<Executor, ScenarioError> {
    let place = item.choice("place", &PLACES)?;
    let emp = |node: &usize| nodes.all[*node].protocol == Some(Protocol::Emp);
    if place == Executor::Nic && members.iter().any(emp) {
        let reason = format!("boards with EMP execute no {what} = \"host\"");
        return Err(item.place.refuse(reason));
    }
    Ok(place)
}

/// Reads the lengths of messages, if the program has some and they are given.
fn read_sizes(
    table: &mut Table<'_>,
    members: &[usize],
    nodes: &Nodes,
    work: MpiWork,
) -> Result<Option<Vec<usize>>, ScenarioError> {
    let Some(least) = work.least_bytes() else {
        return Ok(None);
    };
    let Some(item) = table.find(&BYTES) else {
        return Ok(None);
    };
    let emp = members.iter().copied();
    let emp: Vec<_> = emp
        .filter(|&node| nodes.all[node].protocol == Some(Protocol::Emp))
        .collect();
    let frame_bytes = shortest_frames(&emp, nodes);
    let sizes = item.list().into_iter().map(|item| {
        let size: usize = item.integer(least as u64..=MOST_BYTES)?;
        if !emp.is_empty() {
            check_emp_length(size as u64, frame_bytes, &item.place)?;
        }
        Ok(size)
    });
    let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
    let whole = |size: &&usize| size.is_multiple_of(work.element_bytes());
    if let Some(size) = sizes.iter().find(|size| !whole(size)) {
        let reason = format!("{size} bytes are no whole number of doubles");
        return Err(item.place.refuse(reason));
    }
    Ok(Some(sizes))
}

/// Reads the keys of random delays.
fn read_skew(table: &mut Table<'_>, settings: &mut MpiSettings) -> Result<(), ScenarioError> {
    if !matches!(settings.work, MpiWork::Broadcast | MpiWork::Reduce) {
        return Ok(());
    }
    (settings.skew_ns, settings.skew) = read_skew_keys(table, &SKEW_US, &SKEW)?;
    if settings.work == MpiWork::Reduce
        && let Some(catch_up_ns) = table.find_time(&CATCH_UP_US)?
    {
        settings.catch_up_ns = catch_up_ns;
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
    if let Some(item) = table.find(&BYPASS) {
        let bypass = &mut settings.bypass;
        [bypass.broadcast, bypass.reduce, bypass.immediate] = item.choice("bypass", &BYPASSES)?;
        let emp = |node: &&usize| nodes.all[**node].protocol == Some(Protocol::Emp);
        if settings.bypasses() && members.iter().find(emp).is_some() {
            let reason = "boards with EMP raise no signals: bypass = \"none\"";
            return Err(item.place.refuse(reason));
        }
    }
    if let Some(exit_delay_ns) = table.find_time(&EXIT_DELAY_US)? {
        settings.bypass.exit_delay_ns = exit_delay_ns;
    }
    Ok(())
}
