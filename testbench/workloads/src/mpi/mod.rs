//! Programs of message passing (`host_lib::mpi`) that people know: benchmarks after the OSU set, an integer sort, a stencil, solvers.
//!
//! They are written against [`Mpi`] alone, so they run over GM and over EMP. Each checks what it computes.

mod benchmark;
mod gradients;
mod grid;
mod jacobi;
mod keys;
mod skew;
mod solver;
mod sort;
mod stencil;
mod workload;

use host_lib::emp::Emp;
use host_lib::gm::Gm;
use host_lib::gm::collective::Endpoint;
use host_lib::mpi::{
    Bypass, Config, EmpTransport, Executor, GmSettings, GmTransport, Mpi, Times, Transport,
};

pub use solver::{Grid, Solved, Solver};
pub use sort::ProblemClass;
pub use workload::KIND;

use crate::collective::{LEAD_NS, LONGEST_MAPPING_NS, PORT, Skew};
use lanigon_worlds::emp::text;
use lanigon_worlds::workload::Outcome;

/// Memory of long messages at least, in bytes.
const LEAST_LONG_BYTES: u64 = 8 << 20;

/// Computation after a reduction with delays, in ns: longer than the slowest reduction.
const CATCH_UP_NS: u64 = 500_000;

/// Work of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MpiWork {
    /// Half the time of a message there and back, between the first two ranks.
    Latency,
    /// Messages in windows from the first rank to the second one.
    Bandwidth,
    /// Messages in windows in both directions at the same time.
    BothWays,
    /// Mean time of a rank in a broadcast.
    Broadcast,
    /// Mean time of a rank in a reduction of doubles.
    Reduce,
    /// Time of a reduction of doubles from the farthest rank on.
    ReduceLatency,
    /// Mean time of a rank in a reduction of doubles whose result all get.
    AllReduce,
    /// Mean time of a rank in a call that gives all ranks the blocks of all.
    AllGather,
    /// Mean time of a rank in a barrier.
    Barrier,
    /// The integer sort of the NAS parallel benchmarks.
    IntegerSort(ProblemClass),
    /// Heat on a plate: a stencil of five points.
    Stencil {
        /// Points of the plate in each direction.
        points: usize,
        /// Steps in time.
        steps: usize,
    },
    /// A solver with reductions in each iteration.
    Solve(Solver, Grid),
}

impl MpiWork {
    /// Name of the program in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::BothWays => "both-ways",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::ReduceLatency => "reduce-latency",
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::Barrier => "barrier",
            Self::IntegerSort(_) => "integer-sort",
            Self::Stencil { .. } => "stencil",
            Self::Solve(Solver::Jacobi, _) => "jacobi",
            Self::Solve(Solver::ConjugateGradients, _) => "cg",
        }
    }

    /// Number of ranks that take part; `None`: any number.
    #[must_use]
    pub const fn ranks(self) -> Option<usize> {
        match self {
            Self::Latency | Self::Bandwidth | Self::BothWays => Some(2),
            _ => None,
        }
    }

    /// Smallest length of a message in bytes; `None`: its messages have no length to choose.
    #[must_use]
    pub const fn least_bytes(self) -> Option<usize> {
        match self {
            Self::Bandwidth | Self::BothWays => Some(1),
            Self::Latency | Self::Broadcast | Self::AllGather => Some(0),
            Self::Reduce | Self::ReduceLatency | Self::AllReduce => Some(0),
            Self::Barrier | Self::IntegerSort(_) => None,
            Self::Stencil { .. } | Self::Solve(..) => None,
        }
    }

    /// Bytes of an element of its messages.
    #[must_use]
    pub const fn element_bytes(self) -> usize {
        match self {
            Self::Reduce | Self::ReduceLatency | Self::AllReduce => 8,
            _ => 1,
        }
    }

    /// Messages that a rank has under way at most, in both directions.
    const fn under_way(self) -> u64 {
        match self {
            Self::Bandwidth | Self::BothWays => 2 * benchmark::WINDOW as u64,
            _ => 4,
        }
    }

    /// Header of its results, as the OSU set prints it.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::Latency | Self::ReduceLatency => "# Size          Latency (us)",
            Self::Bandwidth | Self::BothWays => "# Size      Bandwidth (MB/s)",
            Self::Broadcast | Self::Reduce | Self::AllReduce | Self::AllGather => {
                "# Size       Avg Latency(us)"
            }
            Self::Barrier => "# Avg Latency(us)",
            Self::IntegerSort(_) => "# Keys           Mop/s total",
            Self::Stencil { .. } => "# Points        Time (us/step)",
            Self::Solve(..) => solver::HEADER,
        }
    }
}

