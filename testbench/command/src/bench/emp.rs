//! Speed of EMP on pairs of nodes: simulated time over wall time.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, bail};
use emulator::image::Image;
use emulator::observe::event::Details;
use emulator::observe::file::{BinaryTrace, Header};
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;

use super::{Measurement, Pace, Quantity, QuantityTarget, Sample, World};
use lanigon_papers::emp::measure::{latency, one_way};
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::nodes::{EMP_SRAM_BYTES, START};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::Blueprint;

const PING_PONG: Quantity = Quantity {
    key: "emp_pingpong_realtime",
    what: "simulated time over wall time, two nodes, 4-byte ping-pong",
    target: QuantityTarget::AtLeast(4.0),
};
const STREAM: Quantity = Quantity {
    key: "emp_stream_realtime",
    what: "the same, 64 KB messages one way",
    target: QuantityTarget::AtLeast(1.5),
};
const IDLE: Quantity = Quantity {
    key: "idle_realtime",
    what: "the same, two boards booted and idle",
    target: QuantityTarget::AtLeast(100.0),
};
const TRACE: Quantity = Quantity {
    key: "trace_slowdown",
    what: "ping-pong with the event trace written to a file, against none",
    target: QuantityTarget::AtMost(1.2),
};
const THREADS: Quantity = Quantity {
    key: "threads2_speedup",
    what: "64 nodes in 32 pairs streaming: two threads against one",
    target: QuantityTarget::AtLeast(1.6),
};

const STAR_16: Quantity = Quantity {
    key: "threads2_star16_speedup",
    what: "the same of 16 nodes around one switch, 64 bytes from each to each",
    target: QuantityTarget::AtLeast(1.8),
};
const STAR_64: Quantity = Quantity {
    key: "threads2_star64_speedup",
    what: "the same of 64 nodes",
    target: QuantityTarget::AtLeast(1.9),
};

/// Message length of ping-pong.
const PING_PONG_BYTES: u32 = 4;
/// Message length of a stream.
const STREAM_BYTES: u32 = 65_536;
/// Time at which all receives are posted, and the stream flows.
const STREAM_FLOWS: SimTime = SimTime::from_us(START.ps() / 1_000_000 + 5_000);
/// Number of pairs of [`Threads`].
const PAIRS: u16 = 32;

/// Load of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmpLoad {
    /// Small messages back and forth.
    PingPong,
    /// Large messages in one direction.
    Stream,
    /// None after the boards' start.
    Idle,
}

/// A world under load, after its start-up.
pub fn at_work(
    image: &Image,
    profile: &Profile,
    work: EmpLoad,
    pairs: u16,
) -> anyhow::Result<World> {
    let mut cluster = EmpPairs::new(pairs, EMP_SRAM_BYTES, image, profile, &[])?;
    for first in (0..2 * usize::from(pairs)).step_by(2) {
        let second = first + 1;
        match work {
            EmpLoad::PingPong => {
                let stamps = ResultSlot::default();
                cluster.spawn(first, "ping", move |emp| {
                    latency::ping(emp, PING_PONG_BYTES, usize::MAX, stamps)
                });
                cluster.spawn(second, "pong", move |emp| {
                    latency::pong(emp, PING_PONG_BYTES, usize::MAX)
                });
            }
            EmpLoad::Stream => {
                let stamps = ResultSlot::default();
                cluster.spawn(first, "sender", move |emp| {
                    one_way::send(emp, STREAM_BYTES, usize::MAX / 2, stamps)
                });
                cluster.spawn(second, "receiver", move |emp| {
                    one_way::receive(emp, STREAM_BYTES, usize::MAX / 2)
                });
            }
            EmpLoad::Idle => {
                for node in [first, second] {
                    cluster.spawn(node, "start", |_| async { Ok(()) });
                }
            }
        }
    }
    let limits = emulator::sim::world::RunLimits {
        max_time: Some(STREAM_FLOWS),
        ..Default::default()
    };
    match (cluster.world.run(&limits), work) {
        (RunEnd::TimeLimit(_), _) | (RunEnd::Completed, EmpLoad::Idle) => Ok(cluster.world),
        (end, _) => bail!("the nodes are not at work: {end:?}"),
    }
}

/// Simulated seconds per second with `threads` threads; `None` when interrupted.
fn realtime(world: &mut World, threads: usize, slice: SimTime, pace: &Pace<'_>) -> Option<f64> {
    let threads = NonZeroUsize::new(threads)?;
    let start = world.now();
    let wall = pace.time(|| {
        let limits = pace.limits(threads, world.now() + slice);
        world.pass_time(&limits);
    })?;
    Some((world.now() - start).us() / 1e6 / wall.as_secs_f64())
}

/// Simulated time between two reads of the wall clock.
const SLICE: SimTime = SimTime::from_us(2_000);
/// Simulated time between two reads of the wall clock for idle boards.
const IDLE_SLICE: SimTime = SimTime::from_us(1_000_000);

/// Measurement of simulated time over wall time.
#[derive(Debug)]
pub struct Realtime {
    world: World,
    work: EmpLoad,
}

