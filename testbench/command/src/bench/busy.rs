//! Speed with all CPUs of a board busy, and with firmware that is idle but polls.

use emulator::profile::Profile;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;

use super::{Measurement, Pace, Quantity, QuantityTarget, Sample, World};
use lanigon_worlds::boards::{self, BoardType};
use lanigon_worlds::builder;
use lanigon_worlds::busy_nodes::{self, CodeMemory, Load};
use lanigon_worlds::profile::built_in;

const SLOWDOWN: Quantity = Quantity {
    key: "busy_slowdown",
    what: "wall time over simulated time, both CPUs busy, code in scratchpads",
    target: QuantityTarget::None,
};

const POLLING: Quantity = Quantity {
    key: "polling_realtime",
    what: "simulated time over wall time, a board with firmware that is idle and polls once in 5 us",
    target: QuantityTarget::AtLeast(100.0),
};

/// Simulated time between two reads of the wall clock.
const SLICE: SimTime = SimTime::from_us(1_000);
/// Simulated time between two reads of the wall clock while a board polls.
const POLLING_SLICE: SimTime = SimTime::from_us(100_000);

/// A board whose CPUs run the benchmark kernel.
#[derive(Debug)]
pub struct BusyBoard {
    node: Node,
    mips: Quantity,
    slowdown: Option<Quantity>,
}

impl BusyBoard {
    /// The measurements of all types of boards.
    ///
    /// # Errors
    /// If a kernel does not assemble.
    pub fn all() -> anyhow::Result<Vec<Self>> {
        let measured = |board: &'static BoardType| {
            let of_board = board.busy.iter();
            of_board.map(move |busy| Self::new(board, busy))
        };
        boards::BOARDS.iter().flat_map(measured).collect()
    }

    fn new(board: &BoardType, busy: &boards::BusyMeasurement) -> anyhow::Result<Self> {
        let mut node = busy_nodes::busy_node(&built_in(board.profile)?, busy.code)?;
        // Fill the cache of decoded code.
        node.run_until(SLICE);
        let mips = Quantity {
            key: busy.key,
            what: busy.what,
            target: QuantityTarget::AtLeast(busy.least_mips),
        };
        let slowdown = (busy.code == CodeMemory::Private).then_some(SLOWDOWN);
        Ok(Self {
            node,
            mips,
            slowdown,
        })
    }
}

impl Measurement for BusyBoard {
    fn quantities(&self) -> Vec<Quantity> {
        [Some(self.mips), self.slowdown]
            .into_iter()
            .flatten()
            .collect()
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let node = &mut self.node;
        let (instructions, start) = (busy_nodes::instructions(node), node.now());
        let Some(wall) = pace.time(|| node.run_until(node.now() + SLICE)) else {
            return Ok(Vec::new());
        };
        let done = busy_nodes::instructions(node) - instructions;
        let mips = done as f64 / wall.as_secs_f64() / 1e6;
        let slowdown = wall.as_secs_f64() * 1e6 / (node.now() - start).us();
        let slowdown = self.slowdown.map(|quantity| (quantity, slowdown));
        Ok([(self.mips, mips)].into_iter().chain(slowdown).collect())
    }
}

/// A board with firmware that is idle, but polls by the timer.
#[derive(Debug)]
pub struct Polling(World);

impl Polling {
    /// A Tigon2, some time after its start.
    ///
    /// # Errors
    /// If the firmware does not assemble.
    pub fn new(profile: &Profile) -> anyhow::Result<Self> {
        let mut node = busy_nodes::node(profile, Load::Polling)?;
        node.run_until(SLICE);
        Ok(Self(builder::alone(node)))
    }
}

impl Measurement for Polling {
    fn quantities(&self) -> Vec<Quantity> {
        vec![POLLING]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let world = &mut self.0;
        let start = world.now();
        let Some(wall) = pace.time(|| {
            let end = world.now() + POLLING_SLICE;
            world.pass_time(&pace.limits(std::num::NonZeroUsize::MIN, end));
        }) else {
            return Ok(Vec::new());
        };
        let simulated_s = (world.now() - start).us() / 1e6;
        Ok(vec![(POLLING, simulated_s / wall.as_secs_f64())])
    }
}
