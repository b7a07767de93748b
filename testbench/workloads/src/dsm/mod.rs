//! Programs over shared memory (`host_lib::dsm`): a benchmark of page fetches, and applications after their published descriptions. Each
//! compares its result with that of one process.

mod barnes;
mod fft;
mod integer_sort;
mod keys;
mod pages;
mod radix;
mod random;
mod summary;
mod tree;
mod water;
mod workload;

use host_lib::gm::Gm;
use std::fmt::Display;
use std::ops::Range;

use emulator::profile::costs::HostCosts;
use emulator::sim::time::SimTime;
use host_lib::dsm::{self, Dsm, Report, Shared};
use host_lib::gm::collective::Endpoint;
use host_lib::window::System;

pub use barnes::MOST_ROUNDS;
pub use summary::{DsmUse, NodeTimes};
pub use workload::KIND;

use crate::collective::{LEAD_NS, LONGEST_MAPPING_NS, PORT};

type SharedPages = Dsm;

/// Work of a program, with its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DsmWork {
    /// All nodes but the first read a word of each of these pages, whose home is the first node.
    Pages(usize),
    /// Radix sort of so many keys.
    Radix(usize),
    /// Integer sort of so many keys.
    IntegerSort(usize),
    /// Fourier transform of a cube of this grid.
    Fft(usize),
    /// Gravitation of so many bodies after Barnes and Hut.
    Barnes(usize),
    /// So many molecules of water.
    Water(usize),
}

impl DsmWork {
    /// Name of the program in scenarios and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pages(_) => "pages",
            Self::Radix(_) => "radix-sort",
            Self::IntegerSort(_) => "integer-sort",
            Self::Fft(_) => "fft",
            Self::Barnes(_) => "barnes-hut",
            Self::Water(_) => "water",
        }
    }

    /// Pages, keys, points of a side, bodies, molecules.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Pages(size)
            | Self::Radix(size)
            | Self::IntegerSort(size)
            | Self::Fft(size)
            | Self::Barnes(size)
            | Self::Water(size) => size,
        }
    }

    /// Changes the size of the program.
    #[must_use]
    pub const fn with_size(self, size: usize) -> Self {
        match self {
            Self::Pages(_) => Self::Pages(size),
            Self::Radix(_) => Self::Radix(size),
            Self::IntegerSort(_) => Self::IntegerSort(size),
            Self::Fft(_) => Self::Fft(size),
            Self::Barnes(_) => Self::Barnes(size),
            Self::Water(_) => Self::Water(size),
        }
    }

    /// Rounds, unless a scenario says otherwise: of ranking, of transforms, steps in time. Other programs have one.
    #[must_use]
    pub const fn rounds(self) -> u32 {
        match self {
            Self::IntegerSort(_) => 5,
            Self::Fft(_) | Self::Barnes(_) | Self::Water(_) => 2,
            Self::Pages(_) | Self::Radix(_) => 1,
        }
    }

    /// Lengths in bytes of the regions of shared memory.
    fn regions(self, nodes: usize) -> Vec<usize> {
        match self {
            Self::Pages(pages) => vec![pages * pages::PAGE_BYTES],
            Self::Radix(keys) => radix::words(keys, nodes).map(|words| 4 * words).to_vec(),
            Self::IntegerSort(_) => vec![4 * integer_sort::words()],
            Self::Fft(grid) => vec![8 * fft::doubles(grid); 2],
            Self::Barnes(bodies) => barnes::bytes(bodies).to_vec(),
            Self::Water(molecules) => vec![8 * water::doubles(molecules); 3],
        }
    }
}

/// A program and its settings, the same for all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DsmSettings {
    /// Work of the program.
    pub work: DsmWork,
    /// Number of rounds.
    pub rounds: u32,
    /// The shared memory; its pages are counted by [`memory`](Self::memory).
    pub memory: dsm::Settings,
    /// Clock of the host's processor, in MHz: what a counted operation costs (ardmar-007).
    pub clock_mhz: u32,
}

impl DsmSettings {
    /// The usual settings of a program.
    #[must_use]
    pub const fn new(work: DsmWork, protocol: dsm::Protocol) -> Self {
        Self {
            work,
            rounds: work.rounds(),
            memory: dsm::Settings::new(protocol, 0),
            clock_mhz: 2400,
        }
    }

    /// The settings of the shared memory of `nodes` nodes.
    #[must_use]
    pub fn memory(&self, nodes: usize) -> dsm::Settings {
        let page_bytes = self.memory.page_bytes as usize;
        let regions = self.work.regions(nodes).into_iter();
        let pages: usize = regions.map(|bytes| bytes.div_ceil(page_bytes)).sum();
        dsm::Settings {
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            ..self.memory
        }
    }

    /// Bytes of host memory that a node needs.
    #[must_use]
    pub fn memory_bytes(&self, nodes: usize) -> u64 {
        self.memory(nodes).memory_bytes(nodes) + dsm::buffer_bytes()
    }
}

/// The part of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DsmPlan {
    /// The settings, the same for all nodes.
    pub settings: DsmSettings,
    /// The nodes, by rank.
    pub nodes: Vec<u16>,
    /// The own rank.
    pub rank: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
}

impl DsmPlan {
    /// The plans of all ranks, with their nodes.
    #[must_use]
    pub fn all(settings: &DsmSettings, nodes: &[usize], start_ns: u64) -> Vec<(usize, Self)> {
        let plan = |(rank, node): (usize, &usize)| {
            let plan = Self {
                settings: *settings,
                nodes: nodes.iter().map(|node| *node as u16).collect(),
                rank,
                start_ns,
            };
            (*node, plan)
        };
        nodes.iter().enumerate().map(plan).collect()
    }