/// A program and its settings, the same for all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiSettings {
    /// Work of the program.
    pub work: MpiWork,
    /// Lengths of messages in bytes.
    pub sizes: Vec<usize>,
    /// Rounds that are not measured, before the others.
    pub warmup: u32,
    /// Measured rounds: of each length, of a sort.
    pub rounds: u32,
    /// Messages up to so many bytes are sent at once.
    pub eager_bytes: usize,
    /// Executor of barriers.
    pub barrier: Executor,
    /// Executor of reductions and all-gathers.
    pub on: Executor,
    /// Processor time of the library for each send and receive, in ns.
    pub library_ns: u64,
    /// Processor time that pins a page of a long message, in ns.
    pub pin_page_ns: u64,
    /// Processor time of an operation of a kernel (a point, a key), in ns.
    pub operation_ns: u64,
    /// Longest uniform delay before a broadcast or reduction, in ns; `None`: no delay is measured.
    pub skew_ns: Option<u64>,
    /// Model of these delays.
    pub skew: Skew,
    /// Computation after a reduction with delays, in ns.
    pub catch_up_ns: u64,
    /// Collective operations that go on while programs compute; over GM.
    pub bypass: Bypass,
    /// Seed of the random delays.
    pub seed: u64,
}

impl MpiSettings {
    /// The usual settings of a program.
    #[must_use]
    pub fn new(work: MpiWork) -> Self {
        let Config {
            barrier,
            collectives,
            library_ns,
            ..
        } = Config::default();
        let GmSettings {
            eager_bytes,
            pin_page_ns,
            ..
        } = GmSettings::default();
        let sizes = |least| {
            (0..=16)
                .map(|power| 1 << power)
                .filter(move |size| *size >= least)
        };
        Self {
            work,
            sizes: work
                .least_bytes()
                .map_or(Vec::new(), |least| sizes(least).collect()),
            warmup: 2,
            rounds: 10,
            eager_bytes,
            barrier,
            on: collectives,
            library_ns,
            pin_page_ns,
            operation_ns: 10,
            skew_ns: None,
            skew: Skew::default(),
            catch_up_ns: CATCH_UP_NS,
            bypass: Bypass::default(),
            seed: 0,
        }
    }

    /// Settings of the transport over GM.
    #[must_use]
    pub const fn gm(&self) -> GmSettings {
        GmSettings {
            eager_bytes: self.eager_bytes,
            pin_page_ns: self.pin_page_ns,
            signals: self.bypasses(),
            gathers: matches!((self.on, self.work), (Executor::Nic, MpiWork::AllGather)),
        }
    }

    /// Whether collective operations go on while programs compute.
    #[must_use]
    pub const fn bypasses(&self) -> bool {
        self.bypass.broadcast || self.bypass.reduce || self.bypass.immediate
    }

    /// Bytes of host memory that a rank of so many needs: buffers, and memory of long messages.
    #[must_use]
    pub fn memory_bytes(&self, ranks: usize) -> u64 {
        let gathered = GmTransport::gather_bytes(self.gm(), ranks);
        let packets = GmTransport::buffer_bytes(self.gm()) + gathered;
        let others = EmpTransport::buffer_bytes(self.eager_bytes);
        let longest = self.sizes.iter().max().copied().unwrap_or_default();
        let long = self.work.under_way() * (longest as u64).next_power_of_two();
        packets.max(others) + long.max(LEAST_LONG_BYTES)
    }

    /// The settings of the library.
    #[must_use]
    pub fn config(&self) -> Config {
        Config {
            barrier: self.barrier,
            collectives: self.on,
            library_ns: self.library_ns,
            ..Config::default()
        }
    }
}

/// Header of results with random delays.
const SKEWED_HEADER: &str = "# Size       In the call (us)  Total (us)  Handler (us)    Handlers";

