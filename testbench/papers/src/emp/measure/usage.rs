//! Utilisation of resources during a bandwidth test; the busiest one limits it.

use std::collections::BTreeMap;
use std::sync::Arc;

use defs::emp::control::{COUNTERS, Counter};
use emulator::board::CpuId;
use emulator::cpu::clock::TICKS_PER_CYCLE;
use emulator::observe::event::{DropReason, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;

use super::activity::{self, UnitActivity};
use super::{BenchmarkRun, Error, Setup, one_way, two_way};
use lanigon_experiments::formula::{FormulaError, FormulaValue};
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::nodes;
use lanigon_worlds::wire_times::FrameTimes;

/// Number of rounds before the measurement.
const WARM_UP: usize = 12;
/// Smallest number of rounds of the measurement.
const ROUNDS: usize = 24;

/// Direction of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Directions {
    /// From node 0 to node 1.
    OneWay,
    /// In both directions.
    TwoWay,
}

impl Directions {
    /// Experiment with this direction.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneWay => "one-way",
            Self::TwoWay => "two-way",
        }
    }

    /// Role of a node.
    #[must_use]
    pub const fn node(self, index: usize) -> &'static str {
        match (self, index) {
            (Self::OneWay, 0) => "sender",
            (Self::OneWay, _) => "receiver",
            (Self::TwoWay, 0) => "node 0",
            (Self::TwoWay, _) => "node 1",
        }
    }
}

/// Utilisation of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Name.
    pub name: &'static str,
    /// Share of the time, 0 to 1.
    pub busy: f64,
    /// Shares by kind of work, largest first; empty if there is one kind only.
    pub parts: Vec<(Arc<str>, f64)>,
}

/// Utilisation of a node's resources.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeUsage {
    /// Shares of time of the node's resources.
    pub resources: Vec<Resource>,
    /// Frames that its MAC dropped because the receive buffer or ring was full.
    pub dropped_no_space: u64,
    /// Frames that its firmware dropped for lack of a record, a DMA slot or buffer space.
    pub dropped_resources: u32,
    /// Retransmitted frames.
    pub resent: u32,
}

/// Utilisation of all resources.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    /// Direction of messages.
    pub flow: Directions,
    /// Message length.
    pub message_bytes: u32,
    /// Length of the measurement.
    pub span: SimTime,
    /// Sender and receiver, or both sides.
    pub nodes: Vec<NodeUsage>,
}

impl Usage {
    /// The busiest resource: node, name and share.
    #[must_use]
    pub fn bottleneck(&self) -> Option<(usize, &Resource)> {
        let all = self.nodes.iter().enumerate();
        all.flat_map(|(index, node)| node.resources.iter().map(move |resource| (index, resource)))
            .max_by(|(_, a), (_, b)| a.busy.total_cmp(&b.busy))
    }

    /// Lost frames of both nodes, or the busiest resource: number of its node, name and description.
    pub(crate) fn find(&self, measure: &str) -> Result<FormulaValue, FormulaError> {
        let sum = |count: fn(&NodeUsage) -> u64| {
            let sum: u64 = self.nodes.iter().map(count).sum();
            Ok((sum as f64).into())
        };
        match measure {
            "no_space" => sum(|node| node.dropped_no_space),
            "no_resources" => sum(|node| node.dropped_resources.into()),
            "bottleneck" => {
                let found = self.bottleneck().zip(self.bottleneck_name());
                let nothing = || FormulaError::Missing("nothing was busy".into());
                let ((node, resource), name) = found.ok_or_else(nothing)?;
                Ok(FormulaValue::List(vec![
                    (node as f64).into(),
                    resource.name.into(),
                    name.as_str().into(),
                ]))
            }
            _ => Err(FormulaError::unknown(measure)),
        }
    }

    /// Description of the busiest resource: "the receiver's CPU A, 98.2 % busy".
    #[must_use]
    pub fn bottleneck_name(&self) -> Option<String> {
        let (node, resource) = self.bottleneck()?;
        let (node, percent) = (self.flow.node(node), 100.0 * resource.busy);
        let article = match self.flow {
            Directions::OneWay => "the ",
            Directions::TwoWay => "",
        };
        Some(format!(
            "{article}{node}'s {}, {percent:.1} % busy",
            resource.name
        ))
    }
}

/// Counters of a node.
#[derive(Debug, Clone, Copy)]
struct NodeCounts {
    now: SimTime,
    pci: SimTime,
    idle_ticks: [u64; 2],
    resources: u32,
    resent: u32,
}

impl NodeCounts {
    fn read_from(node: &Node) -> Self {
        let counter = |counter: Counter| nodes::firmware_word(node, COUNTERS + 4 * counter as u32);
        let idle = |cpu: usize| {
            node.inspect()
                .cpu(CpuId::new(cpu))
                .map_or(0, |cpu| cpu.idle_ticks)
        };
        Self {
            now: node.now(),
            pci: node.pci().busy(),
            idle_ticks: [0, 1].map(idle),
            resources: counter(Counter::DropResources),
            resent: counter(Counter::FramesResent),
        }
    }
}

