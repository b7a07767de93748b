//! What is measured: a program on boards, by protocol and number of nodes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::time::SimTime;
use lanigon_experiments::paper::Amount;
use lanigon_experiments::{Error, scenario};
use lanigon_workloads::dsm::DsmUse;
use lanigon_workloads::dsm::NodeTimes;
use serde::Serialize;

use super::{OTHER, PROFILE};

/// Numbers of nodes of the curves.
pub const NODES: [u16; 4] = [2, 4, 8, 16];
/// Limit of simulated time of a run.
const LIMIT: SimTime = SimTime::from_us(600_000_000);

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Program {
    /// The benchmark of page fetches.
    Pages,
    /// Barnes-Hut.
    Barnes,
    /// Radix sort.
    Radix,
    /// Integer sort.
    Integer,
    /// Fourier transform in three dimensions.
    Fft,
    /// Water.
    Water,
}

impl Program {
    /// The applications.
    pub const APPLICATIONS: [Self; 5] = [
        Self::Barnes,
        Self::Radix,
        Self::Integer,
        Self::Fft,
        Self::Water,
    ];

    /// As the paper calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Barnes => "Barnes",
            Self::Radix => "RS",
            Self::Integer => "IS",
            Self::Fft => "3DFFT",
            Self::Water => "Water",
        }
    }

    /// As scenarios call it.
    const fn key(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Barnes => "barnes-hut",
            Self::Radix => "radix-sort",
            Self::Integer => "integer-sort",
            Self::Fft => "fft",
            Self::Water => "water",
        }
    }
}

/// Size of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Size {
    /// Smaller than published, for quick runs.
    Reduced,
    /// The small one of table 2.
    Small,
    /// The large one of table 2.
    Large,
}

impl Size {
    /// Pages, bodies, keys, points of a side, molecules.
    #[must_use]
    pub const fn of(self, program: Program) -> usize {
        let [reduced, small, large] = match program {
            Program::Pages => [128, 1_024, 1_024],
            Program::Barnes => [1_024, 16_384, 32_678],
            Program::Radix => [13_122, 52_488, 2_621_440],
            Program::Integer => [1 << 17, 1 << 21, 1 << 23],
            Program::Fft => [32, 64, 128],
            Program::Water => [512, 4_096, 8_192],
        };
        match self {
            Self::Reduced => reduced,
            Self::Small => small,
            Self::Large => large,
        }
    }

    /// Its name in texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reduced => "reduced",
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// The testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Testbed {
    /// The paper's.
    Paper,
    /// The same; posts cost the library's own time only, and a running handler takes the next request without a dispatch.
    CheapHandler,
    /// LANai 9.2 on Myrinet.
    Lanai,
}

impl Testbed {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Paper, Self::CheapHandler, Self::Lanai];

    /// Its name in texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => PROFILE,
            Self::CheapHandler => "hca-4x, cheap handler",
            Self::Lanai => OTHER,
        }
    }
}

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// The testbed.
    pub testbed: Testbed,
    /// The program.
    pub program: Program,
    /// Its size.
    pub size: Size,
    /// Number of nodes.
    pub nodes: u16,
    /// Whether pages are fetched without handlers.
    pub ardmar: bool,
}

/// Sizes of the applications, the largest last.
#[must_use]
pub const fn sizes(amount: Amount) -> &'static [Size] {
    match amount {
        Amount::Quick => &[Size::Reduced],
        Amount::Usual => &[Size::Small],
        Amount::Full => &[Size::Small, Size::Large],
    }
}

/// Size of the benchmark of page fetches.
#[must_use]
pub const fn pages(amount: Amount) -> Size {
    amount.of([Size::Reduced, Size::Small, Size::Small])
}

/// Most nodes of the applications.
#[must_use]
pub const fn most_nodes(amount: Amount) -> u16 {
    amount.of([8, 16, 16])
}

/// All runs, those that take longest first.
#[must_use]
pub fn keys(amount: Amount) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut add = |testbed, program, size, nodes| {
        for ardmar in [false, true] {
            keys.push(Key {
                testbed,
                program,
                size,
                nodes,
                ardmar,
            });
        }
    };
    let most = most_nodes(amount);
    for &size in sizes(amount).iter().rev() {
        for program in Program::APPLICATIONS {
            for testbed in Testbed::ALL {
                add(testbed, program, size, most);
            }
            let fewer = NODES.into_iter().rev().filter(|nodes| *nodes < most);
            for nodes in fewer.chain([1]) {
                add(Testbed::Paper, program, size, nodes);
            }
        }
    }
    for testbed in Testbed::ALL {
        for nodes in NODES.into_iter().rev() {
            add(testbed, Program::Pages, pages(amount), nodes);
        }
    }
    keys
}

impl Key {
    /// Its scenario.
    fn scenario(&self) -> String {
        let Self {
            testbed,
            program,
            size,
            nodes,
            ardmar,
        } = *self;
        let board = match testbed {
            Testbed::Paper | Testbed::CheapHandler => PROFILE,
            Testbed::Lanai => OTHER,
        };
        let (costs, dispatch) = match testbed {
            Testbed::CheapHandler => (
                "[costs]\n\"host.dsm_post\" = 0\n\"host.dsm_post_byte\" = 0\n\"host.dsm_immediate\" = 0\n\"host.dsm_receive\" = 0\n",
                "once",
            ),
            Testbed::Paper | Testbed::Lanai => ("", "each"),
        };
        let protocol = if ardmar { "ardmar" } else { "async" };
        let (application, size) = (program.key(), size.of(program));
        // A star has two nodes at least.
        let all = nodes.max(2);
        format!(
            "board = \"{board}\"\nprotocol = \"gm\"\nhost_memory_mb = {MEMORY_MB}\n{costs}[network]\ntopology = \"star\"\nnodes = {all}\n[[program]]\nrun = \"dsm\"\nnodes = [\"0..{nodes}\"]\n\
             application = \"{application}\"\nprotocol = \"{protocol}\"\nsize = {size}\ndispatch = \"{dispatch}\"\n"
        )
    }

    /// Runs it: the means of its nodes. The program compares its result with that of one process.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(&self, interrupt: &Arc<AtomicBool>) -> Result<NodeTimes, Error> {
        let outcome = scenario::run(&self.scenario(), Some(LIMIT), interrupt)?;
        let used = outcome.result::<DsmUse>();
        let used = used.filter(|used| !used.nodes.is_empty());
        Ok(used.ok_or(Error::NoRound)?.mean)
    }
}

/// Host memory of a node.
const MEMORY_MB: u32 = 256;