impl Realtime {
    /// Two nodes under load.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn new(image: &Image, profile: &Profile, work: EmpLoad) -> anyhow::Result<Self> {
        let world = at_work(image, profile, work, 1)?;
        Ok(Self { world, work })
    }

    const fn quantity(&self) -> Quantity {
        match self.work {
            EmpLoad::PingPong => PING_PONG,
            EmpLoad::Stream => STREAM,
            EmpLoad::Idle => IDLE,
        }
    }
}

impl Measurement for Realtime {
    fn quantities(&self) -> Vec<Quantity> {
        vec![self.quantity()]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let quantity = self.quantity();
        let slice = match self.work {
            EmpLoad::Idle => IDLE_SLICE,
            _ => SLICE,
        };
        let speed = realtime(&mut self.world, 1, slice, pace);
        Ok(speed.map(|speed| (quantity, speed)).into_iter().collect())
    }
}

/// Overhead of a trace.
#[derive(Debug)]
pub struct Traced {
    world: World,
    path: PathBuf,
}

impl Traced {
    /// Two nodes with ping-pong.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn new(image: &Image, profile: &Profile) -> anyhow::Result<Self> {
        let name = format!("lanigon-bench-{}.trace", std::process::id());
        Ok(Self {
            world: at_work(image, profile, EmpLoad::PingPong, 1)?,
            path: std::env::temp_dir().join(name),
        })
    }

    fn traced(&mut self, pace: &Pace<'_>) -> anyhow::Result<Option<f64>> {
        let shown = || self.path.display().to_string();
        let file = File::create(&self.path).with_context(shown)?;
        let trace = BinaryTrace::new(Box::new(file), &Header::default(), Details::empty());
        self.world.observe(Box::new(trace.with_context(shown)?));
        let speed = realtime(&mut self.world, 1, SLICE, pace);
        let failed = self.world.finish_observing().into_iter().next();
        let written = failed.map_or(Ok(()), Err).with_context(shown);
        std::fs::remove_file(&self.path).with_context(shown)?;
        written?;
        Ok(speed)
    }
}

impl Measurement for Traced {
    fn quantities(&self) -> Vec<Quantity> {
        vec![TRACE]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let plain = realtime(&mut self.world, 1, SLICE, pace);
        let traced = self.traced(pace)?;
        let ratio = plain.zip(traced).map(|(plain, traced)| plain / traced);
        Ok(ratio.map(|ratio| (TRACE, ratio)).into_iter().collect())
    }
}

/// Nodes around one switch.
#[derive(Debug, Clone, Copy)]
pub enum Star {
    /// 16 nodes.
    Small,
    /// 64 nodes.
    Large,
}

impl Star {
    const fn quantity(self) -> Quantity {
        match self {
            Self::Small => STAR_16,
            Self::Large => STAR_64,
        }
    }

    /// A time that takes some 0.3 s.
    const fn slice(self) -> SimTime {
        match self {
            Self::Small => SimTime::from_us(20_000),
            Self::Large => SimTime::from_us(5_000),
        }
    }

    /// The nodes at work, for longer than any measurement.
    fn world(self) -> anyhow::Result<World> {
        let (nodes, messages) = match self {
            Self::Small => (16, 20_000),
            Self::Large => (64, 2_000),
        };
        let text = format!(
            "[network]
topology = \"star\"
nodes = {nodes}
switch = {{ buffer_bytes = 262144 }}
[[program]]
run = \"all-to-all\"
nodes = \"all\"
messages = {messages}
bytes = 64
"
        );
        let scenario = Scenario::parse(self.quantity().key, &text)?;
        let mut world = Blueprint::new(&scenario)?.build()?.world;
        world.pass_time(&emulator::sim::world::RunLimits {
            max_time: Some(STREAM_FLOWS),
            ..Default::default()
        });
        Ok(world)
    }
}

/// Speed-up by a second thread.
#[derive(Debug)]
pub struct Threads {
    world: World,
    quantity: Quantity,
    /// Simulated time between two reads of the wall clock. Threads are started anew behind each, and the operating system often takes
    /// milliseconds to give them a core each: long enough that this does not count, as in a run.
    slice: SimTime,
}

impl Threads {
    /// 64 nodes in 32 pairs with streams.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn pairs(image: &Image, profile: &Profile) -> anyhow::Result<Self> {
        Ok(Self {
            world: at_work(image, profile, EmpLoad::Stream, PAIRS)?,
            quantity: THREADS,
            slice: SimTime::from_us(4_000),
        })
    }

    /// Nodes around one switch with messages from each to each.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn star(star: Star) -> anyhow::Result<Self> {
        Ok(Self {
            world: star.world()?,
            quantity: star.quantity(),
            slice: star.slice(),
        })
    }
}

impl Measurement for Threads {
    fn quantities(&self) -> Vec<Quantity> {
        vec![self.quantity]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let speed = |threads| realtime(&mut self.world, threads, self.slice, pace);
        let [one, two] = [1, 2].map(speed);
        let ratio = one.zip(two).map(|(one, two)| (self.quantity, two / one));
        Ok(ratio.into_iter().collect())
    }
}
