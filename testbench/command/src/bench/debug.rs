//! Costs of checkpoints, reverse steps and breakpoints.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::board::{CpuId, Stops, Watchpoint};
use emulator::debug::{Found, History, Search, TimeDirection};
use emulator::observe::event::{Details, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::profile::Profile;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};

use super::{Measurement, Pace, Quantity, QuantityTarget, Sample};
use lanigon_worlds::builder;
use lanigon_worlds::busy_nodes::{self, CodeMemory};
use lanigon_worlds::nodes::START;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{Blueprint, Simulation};

const SNAPSHOT: Quantity = Quantity {
    key: "snapshot_ms",
    what: "two boards after 10 ms of ping-pong: saved, built and loaded, ms",
    target: QuantityTarget::AtMost(5.0),
};
const SNAPSHOT_SIZE: Quantity = Quantity {
    key: "snapshot_megabytes",
    what: "the file with them",
    target: QuantityTarget::AtMost(3.0),
};
const REVERSE_STEP: Quantity = Quantity {
    key: "reverse_step_ms",
    what: "one instruction back, at a random place of a second of ping-pong, ms",
    target: QuantityTarget::AtMost(100.0),
};
const REVERSE_STEP_WORST: Quantity = Quantity {
    key: "reverse_step_worst_ms",
    what: "the worst of 8 such places",
    target: QuantityTarget::AtMost(100.0),
};
const BREAKPOINT: Quantity = Quantity {
    key: "breakpoint_slowdown",
    what: "ping-pong in a debugger, with a breakpoint that is never met, against a plain run",
    target: QuantityTarget::AtMost(1.5),
};
const WATCHPOINT: Quantity = Quantity {
    key: "watchpoint_slowdown",
    what: "the same with a watch on memory to which nobody writes",
    target: QuantityTarget::AtMost(1.5),
};
const BUSY_BREAKPOINT: Quantity = Quantity {
    key: "busy_breakpoint_slowdown",
    what: "as busy_mips, with a breakpoint that is never met",
    target: QuantityTarget::AtMost(1.5),
};
const BUSY_WATCHPOINT: Quantity = Quantity {
    key: "busy_watchpoint_slowdown",
    what: "as busy_mips, with a watch on memory to which nobody writes",
    target: QuantityTarget::AtMost(1.5),
};

const TEXT: &str =
    "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]
    messages = 4000000\nbytes = 10\n";

fn blueprint() -> anyhow::Result<(Blueprint, Scenario)> {
    let scenario = Scenario::parse("bench.toml", TEXT)?;
    Ok((Blueprint::new(&scenario)?, scenario))
}

fn history(blueprint: Blueprint) -> anyhow::Result<History> {
    let again = move || {
        let built = blueprint.build();
        // What was built once can be built again.
        built.map(|simulation| simulation.world).unwrap_or_default()
    };
    Ok(History::new(again, None)?)
}

fn pass_time(world: &mut World, until: SimTime) {
    let max_time = Some(until);
    world.pass_time(&RunLimits {
        max_time,
        ..RunLimits::default()
    });
}

/// Saving and loading of two busy nodes.
#[derive(Debug)]
pub struct Snapshots {
    blueprint: Blueprint,
    scenario: Scenario,
    simulation: Simulation,
}

impl Snapshots {
    /// Two nodes with ping-pong.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn new() -> anyhow::Result<Self> {
        let (blueprint, scenario) = blueprint()?;
        let mut simulation = blueprint.build()?;
        simulation.keep_logs();
        pass_time(
            &mut simulation.world,
            START.saturating_add(SimTime::from_us(10_000)),
        );
        Ok(Self {
            blueprint,
            scenario,
            simulation,
        })
    }
}

impl Measurement for Snapshots {
    fn quantities(&self) -> Vec<Quantity> {
        vec![SNAPSHOT, SNAPSHOT_SIZE]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let mut samples = Vec::new();
        let world = &self.simulation.world;
        for _ in 0..5 {
            if pace.interrupt.requested() {
                return Ok(Vec::new());
            }
            let clock = Instant::now();
            let state = world.save()?;
            let mut again = self.blueprint.build()?.world;
            again.load(&state, &world.logs())?;
            samples.push((SNAPSHOT, clock.elapsed().as_secs_f64() * 1e3));
            ensure!(
                again.trace_hash() == world.trace_hash(),
                "a snapshot is another world"
            );
        }
        let file = self.simulation.save("bench.toml", TEXT, &self.scenario)?;
        samples.push((SNAPSHOT_SIZE, file.len() as f64 / 1e6));
        Ok(samples)
    }
}

/// Reverse steps at random times of a simulated second.
#[derive(Debug)]
pub struct ReverseSteps {
    history: History,
    places: ChaCha8Rng,
}

impl ReverseSteps {
    /// Two nodes with ping-pong, at their start.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            history: history(blueprint()?.0)?,
            places: ChaCha8Rng::seed_from_u64(1),
        })
    }
}

impl Measurement for ReverseSteps {
    fn quantities(&self) -> Vec<Quantity> {
        vec![REVERSE_STEP, REVERSE_STEP_WORST]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let end = START.saturating_add(SimTime::from_us(1_000_000));
        let mut samples = Vec::new();
        self.history.go_to(end)?;
        for _ in 0..8 {
            if pace.interrupt.requested() {
                return Ok(Vec::new());
            }
            let place = SimTime::from_ps(self.places.next_u64() % 1_000_000_000_000);
            self.history.go_to(START.saturating_add(place))?;
            let clock = Instant::now();
            self.history
                .step(TimeDirection::Backward, 0, CpuId::new(0))?;
            samples.push((REVERSE_STEP, clock.elapsed().as_secs_f64() * 1e3));
        }
        let worst = samples.iter().map(|sample| sample.1).fold(0.0, f64::max);
        samples.push((REVERSE_STEP_WORST, worst));
        Ok(samples)
    }
}

