//! Keys of results: the measurements for each publication.

use std::fmt;

use host_lib::gm::collective::{Barrier, Shape};
use lanigon_workloads::collective::{Broadcast, Type};
use serde::{Serialize, Serializer};

use super::chapter::Chapter;
use lanigon_experiments::Error;

use super::{ExecutedOn, Setup};
use lanigon_experiments::interval::Estimate;

/// The boards with a LANai 4.3 (dissertation, section 3.3).
pub const L4: &str = "lanai4.3-33";
/// The boards with a LANai 7.2.
pub const L7: &str = "lanai7.2-66";
/// The boards with a LANai 9.1 (dissertation, section 4.3).
pub const L9: &str = "lanai9.1-133";
/// Profile of the boards of [`L9`] in other hosts (gossip, section 6).
pub const L9_GOSSIP: &str = "gossip-lanai9.1-133";

/// Computations of figure 3.10, in ns (dissertation-094, 095).
pub const FINE_NS: [u64; 6] = [1_500, 8_000, 17_000, 32_000, 64_000, 129_750];
/// Mean computations of figures 3.12 and 3.13, in us (dissertation-113, 114).
pub const VARIED_US: [u64; 4] = [64, 256, 1_024, 4_096];
/// Percentages of their variation; figure 3.12 has the last one.
pub const VARIED_PERCENT: [u32; 3] = [0, 10, 20];
/// Percentages of efficiency (dissertation-099 to 102).
pub const EFFICIENCIES: [u32; 4] = [25, 50, 75, 90];
/// Runs of a synthetic application at least: fewer tell nothing about their variation.
const LEAST_RUNS: u64 = 5;
/// Steps of the synthetic applications: 360 us and 2,100 us (dissertation-117 to 120).
pub const STEPS: [u64; 2] = [8, 20];
/// Numbers of nodes of the curves.
pub const NODES: [u16; 4] = [2, 4, 8, 16];
/// Nodes of chains and stars: a root with up to eight children fits a board.
pub const TREES: [u16; 5] = [2, 3, 4, 6, 9];
/// Largest delays before reductions, in us.
pub const SKEWS_US: [u64; 4] = [0, 200, 500, 1_000];
/// Lengths of blocks, in bytes.
pub const BLOCKS: [usize; 7] = [4, 64, 256, 1_024, 2_048, 4_096, 16_384];
/// Blocks from here on are long.
pub const LONG_BLOCK: usize = 1_024;
/// Lengths of blocks of which the host's time is measured.
pub const HOST_BLOCKS: [usize; 3] = [4, 1_024, 4_096];
/// Orders of the nodes that are measured.
pub const PLACES: [u64; 3] = [1, 2, 3];
/// Types of reductions.
pub const TYPES: [(Type, &str); 2] = [(Type::Integer, "integer"), (Type::Float, "float")];

/// The tree of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A binomial tree.
    Binomial,
    /// A tree of degree 1.
    Chain,
    /// A tree of depth 1.
    Star,
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// A barrier by pairwise exchange, in us.
    Exchange,
    /// A barrier along a tree, in us.
    Tree {
        /// Children of a node.
        degree: usize,
    },
    /// A barrier of message passing by pairwise exchange, in us.
    Mpi,
    /// A loop of computation and barrier of message passing, in us.
    Loop {
        /// Mean computation, in ns.
        compute_ns: u64,
        /// Variation of the computation to each side, in percent.
        percent: u32,
    },
    /// The least computation for an efficiency, between barriers of message passing, in us.
    Least {
        /// The efficiency.
        percent: u32,
    },
    /// A run of a synthetic application with barriers of message passing, in us.
    Synthetic {
        /// Number of the program's steps.
        steps: u64,
    },
    /// A reduction, in us.
    Reduction {
        /// The tree.
        form: Form,
        /// Type of the values.
        of: Type,
    },
    /// Mean time of a host inside a reduction, in us.
    Processor {
        /// Type of the values.
        of: Type,
        /// Largest delay before it, in us.
        skew_us: u64,
    },
    /// An all-to-all broadcast, in us.
    AllToAll {
        /// Algorithm of the broadcasts.
        algorithm: Broadcast,
        /// Length of a block.
        bytes: usize,
    },
    /// An all-to-all broadcast with the ranks at other nodes, in us.
    Placed {
        /// Algorithm of the broadcasts.
        algorithm: Broadcast,
        /// Length of a block.
        bytes: usize,
        /// Number of the order.
        places: u64,
    },
    /// Processor time of a host for an all-to-all broadcast, in us.
    HostTime {
        /// Algorithm of the broadcasts.
        algorithm: Broadcast,
        /// Length of a block.
        bytes: usize,
    },
    /// Latency of a short message, in us.
    Message {
        /// Whether collective operations are switched on.
        collectives: bool,
    },
}

