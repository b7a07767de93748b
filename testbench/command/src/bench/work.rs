//! Fixed amounts of work, whose host instructions are counted.

use anyhow::{Context, bail};
use emulator::board::CpuId;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use lanigon_worlds::boards;
use lanigon_worlds::builder;
use lanigon_worlds::busy_nodes::{self, CodeMemory, Load};
use lanigon_worlds::nodes::START;
use lanigon_worlds::profile::built_in;
use lanigon_worlds::simulation::{Blueprint, RunOptions, Simulation};

/// A fixed amount of work.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Name of the work.
    pub name: &'static str,
    /// Description of the work.
    pub what: &'static str,
    task: BenchTask,
}

/// Simulation that a work runs.
#[derive(Debug, Clone, Copy)]
enum BenchTask {
    /// A part of a scenario.
    Scenario(&'static str, ScenarioPart),
    /// This many microseconds of a Tigon2 with this load, after one millisecond.
    Board(Load, u64),
}

/// The part of a scenario that is measured.
#[derive(Debug, Clone, Copy)]
enum ScenarioPart {
    /// This many microseconds, from a time after the start of the programs on.
    Span(u64),
    /// From the start of the programs to their end.
    Programs,
    /// From power-on to the start of the programs.
    StartUp,
}

/// A time at which programs without an end are at work, after their start.
const AT_WORK_US: u64 = 1_000;

const PING_PONG: &str = r#"
[network]
topology = "pair"
[[program]]
run = "ping-pong"
nodes = [0, 1]
messages = 4000000
bytes = 4
"#;

/// Messages of 64 KB one way, on boards that the first lines name.
macro_rules! stream {
    ($board:literal) => {
        concat!(
            $board,
            "[network]\ntopology = \"pair\"\n",
            "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 100000\nbytes = 65536\n"
        )
    };
}

macro_rules! all_to_all {
    ($nodes:literal) => {
        concat!(
            "[network]\ntopology = \"star\"\nnodes = ",
            $nodes,
            "\nswitch = { forwarding = \"store-and-forward\", latency_ns = 1000, buffer_bytes = 262144 }\n",
            "[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 1\nbytes = 64\n"
        )
    };
}

const GM_PING_PONG: &str = r#"
board = "lanai9.1-133"
[network]
topology = "pair"
[[program]]
run = "ping-pong"
nodes = [0, 1]
messages = 4000000
bytes = 8
"#;

const GM_ALL_TO_ALL_16: &str = r#"
board = "lanai9.1-133"
[network]
topology = "clos"
nodes = 16
ports = 8
[[program]]
run = "all-to-all"
nodes = "all"
messages = 1
bytes = 4096
"#;

const BARRIER_16: &str = r#"
board = "lanai9.1-133"
[network]
topology = "star"
nodes = 16
[[program]]
run = "barrier"
on = "nic"
nodes = "all"
algorithm = "pairwise-exchange"
rounds = 20
"#;

const BOOT_64: &str = r#"
board = "lanai9.1-133"
[network]
topology = "clos"
nodes = 64
ports = 16
[[program]]
run = "idle"
nodes = "all"
"#;

/// All works.
pub const ALL: [Work; 12] = [
    Work {
        name: "emp-ping-pong",
        what: "EMP, two nodes, 10 ms of messages of 4 bytes there and back",
        task: BenchTask::Scenario(PING_PONG, ScenarioPart::Span(10_000)),
    },
    Work {
        name: "emp-stream",
        what: "EMP, two nodes, 10 ms of messages of 64 KB one way",
        task: BenchTask::Scenario(stream!(""), ScenarioPart::Span(10_000)),
    },
    Work {
        name: "emp-all-to-all-16",
        what: "EMP, 16 nodes on a switch, a message of 64 bytes from each to each",
        task: BenchTask::Scenario(all_to_all!(16), ScenarioPart::Programs),
    },
    Work {
        name: "emp-all-to-all-64",
        what: "the same of 64 nodes",
        task: BenchTask::Scenario(all_to_all!(64), ScenarioPart::Programs),
    },
    Work {
        name: "gm-ping-pong",
        what: "GM on two boards with a LANai 9, 5 ms of messages of 8 bytes there and back",
        task: BenchTask::Scenario(GM_PING_PONG, ScenarioPart::Span(5_000)),
    },
    Work {
        name: "gm-stream",
        what: "the same, 5 ms of messages of 64 KB one way",
        task: BenchTask::Scenario(
            stream!("board = \"lanai9.1-133\"\n"),
            ScenarioPart::Span(5_000),
        ),
    },
    Work {
        name: "gm-all-to-all-16",
        what: "GM on 16 boards with a LANai 9, a message of 4 KB from each to each",
        task: BenchTask::Scenario(GM_ALL_TO_ALL_16, ScenarioPart::Programs),
    },
    Work {
        name: "gm-barrier-16",
        what: "20 barriers of 16 boards with a LANai 9",
        task: BenchTask::Scenario(BARRIER_16, ScenarioPart::Programs),
    },
    Work {
        name: "gm-start-64",
        what: "start-up of 64 boards with a LANai 9",
        task: BenchTask::Scenario(BOOT_64, ScenarioPart::StartUp),
    },
    Work {
        name: "polling-firmware",
        what: "a board with firmware that is idle and polls once in 5 us, 10 s",
        task: BenchTask::Board(Load::Polling, 10_000_000),
    },
    Work {
        name: "busy-one-cpu",
        what: "10 ms of one busy CPU of a board, the other halted",
        task: BenchTask::Board(Load::OneBusy(CodeMemory::Private), 10_000),
    },
    Work {
        name: "busy-two-cpus",
        what: "5 ms of two busy CPUs of a board",
        task: BenchTask::Board(Load::Busy(CodeMemory::Private), 5_000),
    },
];

/// The work of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Work> {
    ALL.iter().find(|work| work.name == name)
}