/// A measured value of a program.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct MeasuredValue {
    /// Bytes of a message, keys of a sort, points of a stencil; 0 for a barrier.
    pub size: usize,
    /// Measured value in the unit of the program's [`header`](MpiWork::header).
    pub value: f64,
    /// Further values of a run with random delays.
    #[serde(flatten)]
    pub skewed: Option<Skewed>,
    /// Further values of a solver.
    #[serde(flatten)]
    pub solved: Option<Solved>,
}

/// Means over ranks and rounds of a collective operation after random delays.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Skewed {
    /// Time besides the delays, in us: in the call and in handlers.
    pub total_us: f64,
    /// Time of a handler with the delivery of its signal, in us.
    pub handler_us: f64,
    /// Handlers of a rank and round.
    pub handlers: f64,
}

/// Time of a rank by activity, in us.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct TimeUse {
    /// The program's own computations.
    pub compute_us: f64,
    /// Handlers of signals.
    pub handlers_us: f64,
    /// Waits for messages.
    pub waiting_us: f64,
    /// Copies.
    pub copies_us: f64,
    /// The library's own work.
    pub library_us: f64,
    /// Number of handlers.
    pub signals: u64,
}

impl TimeUse {
    /// Number of the fields.
    const VALUES: usize = 6;

    fn values(times: &Times) -> [u64; Self::VALUES] {
        [
            times.compute_ps,
            times.handlers_ps,
            times.waiting_ps,
            times.copies_ps,
            times.library_ps,
            times.signals,
        ]
    }

    fn from_values(values: &[u64]) -> Option<Self> {
        let values: [u64; Self::VALUES] = values.try_into().ok()?;
        let us = |at: usize| values[at] as f64 / 1e6;
        Some(Self {
            compute_us: us(0),
            handlers_us: us(1),
            waiting_us: us(2),
            copies_us: us(3),
            library_us: us(4),
            signals: values[5],
        })
    }

    /// Sum of all times, in us.
    #[must_use]
    pub fn total_us(&self) -> f64 {
        self.compute_us + self.handlers_us + self.waiting_us + self.copies_us + self.library_us
    }
}

/// Report of rank 0 about a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MpiReport {
    /// The measured values.
    pub measured: Vec<MeasuredValue>,
    /// Times of each rank by activity.
    pub times: Vec<TimeUse>,
}

/// Results of a program.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct MpiUse {
    /// Name of the program.
    pub benchmark: &'static str,
    /// Number of ranks.
    pub ranks: usize,
    /// Meaning and unit of the values.
    pub header: &'static str,
    /// The values; none if the program has not ended.
    pub measured: Vec<MeasuredValue>,
    /// Times of each rank by activity.
    pub times: Vec<TimeUse>,
}

impl MpiUse {
    /// The results of a program whose rank 0 has measured this.
    #[must_use]
    pub fn new(settings: &MpiSettings, ranks: usize, report: MpiReport) -> Self {
        let MpiReport { measured, times } = report;
        Self {
            benchmark: settings.work.name(),
            ranks,
            header: match settings.skew_ns {
                Some(_) => SKEWED_HEADER,
                None => settings.work.header(),
            },
            measured,
            times,
        }
    }

    /// The values as the OSU set prints them.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        let line = |one: &MeasuredValue| match (one.skewed, self.header.starts_with("# Avg")) {
            (Some(skewed), _) => format!(
                "{:<10}{:>20.2}{:>12.2}{:>14.2}{:>12.2}",
                one.size, one.value, skewed.total_us, skewed.handler_us, skewed.handlers
            ),
            (None, true) => format!("{:>17.2}", one.value),
            (None, false) => format!("{:<10}{:>20.2}", one.size, one.value),
        };
        let solved = |one: &MeasuredValue| Some(one.solved?.line(one.size, one.value));
        let lines = self.measured.iter();
        let lines = lines.map(|one| solved(one).unwrap_or_else(|| line(one)));
        std::iter::once(self.header.to_owned())
            .chain(lines)
            .collect()
    }

    /// Shares of time by activity, as means over the ranks; `None` if the program has not ended.
    #[must_use]
    pub fn time_line(&self) -> Option<String> {
        let all: f64 = self.times.iter().map(TimeUse::total_us).sum();
        let part = |name: &str, of: fn(&TimeUse) -> f64| {
            let part: f64 = self.times.iter().map(of).sum();
            format!("{name} {:.1} %", 100.0 * part / all)
        };
        let parts = [
            part("compute", |one| one.compute_us),
            part("library", |one| one.library_us),
            part("copies", |one| one.copies_us),
            part("waiting", |one| one.waiting_us),
            part("handlers", |one| one.handlers_us),
        ];
        let mean = all / self.times.len() as f64;
        (all > 0.0).then(|| format!("{mean:.1} us: {}", parts.join(", ")))
    }
}

