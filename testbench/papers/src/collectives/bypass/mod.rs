//! Broadcasts and reductions that go on while programs compute, beside usual ones (dissertation, chapter 6; the paper on reductions with
//! application bypass; docs/mpi.md, section 6).
//!
//! A measurement is a scenario with a program of message passing on the publications' cluster: ranks 0 to 15 on hosts of 700 MHz and
//! the others on hosts of 1 GHz for broadcasts, both in turn for reductions; four of the faster hosts have faster boards.

pub(super) mod figures;
pub(super) mod judge;

use lanigon_workloads::mpi::MpiUse;
use lanigon_workloads::mpi::{Measured, Skewed};

use super::key::{Key, What};
use lanigon_experiments::Error;

use super::{On, Setup};
use lanigon_experiments::interval::Estimate;

/// The boards in hosts of 700 MHz.
pub(super) const SLOW: &str = "bypass-lanai9.1-133";
/// The boards in hosts of 1 GHz.
const FAST: [(&str, &str); 2] = [
    ("lanai9.1-133", "gm-paper-bypass-1ghz-lanai9.1-133"),
    ("lanai9.2-200", "gm-paper-bypass-1ghz-lanai9.2-200"),
];
/// Of the faster hosts every fourth one has a faster board (dissertation-208).
const FASTER_BOARDS: u16 = 4;
/// Ranks on slower hosts, if they come first (dissertation-205).
const SLOW_RANKS: u16 = 16;

/// Nodes of the curves.
pub(super) const NODES: [u16; 5] = [2, 4, 8, 16, 32];
/// All of the cluster.
pub(super) const ALL: u16 = 32;
/// Lengths of broadcasts in bytes.
pub(super) const LENGTHS: [usize; 7] = [1, 2, 4, 8, 2_048, 4_096, 8_192];
/// Those with published values.
pub(super) const PUBLISHED_LENGTHS: [usize; 4] = [1, 2_048, 4_096, 8_192];
/// Doubles of a reduction.
pub(super) const DOUBLES: [usize; 3] = [4, 32, 128];
/// Doubles of the latency of a reduction.
pub(super) const LATENCY_DOUBLES: [usize; 5] = [1, 4, 16, 64, 128];
/// Longest delays in us.
pub(super) const SKEWS_US: [u64; 8] = [0, 50, 100, 200, 400, 600, 800, 1_000];
/// The longest of all: a mean difference of two delays of 333 us (dissertation-235).
pub(super) const MOST_US: u64 = 1_000;
/// Time for each level of the tree that a process waits for late children before it returns from a reduction with bypass, in us. The paper
/// names such a delay and not its length: this one is calibrated on ab-reduction-023.
const EXIT_DELAY_US: u32 = 4;

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A broadcast of so many bytes.
    Broadcast(usize),
    /// A reduction of so many doubles.
    Reduce(usize),
}

/// A mean over ranks and rounds, in us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mean {
    /// Time in the call.
    Inside,
    /// All time but that of the delays.
    Total,
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A mean time of an operation after random delays.
    Time {
        /// The operation.
        operation: Operation,
        /// Whether it goes on while programs compute.
        bypass: bool,
        /// The longest delay.
        most_us: u64,
        /// What is measured.
        mean: Mean,
    },
    /// Latency of a reduction, in us.
    Latency {
        /// Elements.
        doubles: usize,
        /// Whether it goes on while programs compute.
        bypass: bool,
        /// Whether half of the hosts are faster.
        mixed: bool,
    },
}

/// The key of a point.
#[must_use]
pub const fn key(nodes: u16, point: Point) -> Key {
    Key::new(SLOW, On::Host, nodes, What::Bypass(point))
}

/// Which ranks are on faster hosts.
#[derive(Debug, Clone, Copy)]
enum Hosts {
    /// None.
    Equal,
    /// Those behind [`SLOW_RANKS`].
    Behind,
    /// Every second one.
    InTurn,
}

impl Hosts {
    /// How many faster hosts come before a rank on one; `None`: it is on a slower one.
    fn fast(self, rank: u16) -> Option<u16> {
        match self {
            Self::Equal => None,
            Self::Behind => rank.checked_sub(SLOW_RANKS),
            Self::InTurn => (rank % 2 == 1).then_some(rank / 2),
        }
    }
}

/// The nodes of a scenario.
fn nodes(hosts: Hosts, count: u16, slow: &str) -> String {
    let node = |rank| {
        let (board, profile) = match hosts.fast(rank) {
            None => (FAST[0].0, slow),
            Some(before) if before % FASTER_BOARDS == FASTER_BOARDS - 1 => FAST[1],
            Some(_) => FAST[0],
        };
        format!("[[node]]\nname = \"n{rank}\"\nboard = \"{board}\"\nprofile = \"{profile}\"\n")
    };
    (0..count).map(node).collect()
}

/// Whether an operation goes on while programs compute, as keys of the program.
fn bypass_keys(bypass: bool, name: &str, nodes: u16) -> String {
    let delay_us = EXIT_DELAY_US * nodes.ilog2();
    match (bypass, name) {
        (false, _) => "bypass = \"none\"\n".into(),
        (true, "reduce") => format!("bypass = \"reduce\"\nexit_delay_us = {delay_us}\n"),
        (true, name) => format!("bypass = \"{name}\"\n"),
    }
}