    /// Runs the program on a node whose host has these costs.
    ///
    /// # Errors
    /// The library's, or a wrong result.
    pub async fn run(&self, mut gm: Gm, host: &HostCosts) -> Result<Report, String> {
        let at = |node: &u16| Endpoint {
            node: *node,
            port: PORT,
        };
        let members: Vec<_> = self.nodes.iter().map(at).collect();
        let own = members.get(self.rank).copied().ok_or("no such rank")?;
        gm.open(PORT).await.map_err(text)?;
        if gm.nodes() == 0 {
            gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
        }
        gm.system_mut().compute(LEAD_NS + self.start_ns).await;
        let mut memory = self.settings.memory(members.len());
        memory.costs = costs(memory.costs, host);
        let dsm = Dsm::start(gm, &members, own, memory).await;
        let mut worker = Worker {
            dsm: dsm.map_err(text)?,
            clock_mhz: self.settings.clock_mhz.into(),
            cycles: 0,
        };
        match execute(&mut worker, &self.settings).await {
            Ok(Verified(report)) => {
                worker.dsm.finish().await.map_err(text)?;
                Ok(report)
            }
            Err(error) => {
                // The others end too.
                worker.dsm.leave().await.map_err(text)?;
                Err(error)
            }
        }
    }
}

/// The costs of shared memory on a host.
fn costs(usual: dsm::Costs, host: &HostCosts) -> dsm::Costs {
    let nanoseconds = |time: SimTime| time.ps() / 1000;
    // An interrupt wakes the handler's thread.
    let dispatch = [
        host.interrupt,
        host.interrupt_work,
        host.wake_up,
        host.context_switch,
    ];
    dsm::Costs {
        dispatch_ns: dispatch.into_iter().map(nanoseconds).sum(),
        posts: dsm::Posts {
            start_ns: nanoseconds(host.dsm.post),
            byte_ps: host.dsm.post_byte.ps(),
            immediate_ns: nanoseconds(host.dsm.immediate),
        },
        receive_ns: nanoseconds(host.dsm.receive),
        atomic_ns: nanoseconds(host.dsm.atomic),
        get_byte_ps: host.dsm.get_byte.ps(),
        ..usual
    }
}

async fn execute(worker: &mut Worker, settings: &DsmSettings) -> Result<Verified, String> {
    let rounds = settings.rounds;
    match settings.work {
        DsmWork::Pages(pages) => pages::run(worker, pages).await,
        DsmWork::Radix(keys) => radix::run(worker, keys).await,
        DsmWork::IntegerSort(keys) => integer_sort::run(worker, keys, rounds).await,
        DsmWork::Fft(grid) => fft::run(worker, grid, rounds).await,
        DsmWork::Barnes(bodies) => barnes::run(worker, bodies, rounds).await,
        DsmWork::Water(molecules) => water::run(worker, molecules, rounds).await,
    }
}

/// The report of the measured part of a program whose result is right.
struct Verified(Report);

/// A node of an application: its memory, and its processor's clock.
struct Worker {
    dsm: SharedPages,
    clock_mhz: u64,
    /// Cycles that have not been spent: less than a microsecond's.
    cycles: u64,
}

impl Worker {
    const fn rank(&self) -> usize {
        self.dsm.rank()
    }

    const fn nodes(&self) -> usize {
        self.dsm.nodes()
    }

    /// Spends cycles of the processor on the program's own work.
    async fn work(&mut self, cycles: u64) -> Result<(), String> {
        self.cycles += cycles;
        let nanoseconds = self.cycles * 1000 / self.clock_mhz;
        if nanoseconds < 1000 {
            return Ok(());
        }
        self.cycles -= nanoseconds * self.clock_mhz / 1000;
        self.dsm.compute(nanoseconds).await.map_err(text)
    }

    async fn barrier(&mut self) -> Result<(), String> {
        self.dsm.barrier().await.map_err(text)
    }

    /// Begins the measured part of the program.
    async fn begin(&mut self) -> Result<(), String> {
        self.barrier().await?;
        self.dsm.measure();
        Ok(())
    }

    /// Ends the measured part; then the first node checks the result.
    async fn end(
        &mut self,
        is_right: impl AsyncFnOnce(&mut Self) -> Result<bool, String>,
    ) -> Result<Verified, String> {
        let report = self.dsm.report();
        if self.rank() == 0 && !is_right(self).await? {
            return Err("the result is not that of one process".into());
        }
        Ok(Verified(report))
    }

    /// Adds numbers to shared ones from `first` on: section by section, each under a lock of its own, nodes beginning with different ones.
    async fn add_under_locks(
        &mut self,
        shared: Shared<u32>,
        first: usize,
        numbers: &[u32],
    ) -> Result<(), String> {
        /// Cycles of the host: a number is added.
        const ADD_CYCLES: u64 = 4;
        let nodes = self.nodes();
        for step in 0..nodes {
            let section = (self.rank() + step) % nodes;
            let range = part(numbers.len(), nodes, section);
            let at = first + range.start;
            let lock = section as u32;
            self.dsm.acquire(lock).await.map_err(text)?;
            let sums = self.dsm.read(shared, at..first + range.end).await;
            let mut sums = sums.map_err(text)?;
            let own = &numbers[range];
            sums.iter_mut()
                .zip(own)
                .for_each(|(sum, number)| *sum += number);
            self.work(sums.len() as u64 * ADD_CYCLES).await?;
            self.dsm.write(shared, at, &sums).await.map_err(text)?;
            self.dsm.release(lock).await.map_err(text)?;
        }
        Ok(())
    }
}

/// The part of a node of so many elements.
fn part(count: usize, nodes: usize, rank: usize) -> Range<usize> {
    rank * count / nodes..(rank + 1) * count / nodes
}

fn text(error: impl Display) -> String {
    error.to_string()
}
