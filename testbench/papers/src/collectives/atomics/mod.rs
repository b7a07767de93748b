//! Atomic operations and locks: the measurements of Buntinas 2003, section 5.4, each a scenario that `lanigon run` takes too.

pub mod figures;
pub mod judge;

use host_lib::gm::atomic::Wait;
use lanigon_workloads::atomic::{AtomicUse, Which};
use lanigon_worlds::simulation::result::RunSummary;

use super::key::{Key, L9, L9_ATOMICS};
use lanigon_experiments::Error;

use super::{On, Setup};

/// The operations of figure 5.6, with their names in scenarios.
pub const OPERATIONS: [(Which, &str); 4] = [
    (Which::FetchAdd, "fetch-add"),
    (Which::FetchWrite, "fetch-write"),
    (Which::CompareSwap, "compare-swap"),
    (Which::CompareSwapMiss, "compare-swap-miss"),
];
/// Nodes that use the lock; another one is its home.
pub const LOCKERS: [u16; 10] = [1, 2, 3, 4, 5, 6, 7, 9, 12, 15];
/// Pauses after acquiring and after releasing, in us.
pub const PAUSES_US: [u32; 6] = [1_000, 400, 200, 100, 50, 20];
/// Uses of the lock by each member before those that count.
const WARM_UP: u64 = 20;
/// A run in which a home counts lasts so long at least, in us: it counts after a time slice.
const COUNTING_US: u64 = 400_000;

/// Who executes the operations, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Boards; results come by events.
    NoMutex,
    /// Boards, kept apart from their hosts by a mutex.
    Mutex,
    /// The same; results go into memory.
    Direct,
    /// Servers on hosts that wait so.
    Server(Wait),
}

impl How {
    /// All of them, with their names in figures.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::NoMutex, "NIC, no mutex"),
        (Self::Direct, "NIC, direct"),
        (Self::Mutex, "NIC, mutex"),
        (Self::Server(Wait::Poll), "host, poll"),
        (Self::Server(Wait::SpinBlock), "host, spin-block"),
        (Self::Server(Wait::Block), "host, block no-spin"),
    ];

    const fn on(self) -> On {
        match self {
            Self::NoMutex | Self::Mutex | Self::Direct => On::Nic,
            Self::Server(_) => On::Host,
        }
    }

    /// Its keys in a scenario.
    const fn keys(self) -> &'static str {
        match self {
            Self::NoMutex => "on = \"nic\"\n",
            Self::Mutex => "on = \"nic\"\nmutex = true\n",
            Self::Direct => "on = \"nic\"\nmutex = true\nreply = \"memory\"\n",
            Self::Server(Wait::Poll) => "on = \"host\"\nwait = \"poll\"\n",
            Self::Server(Wait::SpinBlock) => "on = \"host\"\nwait = \"spin-block\"\n",
            Self::Server(Wait::Block) => "on = \"host\"\nwait = \"block\"\n",
        }
    }
}

/// The kernel of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// Each program has a CPU; servers poll.
    Smp,
    /// The programs of a node share a CPU; servers sleep.
    Up,
}

impl Kernel {
    const fn cpus(self) -> u32 {
        match self {
            Self::Smp => 2,
            Self::Up => 1,
        }
    }

    /// How operations are executed on it, by the dissertation's choice.
    #[must_use]
    pub const fn how(self, on: On) -> How {
        match (on, self) {
            (On::Nic, _) => How::NoMutex,
            (On::Host, Self::Smp) => How::Server(Wait::Poll),
            (On::Host, Self::Up) => How::Server(Wait::Block),
        }
    }
}

/// What is taken from a run in which one node uses the lock of another one, which counts, with pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// Iterations that the home counts in 1,000 us.
    Iterations,
    /// Uses of the lock in a second.
    Uses,
    /// Share of the time in which the CPU of the home's board is busy.
    Busy,
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Mean latency of an operation, in us.
    Latency {
        /// Which one: the place in [`OPERATIONS`].
        operation: usize,
        /// How it is executed.
        how: How,
    },
    /// Mean time of acquiring and releasing a lock at one of the nodes that do so, in us.
    Lock {
        /// The hosts' kernel.
        kernel: Kernel,
    },
    /// What a lock in use costs its home, with a kernel for one CPU.
    Load {
        /// What is measured.
        what: Load,
        /// Pause after acquiring and after releasing, in us; 0: the lock is not used.
        pause_us: u32,
    },
}

