//! Programs of message passing (`host_lib::mpi`) that people know: benchmarks after the OSU set, an integer sort, a stencil.
//!
//! They are written against [`Mpi`] alone, so they run over GM and over EMP. Each checks what it computes.

mod benchmark;
mod sort;
mod stencil;

use host_lib::mpi::{BarrierOn, Config, Mpi, MpiError, Transport};

pub use sort::Class;

/// What a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Half the time of a message there and back, between the first two ranks.
    Latency,
    /// Messages in windows from the first rank to the second one.
    Bandwidth,
    /// The same in both directions at the same time.
    BothWays,
    /// Mean time of a rank in a broadcast.
    Broadcast,
    /// Mean time of a rank in a reduction of doubles.
    Reduce,
    /// Mean time of a rank in a reduction of doubles whose result all get.
    AllReduce,
    /// Mean time of a rank in a barrier.
    Barrier,
    /// The integer sort of the NAS parallel benchmarks.
    IntegerSort(Class),
    /// Heat on a plate: a stencil of five points.
    Stencil {
        /// Points of the plate in each direction.
        points: usize,
        /// Steps in time.
        steps: usize,
    },
}

impl Work {
    /// Its name in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::BothWays => "both-ways",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllReduce => "all-reduce",
            Self::Barrier => "barrier",
            Self::IntegerSort(_) => "integer-sort",
            Self::Stencil { .. } => "stencil",
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
            Self::Latency => Some(0),
            Self::Bandwidth | Self::BothWays | Self::Broadcast => Some(1),
            Self::Reduce | Self::AllReduce => Some(8),
            Self::Barrier | Self::IntegerSort(_) | Self::Stencil { .. } => None,
        }
    }

    /// Header of its results, as the OSU set prints it.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::Latency => "# Size          Latency (us)",
            Self::Bandwidth | Self::BothWays => "# Size      Bandwidth (MB/s)",
            Self::Broadcast | Self::Reduce | Self::AllReduce => "# Size       Avg Latency(us)",
            Self::Barrier => "# Avg Latency(us)",
            Self::IntegerSort(_) => "# Keys           Mop/s total",
            Self::Stencil { .. } => "# Points        Time (us/step)",
        }
    }
}

/// A program and its settings, the same for all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiSettings {
    /// What it does.
    pub work: Work,
    /// Lengths of messages in bytes.
    pub sizes: Vec<usize>,
    /// Rounds that are not measured, before the others.
    pub warmup: u32,
    /// Measured rounds: of each length, of a sort.
    pub rounds: u32,
    /// Messages up to so many bytes are sent at once.
    pub eager_bytes: usize,
    /// Where barriers are executed.
    pub barrier: BarrierOn,
    /// Processor time of the library for each send and receive, in ns.
    pub library_ns: u64,
    /// Processor time that pins a page of a long message, in ns.
    pub pin_page_ns: u64,
    /// Processor time of an operation of a kernel (a point, a key), in ns.
    pub operation_ns: u64,
}

impl MpiSettings {
    /// The usual settings of a program.
    #[must_use]
    pub fn new(work: Work) -> Self {
        let Config {
            eager_bytes,
            barrier,
            library_ns,
            ..
        } = Config::default();
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
            library_ns,
            pin_page_ns: 1000,
            operation_ns: 10,
        }
    }

    /// The settings of the library.
    #[must_use]
    pub fn config(&self) -> Config {
        Config {
            eager_bytes: self.eager_bytes,
            barrier: self.barrier,
            library_ns: self.library_ns,
            ..Config::default()
        }
    }
}

/// A measured value of a program.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Measured {
    /// Bytes of a message, keys of a sort, points of a stencil; 0 for a barrier.
    pub size: usize,
    /// In the unit of the program's [`header`](Work::header).
    pub value: f64,
}

/// Runs a program; the values that its rank 0 reports.
///
/// # Errors
/// The library's, or a wrong result.
pub async fn run<T: Transport>(
    transport: T,
    settings: &MpiSettings,
) -> Result<Vec<Measured>, String> {
    let mut mpi = Mpi::with(transport, settings.config()).map_err(|error| error.to_string())?;
    let measured = execute(&mut mpi, settings).await?;
    let left = mpi.finalize().await.map_err(|error| error.to_string())?;
    match left {
        0 => Ok(measured),
        _ => Err(format!("{left} messages have no receive at the end")),
    }
}

async fn execute<T: Transport>(
    mpi: &mut Mpi<T>,
    settings: &MpiSettings,
) -> Result<Vec<Measured>, String> {
    match settings.work {
        Work::Stencil { points, steps } => {
            let operation_ns = settings.operation_ns;
            stencil::run(mpi, points, steps, operation_ns).await
        }
        Work::IntegerSort(class) => sort::run(mpi, class, settings).await,
        _ => benchmark::run(mpi, settings)
            .await
            .map_err(|error: MpiError| error.to_string()),
    }
}
