//! Keys of results: the measurements for each publication.

use std::fmt;

use host_lib::gm::collective::{Barrier, Shape};
use lanigon_workloads::collective::{Broadcast, Type};
use serde::{Deserialize, Serialize, Serializer};

use lanigon_experiments::Error;
use lanigon_experiments::formula::{FormulaError, FormulaValue};
use lanigon_experiments::interval::Estimate;
use lanigon_experiments::statements::Statements;

use super::results::Results;
use super::{ExecutedOn, Setup};

/// The boards with a LANai 4.3 (dissertation, section 3.3).
pub const L4: &str = "lanai4.3-33";
/// The boards with a LANai 7.2.
pub const L7: &str = "lanai7.2-66";
/// The boards with a LANai 9.1 (dissertation, section 4.3).
pub const L9: &str = "lanai9.1-133";
/// Profile of the boards of [`L9`] in other hosts (gossip, section 6).
pub const L9_GOSSIP: &str = "gossip-lanai9.1-133";

/// All of these.
pub const BOARDS: [&str; 4] = [L4, L7, L9, L9_GOSSIP];

/// Runs of a synthetic application at least: fewer tell nothing about their variation.
const LEAST_RUNS: u64 = 5;
/// The tree of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A binomial tree.
    Binomial,
    /// A tree of degree 1.
    Chain,
    /// A tree of depth 1.
    Star,
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// A point by the name of its metric: board, place and number of nodes, then what the metric has.
    ///
    /// # Errors
    /// There is no such point.
    pub fn read(measure: &str, at: &[FormulaValue]) -> Result<Self, FormulaError> {
        let wrong = |error: serde_json::Error| FormulaError::Wrong(format!("{measure}: {error}"));
        let [board, on, nodes, of @ ..] = at else {
            return Err(FormulaError::unknown(measure));
        };
        let what = match of {
            [] => serde_json::json!(measure),
            of => serde_json::json!({ measure: of }),
        };
        let mut known = BOARDS.into_iter();
        let board = known.find(|known| board.text() == Ok(*known));
        let board = board.ok_or_else(FormulaError::missing)?;
        // As text a list of values is taken in the order of the metric's fields.
        let key = serde_json::json!([on, nodes, what]).to_string();
        let (on, nodes, what) = serde_json::from_str(&key).map_err(wrong)?;
        Ok(Self {
            board,
            on,
            nodes,
            what,
        })
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

/// Name of an algorithm in texts.
pub(super) const fn algorithm_name(algorithm: Broadcast) -> &'static str {
    match algorithm {
        Broadcast::RecursiveDoubling => "recursive doubling",
        Broadcast::Ring => "ring",
        Broadcast::ConcurrentBroadcasting => "concurrent broadcasting",
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = algorithm_name;
        let text = match *self {
            Self::Exchange => "barrier by pairwise exchange".into(),
            Self::Tree { degree } => format!("barrier along a tree of degree {degree}"),
            Self::Mpi => "barrier of message passing".into(),
            Self::Loop {
                compute_ns: ns,
                percent,
            } => {
                format!("loop of {ns} ns +-{percent} % and a barrier")
            }
            Self::Least { percent } => format!("least computation for {percent} % efficiency"),
            Self::Synthetic { steps } => format!("application of {steps} steps"),
            Self::Reduction { form, of } => {
                let form = match form {
                    Form::Binomial => "binomial tree",
                    Form::Chain => "chain",
                    Form::Star => "star",
                };
                format!("reduction along a {form}, {of:?}").to_lowercase()
            }
            Self::Processor { of, skew_us } => {
                let of = format!("{of:?}").to_lowercase();
                format!("host's time of a reduction, {of}, delay {skew_us} us")
            }
            Self::AllToAll { algorithm, bytes } => {
                format!("all-to-all broadcast by {}, {bytes} bytes", name(algorithm))
            }
            Self::Placed {
                algorithm,
                bytes,
                places,
            } => {
                let broadcast = Self::AllToAll { algorithm, bytes };
                format!("{broadcast}, order {places}")
            }
            Self::HostTime { algorithm, bytes } => {
                let algorithm = name(algorithm);
                format!("host's time of a broadcast by {algorithm}, {bytes} bytes")
            }
            Self::Message { collectives: true } => "short message, collectives on".into(),
            Self::Message { collectives: false } => "short message, collectives off".into(),
        };
        f.write_str(&text)
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

/// The points that a file of statements names, sorted. A quick run leaves some nodes, degrees and lengths out.
///
/// # Errors
/// The file is wrong.
pub fn keys(statements: &Statements, quick: bool) -> Result<Vec<Key>, FormulaError> {
    let points = statements.points(quick, &Results::default())?;
    let key = |point: &FormulaValue| match point.items() {
        [measure, at @ ..] => Key::read(measure.text()?, at),
        [] => Err(FormulaError::missing()),
    };
    let mut all: Vec<_> = points.iter().map(key).collect::<Result<_, _>>()?;
    all.sort();
    all.dedup();
    Ok(all)
}
