//! Speed with all CPUs of a board busy.

use emulator::sim::node::Node;
use emulator::sim::time::SimTime;

use super::{Measurement, Pace, Quantity, Sample, Target};
use lanigon_worlds::boards::{self, BoardType};
use lanigon_worlds::kernel::{self, Code};
use lanigon_worlds::profile::built_in;

const SLOWDOWN: Quantity = Quantity {
    key: "busy_slowdown",
    what: "wall time over simulated time, both CPUs busy, code in scratchpads",
    target: Target::None,
};

/// Simulated time between two reads of the wall clock.
const SLICE: SimTime = SimTime::from_us(1_000);

/// A board whose CPUs run the benchmark kernel.
#[derive(Debug)]
pub struct Busy {
    node: Node,
    mips: Quantity,
    slowdown: Option<Quantity>,
}

impl Busy {
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

    fn new(board: &BoardType, busy: &boards::Busy) -> anyhow::Result<Self> {
        let mut node = kernel::busy_node(&built_in(board.profile)?, busy.code)?;
        // Fill the cache of decoded code.
        node.run_until(SLICE);
        let mips = Quantity {
            key: busy.key,
            what: busy.what,
            target: Target::AtLeast(busy.least_mips),
        };
        let slowdown = (busy.code == Code::Private).then_some(SLOWDOWN);
        Ok(Self {
            node,
            mips,
            slowdown,
        })
    }
}

impl Measurement for Busy {
    fn quantities(&self) -> Vec<Quantity> {
        [Some(self.mips), self.slowdown]
            .into_iter()
            .flatten()
            .collect()
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let node = &mut self.node;
        let (instructions, start) = (kernel::instructions(node), node.now());
        let Some(wall) = pace.time(|| node.run_until(node.now() + SLICE)) else {
            return Ok(Vec::new());
        };
        let done = kernel::instructions(node) - instructions;
        let mips = done as f64 / wall.as_secs_f64() / 1e6;
        let slowdown = wall.as_secs_f64() * 1e6 / (node.now() - start).us();
        let slowdown = self.slowdown.map(|quantity| (quantity, slowdown));
        Ok([(self.mips, mips)].into_iter().chain(slowdown).collect())
    }
}
