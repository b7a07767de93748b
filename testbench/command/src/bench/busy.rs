//! Speed with all CPUs of a board busy.

use emulator::profile::Profile;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;

use super::{Measurement, Pace, Quantity, Sample, Target};
use lanigon_worlds::kernel::{self, Code};

const MIPS: Quantity = Quantity {
    key: "busy_mips",
    what: "both CPUs busy, code in scratchpads, data in SRAM: million instructions a second",
    target: Target::AtLeast(250.0),
};
const MIPS_SRAM: Quantity = Quantity {
    key: "busy_mips_sram",
    what: "the same with code in SRAM",
    target: Target::AtLeast(150.0),
};
const SLOWDOWN: Quantity = Quantity {
    key: "busy_slowdown",
    what: "wall time over simulated time, both CPUs busy, code in scratchpads",
    target: Target::None,
};
const LANAI_MIPS: Quantity = Quantity {
    key: "busy_lanai_mips",
    what: "a LANai that searches, copies and checksums: million instructions a second",
    target: Target::AtLeast(300.0),
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
    /// A Tigon2 with code in SRAM or in the scratchpads.
    ///
    /// # Errors
    /// If the profile is for another board, or the kernel does not assemble.
    pub fn tigon2(profile: &Profile, code: Code) -> anyhow::Result<Self> {
        let (mips, slowdown) = match code {
            Code::Private => (MIPS, Some(SLOWDOWN)),
            Code::Shared => (MIPS_SRAM, None),
        };
        Self::new(profile, code, mips, slowdown)
    }

    /// A LANai, which has one memory.
    ///
    /// # Errors
    /// If the profile is for another board, or the kernel does not assemble.
    pub fn lanai(profile: &Profile) -> anyhow::Result<Self> {
        Self::new(profile, Code::Shared, LANAI_MIPS, None)
    }

    fn new(
        profile: &Profile,
        code: Code,
        mips: Quantity,
        slowdown: Option<Quantity>,
    ) -> anyhow::Result<Self> {
        let mut node = kernel::busy_node(profile, code)?;
        // Fill the cache of decoded code.
        node.run_until(SLICE);
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