impl Metric {
    /// A loop of computations that vary each way, and barriers.
    #[must_use]
    pub const fn looped(compute_ns: u64, percent: u32) -> Self {
        Self::Loop {
            compute_ns,
            percent,
        }
    }
}

/// A measured point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The hardware's profile.
    pub board: &'static str,
    /// Executor of the operation.
    pub on: ExecutedOn,
    /// Number of nodes.
    pub nodes: u16,
    /// The measurement.
    pub what: Metric,
}

impl Key {
    /// A point.
    #[must_use]
    pub const fn new(board: &'static str, on: ExecutedOn, nodes: u16, what: Metric) -> Self {
        Self {
            board,
            on,
            nodes,
            what,
        }
    }

    /// Measures it.
    pub(super) fn measure(self, setup: &Setup<'_>, rounds: u64) -> Result<Estimate, Error> {
        let nodes = self.nodes;
        match self.what {
            Metric::Exchange => setup.barrier(nodes, Barrier::PairwiseExchange, rounds),
            Metric::Tree { degree } => {
                let barrier = Barrier::GatherBroadcast { root: 0, degree };
                setup.barrier(nodes, barrier, rounds)
            }
            Metric::Mpi => setup.mpi_barrier(nodes, rounds),
            Metric::Loop {
                compute_ns,
                percent,
            } => setup.computing_loop(nodes, compute_ns, percent, rounds),
            Metric::Least { percent } => {
                let least = setup.least_computation(nodes, f64::from(percent) / 100.0, rounds)?;
                Ok(Estimate::single(least))
            }
            Metric::Synthetic { steps } => {
                let runs = rounds.div_ceil(steps).max(LEAST_RUNS);
                setup.synthetic(nodes, steps, runs)
            }
            Metric::Reduction { form, of } => {
                let shape = match form {
                    Form::Binomial => Shape::Binomial,
                    Form::Chain => Shape::Fixed { degree: 1 },
                    Form::Star => Shape::Fixed {
                        degree: usize::from(nodes) - 1,
                    },
                };
                setup.reduction(nodes, shape, of, rounds)
            }
            Metric::Processor { of, skew_us } => {
                setup.reduction_cpu(nodes, of, skew_us * 1_000, rounds)
            }
            Metric::AllToAll { algorithm, bytes } => {
                setup.all_to_all(nodes, algorithm, bytes, rounds.div_ceil(4))
            }
            Metric::Placed {
                algorithm,
                bytes,
                places,
            } => setup.placed_all_to_all(nodes, algorithm, bytes, places, rounds.div_ceil(4)),
            Metric::HostTime { algorithm, bytes } => {
                let time = setup.host_time(nodes, algorithm, bytes, rounds.div_ceil(4))?;
                Ok(Estimate::single(time))
            }
            Metric::Message { collectives } => setup.message(collectives, rounds),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gossip = |algorithm| match algorithm {
            Broadcast::RecursiveDoubling => "recursive doubling",
            Broadcast::Ring => "ring",
            Broadcast::ConcurrentBroadcasting => "concurrent broadcasting",
        };
        let name = |of| TYPES.iter().find(|(known, _)| *known == of);
        let name = |of| name(of).map_or("", |(_, name)| name);
        match *self {
            Self::Exchange => write!(f, "barrier by pairwise exchange"),
            Self::Tree { degree } => write!(f, "barrier along a tree of degree {degree}"),
            Self::Mpi => write!(f, "barrier of message passing"),
            Self::Loop {
                compute_ns,
                percent,
            } => write!(f, "loop of {compute_ns} ns +-{percent} % and a barrier"),
            Self::Least { percent } => write!(f, "least computation for {percent} % efficiency"),
            Self::Synthetic { steps } => write!(f, "application of {steps} steps"),
            Self::Reduction { form, of } => {
                let form = match form {
                    Form::Binomial => "binomial tree",
                    Form::Chain => "chain",
                    Form::Star => "star",
                };
                write!(f, "reduction along a {form}, {}", name(of))
            }
            Self::Processor { of, skew_us } => {
                write!(
                    f,
                    "host's time of a reduction, {}, delay {skew_us} us",
                    name(of)
                )
            }
            Self::AllToAll { algorithm, bytes } => {
                write!(
                    f,
                    "all-to-all broadcast by {}, {bytes} bytes",
                    gossip(algorithm)
                )
            }
            Self::Placed {
                algorithm,
                bytes,
                places,
            } => {
                let algorithm = gossip(algorithm);
                write!(
                    f,
                    "all-to-all broadcast by {algorithm}, {bytes} bytes, order {places}"
                )
            }
            Self::HostTime { algorithm, bytes } => {
                let algorithm = gossip(algorithm);
                write!(
                    f,
                    "host's time of a broadcast by {algorithm}, {bytes} bytes"
                )
            }
            Self::Message { collectives: true } => write!(f, "short message, collectives on"),
            Self::Message { collectives: false } => write!(f, "short message, collectives off"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (board, on, nodes) = (self.board, self.on.name(), self.nodes);
        write!(f, "{board} {on} {nodes} nodes, {}", self.what)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The keys of a table, each on both places as far as it exists there. A quick run leaves some nodes, degrees and lengths out.
#[must_use]
pub fn keys(table: Chapter, quick: bool) -> Vec<Key> {
    let mut all = Vec::new();
    for on in [ExecutedOn::Host, ExecutedOn::Nic] {
        let mut add = |board, nodes, what| all.push(Key::new(board, on, nodes, what));
        match table {
            Chapter::Barrier => barriers(quick, &mut add),
            Chapter::Reduction => reductions(&mut add),
            Chapter::Gossip => gossip(on, quick, &mut add),
            Chapter::MpiBarrier => mpi_barriers(quick, &mut add),
        }
    }
    all.sort();
    all.dedup();
    all
}

fn barriers(quick: bool, add: &mut impl FnMut(&'static str, u16, Metric)) {
    for (board, most) in [(L4, 16), (L7, 8)] {
        for nodes in [2, 4, 7, 8, 16].into_iter().filter(|nodes| *nodes <= most) {
            add(board, nodes, Metric::Exchange);
            let degrees = if quick { 4 } else { usize::from(nodes) - 1 };
            for degree in 1..=degrees.min(usize::from(nodes) - 1) {
                add(board, nodes, Metric::Tree { degree });
            }
        }
    }
}

fn mpi_barriers(quick: bool, add: &mut impl FnMut(&'static str, u16, Metric)) {
    for (board, most) in [(L4, 16), (L7, 8)] {
        for nodes in [2, 4, 7, 8, 16].into_iter().filter(|nodes| *nodes <= most) {
            add(board, nodes, Metric::Exchange);
            add(board, nodes, Metric::Mpi);
        }
        for compute_ns in FINE_NS {
            add(board, 8, Metric::looped(compute_ns, 0));
        }
        for percent in EFFICIENCIES {
            for nodes in NODES.into_iter().filter(|nodes| *nodes <= most) {
                if !quick || nodes == most && [50, 90].contains(&percent) {
                    add(board, nodes, Metric::Least { percent });
                }
            }
        }
        for steps in STEPS {
            add(board, most, Metric::Synthetic { steps });
        }
    }
    for us in VARIED_US {
        for percent in VARIED_PERCENT {
            add(L4, 16, Metric::looped(us * 1_000, percent));
        }
    }
}

fn reductions(add: &mut impl FnMut(&'static str, u16, Metric)) {
    for (of, _) in TYPES {
        for nodes in NODES {
            let form = Form::Binomial;
            add(L9, nodes, Metric::Reduction { form, of });
            for skew_us in [0, 1_000] {
                add(L9, nodes, Metric::Processor { of, skew_us });
            }
        }
        for nodes in TREES {
            for form in [Form::Chain, Form::Star] {
                add(L9, nodes, Metric::Reduction { form, of });
            }
        }
        for skew_us in SKEWS_US {
            add(L9, 16, Metric::Processor { of, skew_us });
        }
    }
}

fn gossip(on: ExecutedOn, quick: bool, add: &mut impl FnMut(&'static str, u16, Metric)) {
    let algorithms = [
        Broadcast::RecursiveDoubling,
        Broadcast::Ring,
        Broadcast::ConcurrentBroadcasting,
    ];
    for algorithm in algorithms.into_iter().filter(|one| one.is_on(on)) {
        for bytes in BLOCKS {
            if !quick || [4, 1_024, 4_096, 16_384].contains(&bytes) {
                add(L9_GOSSIP, 16, Metric::AllToAll { algorithm, bytes });
            }
        }
        for nodes in NODES {
            for bytes in [4, 4_096] {
                add(L9_GOSSIP, nodes, Metric::AllToAll { algorithm, bytes });
            }
        }
    }
    let algorithms = algorithms.into_iter().filter(|one| one.is_on(on));
    for algorithm in algorithms.filter(|one| *one != Broadcast::Ring) {
        for bytes in [4, 4_096] {
            for places in PLACES {
                let what = Metric::Placed {
                    algorithm,
                    bytes,
                    places,
                };
                add(L9_GOSSIP, 16, what);
            }
        }
        for bytes in HOST_BLOCKS {
            for nodes in [4, 16] {
                add(L9_GOSSIP, nodes, Metric::HostTime { algorithm, bytes });
            }
        }
    }
    for collectives in [false, true].into_iter().filter(|_| on == ExecutedOn::Nic) {
        add(L9_GOSSIP, 2, Metric::Message { collectives });
    }
}