/// The place of compare and swap with success in [`OPERATIONS`].
pub const HIT: usize = 2;

/// The points of a place.
pub(super) fn points(on: On, quick: bool, add: &mut impl FnMut(&'static str, u16, Point)) {
    for (how, _) in How::ALL.into_iter().filter(|(how, _)| how.on() == on) {
        for operation in 0..OPERATIONS.len() {
            if !quick || operation == HIT {
                add(L9_ATOMICS, 2, Point::Latency { operation, how });
            }
        }
    }
    for lockers in LOCKERS {
        if !quick || [1, 2, 4, 7, 15].contains(&lockers) {
            for kernel in [Kernel::Smp, Kernel::Up] {
                add(L9_ATOMICS, lockers, Point::Lock { kernel });
            }
        }
    }
    for pause_us in PAUSES_US.into_iter().chain([0]) {
        if !quick || [0, 400, 50].contains(&pause_us) {
            for what in [Load::Iterations, Load::Uses, Load::Busy] {
                add(L9_ATOMICS, 2, Point::Load { what, pause_us });
            }
        }
    }
}

/// Runs a program of a scenario: on so many nodes, and CPUs if the profile does not say it.
fn run(
    setup: &Setup<'_>,
    nodes: u16,
    cpus: Option<u32>,
    program: &str,
) -> Result<RunSummary, Error> {
    let profile = &setup.profile.name;
    let cpus = cpus.map_or_else(String::new, |cpus| {
        format!("[costs]\n\"host.cpus\" = {cpus}\n")
    });
    setup.run_scenario(&format!(
        "board = \"{L9}\"\nprofile = \"{profile}\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\n{program}{cpus}"
    ))
}

/// The program's result.
fn used(outcome: &RunSummary) -> Result<&AtomicUse, Error> {
    outcome.result().ok_or(Error::NoRound)
}

impl Point {
    /// Measures it.
    pub(super) fn measure(self, setup: &Setup<'_>, nodes: u16, rounds: u64) -> Result<f64, Error> {
        match self {
            Self::Latency { operation, how } => {
                let (_, name) = OPERATIONS[operation];
                let program = format!(
                    "run = \"atomics\"\nnodes = 1\nhomes = 0\nwords = 1\noperations = \"{name}\"\ncount = {}\nwarm_up = {WARM_UP}\n{}",
                    rounds + WARM_UP,
                    how.keys()
                );
                Ok(used(&run(setup, nodes, None, &program)?)?.mean_us)
            }
            Self::Lock { kernel } => {
                let program = format!(
                    "run = \"lock\"\nnodes = [\"1..{}\"]\nhome = 0\ncount = {}\nwarm_up = {WARM_UP}\n{}",
                    nodes + 1,
                    rounds + WARM_UP,
                    kernel.how(setup.on).keys()
                );
                let outcome = run(setup, nodes + 1, Some(kernel.cpus()), &program)?;
                Ok(used(&outcome)?.first_mean_us)
            }
            Self::Load { what, pause_us } => load(setup, what, pause_us),
        }
    }
}

/// One node uses a lock with pauses; its home counts.
fn load(setup: &Setup<'_>, what: Load, pause_us: u32) -> Result<f64, Error> {
    let (count, pause_us) = match pause_us {
        // One use, and a pause until the end.
        0 => (1, COUNTING_US),
        pause => (COUNTING_US / (2 * u64::from(pause)), pause.into()),
    };
    let program = format!(
        "run = \"lock\"\nnodes = 1\nhome = 0\ncount = {count}\nhold_us = {pause_us}\nthink_us = {pause_us}\ncounter = true\n{}",
        Kernel::Up.how(setup.on).keys()
    );
    let outcome = run(setup, 2, Some(Kernel::Up.cpus()), &program)?;
    let result = used(&outcome)?;
    match what {
        Load::Iterations => Ok(result.iterations),
        Load::Uses => Ok(result.uses as f64 * 1e6 / outcome.simulated.us()),
        Load::Busy => {
            let board = outcome.boards.first();
            let share = board.and_then(|board| board.share("cpu"));
            share.ok_or(Error::NoRound)
        }
    }
}

/// The key of a point.
#[must_use]
pub const fn key(on: On, nodes: u16, point: Point) -> Key {
    Key::new(L9_ATOMICS, on, nodes, super::key::What::Atomic(point))
}
