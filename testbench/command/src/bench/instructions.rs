//! Overhead of instruction logs of two busy CPUs.

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use emulator::observe::file::InstructionTrace;
use emulator::observe::file::{ChunkWriter, Header};
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;

use super::{Measurement, Pace, Quantity, QuantityTarget, Sample};
use lanigon_worlds::builder;
use lanigon_worlds::busy_nodes::{self, CodeMemory};

const MIPS: Quantity = Quantity {
    key: "instruction_trace_mips",
    what: "as busy_mips, with every instruction and its time written to a file",
    target: QuantityTarget::AtLeast(50.0),
};
const BYTES: Quantity = Quantity {
    key: "instruction_trace_bytes",
    what: "bytes an instruction takes in that file",
    target: QuantityTarget::AtMost(6.0),
};

const SLOWDOWN: Quantity = Quantity {
    key: "instruction_trace_slowdown",
    what: "two busy CPUs with every instruction written to a file, against none",
    target: QuantityTarget::AtMost(1.5),
};

/// Simulated time between two reads of the wall clock.
const SLICE: SimTime = SimTime::from_us(1_000);

/// A board with the benchmark kernel and instruction logs.
#[derive(Debug)]
pub struct Instructions {
    world: World,
    path: PathBuf,
}

impl Instructions {
    /// A board with code in the scratchpads and data in SRAM.
    ///
    /// # Errors
    /// If the kernel does not assemble.
    pub fn new(profile: &Profile) -> anyhow::Result<Self> {
        let name = format!("lanigon-bench-{}.instructions", std::process::id());
        Ok(Self {
            world: builder::alone(busy_nodes::busy_node(profile, CodeMemory::Private)?),
            path: std::env::temp_dir().join(name),
        })
    }

    /// Million instructions a second without a log; `None` when interrupted.
    fn plain(&mut self, pace: &Pace<'_>) -> Option<f64> {
        let world = &mut self.world;
        let before = busy_nodes::instructions(&world.nodes[0]);
        let wall = pace.time(|| {
            let limits = pace.limits(std::num::NonZeroUsize::MIN, world.now() + SLICE);
            world.pass_time(&limits);
        })?;
        let done = busy_nodes::instructions(&world.nodes[0]) - before;
        Some(done as f64 / wall.as_secs_f64() / 1e6)
    }

    /// Duration in seconds; `None` when interrupted.
    fn run(&mut self, pace: &Pace<'_>) -> anyhow::Result<Option<f64>> {
        let shown = || self.path.display().to_string();
        let file = File::create(&self.path).with_context(shown)?;
        let chunks = ChunkWriter::new(Box::new(file), &Header::default()).with_context(shown)?;
        let world = &mut self.world;
        world.observe(Box::new(InstructionTrace::new(chunks)));
        let clock = Instant::now();
        let ran = pace.time(|| {
            let limits = pace.limits(std::num::NonZeroUsize::MIN, world.now() + SLICE);
            world.pass_time(&limits);
        });
        let failed = world.finish_observing().into_iter().next();
        let seconds = clock.elapsed().as_secs_f64();
        failed.map_or(Ok(()), Err).with_context(shown)?;
        Ok(ran.map(|_| seconds))
    }
}

impl Measurement for Instructions {
    fn quantities(&self) -> Vec<Quantity> {
        vec![MIPS, SLOWDOWN, BYTES]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let Some(plain) = self.plain(pace) else {
            return Ok(Vec::new());
        };
        let before = busy_nodes::instructions(&self.world.nodes[0]);
        let seconds = self.run(pace);
        let shown = || self.path.display().to_string();
        let bytes = std::fs::metadata(&self.path).with_context(shown)?.len();
        std::fs::remove_file(&self.path).with_context(shown)?;
        let Some(seconds) = seconds? else {
            return Ok(Vec::new());
        };
        let done = (busy_nodes::instructions(&self.world.nodes[0]) - before) as f64;
        let mips = done / seconds / 1e6;
        Ok(vec![
            (MIPS, mips),
            (SLOWDOWN, plain / mips),
            (BYTES, bytes as f64 / done),
        ])
    }
}