/// Amount of simulation that a work has carried out.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub struct WorkDone {
    /// Simulated time in us.
    pub simulated_us: f64,
    /// Clock cycles of CPUs in which they neither were halted nor repeated rounds of idle loops that were skipped.
    pub busy_cycles: f64,
    /// Hash of the trace.
    pub trace: u64,
}

impl Work {
    /// Carries it out. Everything that counts happens in `measured` or `measured_board`.
    ///
    /// # Errors
    /// If the world cannot be built, or the work does not end.
    pub fn run(&self) -> anyhow::Result<WorkDone> {
        match self.task {
            BenchTask::Scenario(text, part) => self.scenario(text, part),
            BenchTask::Board(load, us) => {
                let node = busy_nodes::node(&built_in(boards::DEFAULT.profile)?, load)?;
                let mut world = builder::alone(node);
                pass_time(&mut world, SimTime::from_us(AT_WORK_US));
                let before = Before::measure(&world);
                measured_board(&mut world, SimTime::from_us(AT_WORK_US + us));
                Ok(before.done(&world))
            }
        }
    }

    fn scenario(&self, text: &str, part: ScenarioPart) -> anyhow::Result<WorkDone> {
        let scenario = lanigon_workloads::parse(self.name, text)?;
        let mut simulation = Blueprint::new(&scenario)?.build()?;
        let from = match part {
            ScenarioPart::Span(_) => START.saturating_add(SimTime::from_us(AT_WORK_US)),
            ScenarioPart::Programs => START,
            ScenarioPart::StartUp => SimTime::ZERO,
        };
        pass_time(&mut simulation.world, from);
        let before = Before::measure(&simulation.world);
        let end = measured(&mut simulation, part);
        if !matches!(end, RunEnd::Completed | RunEnd::TimeLimit(_)) {
            bail!("{} ended with {end:?}", self.name);
        }
        Ok(before.done(&simulation.world))
    }
}

/// A world before the part that is measured.
struct Before {
    time: SimTime,
    busy_cycles: f64,
}

impl Before {
    fn measure(world: &World) -> Self {
        Self {
            time: world.now(),
            busy_cycles: busy_cycles(world),
        }
    }

    fn done(&self, world: &World) -> WorkDone {
        WorkDone {
            simulated_us: (world.now() - self.time).us(),
            busy_cycles: busy_cycles(world) - self.busy_cycles,
            trace: world.trace_hash(),
        }
    }
}

/// The part of a work that is measured. Tools find it by its name.
#[inline(never)]
fn measured(simulation: &mut Simulation, part: ScenarioPart) -> RunEnd {
    match part {
        ScenarioPart::Span(us) => {
            let end = simulation.world.now().saturating_add(SimTime::from_us(us));
            pass_time(&mut simulation.world, end)
        }
        ScenarioPart::Programs => simulation.run(&RunOptions::default(), |_| {}).end,
        ScenarioPart::StartUp => pass_time(&mut simulation.world, START),
    }
}

/// As [`measured`], of a board without a scenario.
#[inline(never)]
fn measured_board(world: &mut World, end: SimTime) {
    pass_time(world, end);
}

fn pass_time(world: &mut World, end: SimTime) -> RunEnd {
    world.pass_time(&RunLimits {
        max_time: Some(end),
        ..RunLimits::default()
    });
    RunEnd::TimeLimit(Vec::new())
}

/// Busy cycles of all CPUs so far.
fn busy_cycles(world: &World) -> f64 {
    let boards = world.nodes.iter().map(|node| node.inspect());
    let cpus = boards.flat_map(|board| {
        let views = (0..board.cpus().len()).filter_map(|cpu| board.cpu(CpuId::new(cpu)));
        views.map(|cpu| cpu.busy_time.ps() as f64 / cpu.cycle_time.ps().max(1) as f64)
    });
    cpus.sum()
}

/// The work of this name.
///
/// # Errors
/// If there is none, or it fails.
pub fn run_named(name: &str) -> anyhow::Result<WorkDone> {
    let names = || ALL.map(|work| work.name).join(", ");
    let work = find(name).with_context(|| format!("no work \"{name}\"; there are: {}", names()))?;
    work.run()
}