/// Measures a stream of messages of `size` bytes.
///
/// # Errors
/// If a program cannot finish its rounds.
pub fn measure(setup: &Setup, flow: Directions, size: u32) -> Result<Usage, Error> {
    let mut pair = setup.pair()?;
    let run: BenchmarkRun = match flow {
        Directions::OneWay => one_way::spawn(&mut pair, size, usize::MAX / 2),
        Directions::TwoWay => two_way::spawn(&mut pair, size, usize::MAX / 2),
    };
    run.until(setup, &mut pair.world, |stamps| stamps.len() > WARM_UP)?;
    for node in &mut pair.world.nodes {
        node.trace.keep(true);
    }
    let before: Vec<_> = pair.world.nodes.iter().map(NodeCounts::read_from).collect();
    run.until(setup, &mut pair.world, |stamps| {
        stamps.len() > WARM_UP + ROUNDS
    })?;
    let span = pair.world.now() - before[0].now;
    Ok(Usage {
        flow,
        message_bytes: size,
        span,
        nodes: node_usages(setup, &mut pair, &before)?,
    })
}

fn node_usages(
    setup: &Setup,
    pair: &mut EmpPairs,
    before: &[NodeCounts],
) -> Result<Vec<NodeUsage>, Error> {
    let times = FrameTimes::from_profile(&setup.profile)?;
    let clock_hz = setup.profile.reader().rate("core.clock", "Hz")?;
    let nodes = pair.world.nodes.iter_mut().zip(before).enumerate();
    let usages = nodes.map(|(index, (node, before))| {
        let events = node.trace.take();
        let after = NodeCounts::read_from(node);
        let span = [before.now, after.now];
        let activities = activity::of_node(&events, index as u16, &times, span);
        let dropped = |event: &&TraceEvent| {
            let reason = DropReason::NoSpace;
            event.kind == TraceKind::FrameDropped { reason }
        };
        NodeUsage {
            resources: resources(node, &activities, [before, &after], &times, clock_hz),
            dropped_no_space: events.iter().filter(dropped).count() as u64,
            dropped_resources: after.resources.wrapping_sub(before.resources),
            resent: after.resent.wrapping_sub(before.resent),
        }
    });
    Ok(usages.collect())
}

fn resources(
    node: &Node,
    activities: &[UnitActivity],
    [before, after]: [&NodeCounts; 2],
    times: &FrameTimes,
    clock_hz: u64,
) -> Vec<Resource> {
    let span = (after.now - before.now).ps() as f64;
    let mut resources = Vec::new();
    let cores = [(Initiator::Cpu(0), "CPU A"), (Initiator::Cpu(1), "CPU B")];
    for (index, (unit, name)) in cores.into_iter().enumerate() {
        let cpu = node.inspect().cpu(CpuId::new(index));
        if cpu.is_some_and(|cpu| cpu.state.executes()) {
            let idle_ticks = after.idle_ticks[index] - before.idle_ticks[index];
            let tick_ps = 1e12 / (clock_hz as f64 * TICKS_PER_CYCLE as f64);
            let idle = (idle_ticks as f64 * tick_ps / span).min(1.0);
            resources.push(core_usage(name, unit, activities, span, 1.0 - idle));
        }
    }
    for (unit, name) in [
        (Initiator::DmaRead, "read DMA"),
        (Initiator::DmaWrite, "write DMA"),
        (Initiator::Transmitter, "transmitting MAC"),
    ] {
        let busy = parts(unit, activities, span)
            .values()
            .fold(0.0, |sum, share| sum + share);
        resources.push(plain(name, busy));
        if unit == Initiator::Transmitter {
            // The wire is idle during the gap after each frame, but not before its first bit.
            let frames = activities
                .iter()
                .filter(|activity| activity.unit == unit)
                .count() as f64;
            let more = times.link.gap().ps() as f64 - times.transmit_start.ps() as f64;
            resources.push(plain("outgoing wire", busy + frames * more / span));
        }
    }
    let pci = (after.pci - before.pci).ps() as f64 / span;
    resources.push(plain("PCI bus", pci));
    resources
}

const fn plain(name: &'static str, busy: f64) -> Resource {
    Resource {
        name,
        busy,
        parts: Vec::new(),
    }
}

/// Shares of time by kind of work of a unit.
fn parts(unit: Initiator, activities: &[UnitActivity], span: f64) -> BTreeMap<Arc<str>, f64> {
    let mut parts = BTreeMap::new();
    for activity in activities.iter().filter(|activity| activity.unit == unit) {
        let share = (activity.to - activity.from).ps() as f64 / span;
        *parts.entry(Arc::clone(&activity.what)).or_insert(0.0) += share;
    }
    parts
}

fn core_usage(
    name: &'static str,
    unit: Initiator,
    activities: &[UnitActivity],
    span: f64,
    busy: f64,
) -> Resource {
    let mut parts: Vec<_> = parts(unit, activities, span).into_iter().collect();
    let staged: f64 = parts.iter().map(|(_, share)| share).sum();
    let rest: Arc<str> = "outside stages: dispatch, posted receives, completions".into();
    parts.push((rest, (busy - staged).max(0.0)));
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    Resource { name, busy, parts }
}