/// A condition that is checked but never met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleCondition {
    /// An instruction.
    Breakpoint,
    /// Memory.
    Watchpoint,
}

impl IdleCondition {
    /// A breakpoint or watchpoint at this address.
    fn stops_at(self, address: u32) -> Stops {
        let mut stops = Stops::default();
        match self {
            Self::Breakpoint => stops = Stops::at([vec![address], vec![address]]),
            Self::Watchpoint => stops.watches.push(Watchpoint {
                address,
                length: 4,
                cpu: CpuId::new(0),
            }),
        }
        stops
    }
}

fn is_stop(event: &TraceEvent) -> bool {
    matches!(
        event.kind,
        TraceKind::Breakpoint | TraceKind::MemoryWrite { .. }
    )
}

/// Simulated time between two reads of the wall clock.
const SLICE: SimTime = SimTime::from_us(10_000);

/// Overhead of an unmet condition.
#[derive(Debug)]
pub struct Stopping {
    armed: IdleCondition,
    plain: World,
    history: History,
}

impl Stopping {
    /// Two nodes with ping-pong, with and without the condition.
    ///
    /// # Errors
    /// If they cannot be built.
    pub fn new(armed: IdleCondition) -> anyhow::Result<Self> {
        let blueprint = blueprint()?.0;
        let begin = START.saturating_add(SLICE);
        let mut plain = blueprint.build()?.world;
        pass_time(&mut plain, begin);
        // The entry point is not executed or written again.
        let stops = armed.stops_at(blueprint.images.image_of(0).entry);
        let mut history = history(blueprint)?;
        history.go_to(begin)?;
        for node in 0..plain.nodes.len() {
            history.set_stops(node, stops.clone())?;
        }
        Ok(Self {
            armed,
            plain,
            history,
        })
    }
}

impl Measurement for Stopping {
    fn quantities(&self) -> Vec<Quantity> {
        vec![match self.armed {
            IdleCondition::Breakpoint => BREAKPOINT,
            IdleCondition::Watchpoint => WATCHPOINT,
        }]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let search = Search {
            details: Details::STOPS,
            is: Arc::new(is_stop),
        };
        let (plain, history) = (&mut self.plain, &mut self.history);
        let start = [plain.now(), history.now()];
        let mut met = false;
        let alone = pace.time(|| pass_time(plain, plain.now().saturating_add(SLICE)));
        let armed = pace.time(|| {
            let end = history.now().saturating_add(SLICE);
            met |= history.find(TimeDirection::Forward, &search, end) != Ok(Found::Limit);
        });
        ensure!(!met, "what is never met was met");
        let Some((alone, armed)) = alone.zip(armed) else {
            return Ok(Vec::new());
        };
        let alone = (plain.now() - start[0]).us() / alone.as_secs_f64();
        let armed = (history.now() - start[1]).us() / armed.as_secs_f64();
        Ok(vec![(self.quantities()[0], alone / armed)])
    }
}

/// SRAM that the kernel does not use.
const UNUSED: u32 = 0xF_FF00;

/// Observer that requests stops.
struct Asks;

impl Observer for Asks {
    fn details(&self) -> Details {
        Details::STOPS
    }

    fn event(&mut self, _: &TraceEvent) {}
}

/// Overhead of an unmet condition on a busy board.
#[derive(Debug)]
pub struct BusyStopping {
    armed: IdleCondition,
    world: World,
}

impl BusyStopping {
    /// A board with code in the scratchpads and data in SRAM.
    ///
    /// # Errors
    /// If the kernel does not assemble.
    pub fn new(profile: &Profile, armed: IdleCondition) -> anyhow::Result<Self> {
        let node = busy_nodes::busy_node(profile, CodeMemory::Private)?;
        Ok(Self {
            armed,
            world: builder::alone(node),
        })
    }

    /// Million instructions a second.
    fn speed(&mut self, stops: Stops, pace: &Pace<'_>) -> Option<f64> {
        let world = &mut self.world;
        world.nodes[0].inspect_mut().set_stops(stops);
        // Fill the cache of decoded code.
        pass_time(world, world.now().saturating_add(SimTime::from_us(100)));
        let before = busy_nodes::instructions(&world.nodes[0]);
        let slice = SimTime::from_us(1_000);
        let wall = pace.time(|| pass_time(world, world.now().saturating_add(slice)))?;
        let done = busy_nodes::instructions(&world.nodes[0]) - before;
        Some(done as f64 / wall.as_secs_f64())
    }
}

impl Measurement for BusyStopping {
    fn quantities(&self) -> Vec<Quantity> {
        vec![match self.armed {
            IdleCondition::Breakpoint => BUSY_BREAKPOINT,
            IdleCondition::Watchpoint => BUSY_WATCHPOINT,
        }]
    }

    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>> {
        let plain = self.speed(Stops::default(), pace);
        self.world.observe(Box::new(Asks));
        let armed = self.speed(self.armed.stops_at(UNUSED), pace);
        let failed = self.world.finish_observing().into_iter().next();
        failed
            .map_or(Ok(()), Err)
            .context("looking at a busy board")?;
        let ratio = plain.zip(armed).map(|(plain, armed)| plain / armed);
        let quantity = self.quantities()[0];
        Ok(ratio.map(|ratio| (quantity, ratio)).into_iter().collect())
    }
}