/// Runs a program on the cluster; what its rank 0 has measured.
fn run(setup: &Setup<'_>, hosts: Hosts, count: u16, program: &str) -> Result<Measured, Error> {
    let nodes = nodes(hosts, count, &setup.profile.name);
    let text = format!(
        "[network]\ntopology = \"star\"\n{nodes}[[program]]\nrun = \"mpi\"\nnodes = \"all\"\n{program}"
    );
    let outcome = setup.run_scenario(&text)?;
    let measured = outcome.result::<MpiUse>();
    let measured = measured.and_then(|one| one.measured.first());
    measured.copied().ok_or(Error::NoRound)
}

impl Point {
    /// A time.
    pub(super) const fn time(operation: Operation, bypass: bool, most_us: u64, mean: Mean) -> Self {
        Self::Time {
            operation,
            bypass,
            most_us,
            mean,
        }
    }

    /// The time in the call, and the whole one; a latency twice.
    pub(super) fn gives(self, nodes: u16) -> [Key; 2] {
        let of = |mean| match self {
            Self::Time {
                operation,
                bypass,
                most_us,
                ..
            } => key(nodes, Self::time(operation, bypass, most_us, mean)),
            Self::Latency { .. } => key(nodes, self),
        };
        [Mean::Inside, Mean::Total].map(of)
    }

    /// Measures it, and what the same run gives besides.
    pub(super) fn measure(
        self,
        setup: &Setup<'_>,
        nodes: u16,
        rounds: u64,
    ) -> Result<Vec<(Key, Estimate)>, Error> {
        match self {
            Self::Time {
                operation,
                bypass,
                most_us,
                ..
            } => {
                let (name, bytes, hosts) = match operation {
                    Operation::Broadcast(bytes) => ("broadcast", bytes, Hosts::Behind),
                    Operation::Reduce(doubles) => ("reduce", 8 * doubles, Hosts::InTurn),
                };
                let how = bypass_keys(bypass, name, nodes);
                let program = format!(
                    "benchmark = \"{name}\"\nbytes = {bytes}\nskew_us = {most_us}\nrounds = {rounds}\n{how}"
                );
                let measured = run(setup, hosts, nodes, &program)?;
                let Skewed { total_us, .. } = measured.skewed.ok_or(Error::NoRound)?;
                let [inside, total] = self.gives(nodes);
                let [value, total_us] = [measured.value, total_us].map(Estimate::single);
                Ok(vec![(inside, value), (total, total_us)])
            }
            Self::Latency {
                doubles,
                bypass,
                mixed,
            } => {
                let hosts = if mixed { Hosts::InTurn } else { Hosts::Equal };
                let program = format!(
                    "benchmark = \"reduce-latency\"\nbytes = {}\nrounds = {rounds}\n{}",
                    8 * doubles,
                    bypass_keys(bypass, "reduce", nodes)
                );
                let measured = run(setup, hosts, nodes, &program)?;
                Ok(vec![(key(nodes, self), Estimate::single(measured.value))])
            }
        }
    }
}

/// The measurements of broadcasts.
pub(super) fn broadcasts(quick: bool, add: &mut impl FnMut(u16, Point)) {
    for bytes in LENGTHS {
        if quick && !PUBLISHED_LENGTHS.contains(&bytes) {
            continue;
        }
        let operation = Operation::Broadcast(bytes);
        for most_us in SKEWS_US {
            if !quick || [0, 50, 400, MOST_US].contains(&most_us) {
                add_both(ALL, operation, most_us, add);
            }
        }
        for nodes in NODES {
            if !quick || [1, 4_096].contains(&bytes) {
                add_both(nodes, operation, MOST_US, add);
            }
        }
    }
}

/// The measurements of reductions.
pub(super) fn reductions(quick: bool, add: &mut impl FnMut(u16, Point)) {
    for doubles in DOUBLES {
        let operation = Operation::Reduce(doubles);
        for most_us in SKEWS_US {
            if !quick || [0, 400, MOST_US].contains(&most_us) {
                add_both(ALL, operation, most_us, add);
            }
        }
        for nodes in NODES {
            for most_us in [0, MOST_US] {
                add_both(nodes, operation, most_us, add);
            }
        }
    }
    for bypass in [false, true] {
        let latency = |doubles, mixed| Point::Latency {
            doubles,
            bypass,
            mixed,
        };
        for nodes in NODES {
            add(nodes, latency(1, true));
            if nodes <= SLOW_RANKS {
                add(nodes, latency(1, false));
            }
        }
        for doubles in LATENCY_DOUBLES {
            add(ALL, latency(doubles, true));
        }
    }
}

/// A time with and without bypass. The run of one mean gives the other one too.
fn add_both(nodes: u16, operation: Operation, most_us: u64, add: &mut impl FnMut(u16, Point)) {
    for bypass in [false, true] {
        add(nodes, Point::time(operation, bypass, most_us, Mean::Total));
    }
}