impl Outcome for MpiUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let head = format!("{} of {}", self.benchmark, self.ranks);
        let values = self.values().into_iter().map(|line| ("", line));
        let times = self.time_line().map(|line| ("mpi time", line));
        [("mpi", head)]
            .into_iter()
            .chain(values)
            .chain(times)
            .collect()
    }
}

/// The part of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiPlan {
    /// The settings, the same for all ranks.
    pub settings: MpiSettings,
    /// The nodes, by rank.
    pub nodes: Vec<u16>,
    /// The own rank.
    pub rank: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
}

impl MpiPlan {
    /// The plans of all ranks, with their nodes.
    #[must_use]
    pub fn all(settings: &MpiSettings, nodes: &[usize], start_ns: u64) -> Vec<(usize, Self)> {
        let plan = |(rank, node): (usize, &usize)| {
            let plan = Self {
                settings: settings.clone(),
                nodes: nodes.iter().map(|node| *node as u16).collect(),
                rank,
                start_ns,
            };
            (*node, plan)
        };
        nodes.iter().enumerate().map(plan).collect()
    }

    /// Runs the program over GM.
    ///
    /// # Errors
    /// As [`run`].
    pub async fn over_gm(&self, mut gm: Gm) -> Result<MpiReport, String> {
        let at = |node| Endpoint { node, port: PORT };
        let members: Vec<_> = self.nodes.iter().copied().map(at).collect();
        let own = members.get(self.rank).copied().ok_or("no such rank")?;
        gm.open(PORT).await.map_err(text)?;
        if gm.nodes() == 0 {
            gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
        }
        let transport = GmTransport::new(gm, &members, own, self.settings.gm()).await;
        let mut transport = transport.map_err(text)?;
        transport.compute(LEAD_NS + self.start_ns).await;
        run(transport, &self.settings).await
    }

    /// Runs the program over EMP.
    ///
    /// # Errors
    /// As [`run`].
    pub async fn over_emp(&self, emp: Emp) -> Result<MpiReport, String> {
        let eager_bytes = self.settings.eager_bytes;
        let transport = EmpTransport::new(emp, &self.nodes, self.rank, eager_bytes).await;
        let mut transport = transport.map_err(text)?;
        transport.compute(LEAD_NS + self.start_ns).await;
        run(transport, &self.settings).await
    }
}

/// Runs a program; what its rank 0 reports.
///
/// # Errors
/// The library's, or a wrong result.
pub async fn run<T: Transport + 'static>(
    transport: T,
    settings: &MpiSettings,
) -> Result<MpiReport, String> {
    let mut mpi = Mpi::with(transport, settings.config()).map_err(|error| error.to_string())?;
    if settings.bypasses() {
        let enabled = mpi.bypass(settings.bypass).await;
        enabled.map_err(|error| error.to_string())?;
    }
    let measured = execute(&mut mpi, settings).await?;
    let world = mpi.world();
    let own = TimeUse::values(&mpi.times());
    let all = mpi.gather(&world, 0, &own).await;
    let all = all.map_err(|error| error.to_string())?.unwrap_or_default();
    let times = all.chunks(TimeUse::VALUES).filter_map(TimeUse::from_values);
    let times = times.collect();
    let left = mpi.finalize().await.map_err(|error| error.to_string())?;
    match left {
        0 => Ok(MpiReport { measured, times }),
        _ => Err(format!("{left} messages have no receive at the end")),
    }
}

async fn execute<T: Transport>(
    mpi: &mut Mpi<T>,
    settings: &MpiSettings,
) -> Result<Vec<MeasuredValue>, String> {
    match settings.work {
        MpiWork::Stencil { points, steps } => {
            let operation_ns = settings.operation_ns;
            stencil::run(mpi, points, steps, operation_ns).await
        }
        MpiWork::IntegerSort(class) => sort::run(mpi, class, settings).await,
        MpiWork::Solve(solver, grid) => solver::run(mpi, solver, grid, settings).await,
        _ => benchmark::run(mpi, settings)
            .await
            .map_err(|error| error.to_string()),
    }
}
