//! A world: nodes that meet only through links.
//!
//! A run goes on in slices of simulated time. Within a slice each component (`component.rs`) runs by
//! itself, on any thread; between two slices every node stands at the same time, and only then it is
//! asked whether the run is over. So neither states nor the end of a run depend on threads.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use host_lib::address::MacAddress;

use super::component::Component;
use super::node::Node;
use super::threads::Crew;
use super::time::SimTime;
use super::topology::Topology;
use crate::observe::capture::{Captures, FrameObserver};
use crate::observe::stream::{Observer, Stream};
use crate::observe::tracer::Tracer;
use crate::wire::ethernet::line::LineCounts;
use crate::wire::ethernet::link::Link;
use crate::wire::ethernet::switch::{Switch, SwitchConfig};
use crate::wire::fault::{FaultCounts, FaultLayer};
use crate::wire::port::Port;

/// Whether a run is over is asked at multiples of this time.
pub const SLICE: SimTime = SimTime::from_us(100);

/// When a run ends, beside the end of its programs, and how it is carried out.
#[derive(Debug, Clone)]
pub struct RunLimits {
    /// At this simulated time.
    pub max_time: Option<SimTime>,
    /// When somebody sets this. It is noticed soon, even within a slice: nodes may then stand at
    /// different times.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Threads that share the work. Nothing but speed depends on it.
    pub threads: NonZeroUsize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_time: None,
            interrupt: None,
            threads: NonZeroUsize::MIN,
        }
    }
}

impl RunLimits {
    fn interrupted(&self) -> bool {
        let flag = self.interrupt.as_deref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every program has ended, or the caller has seen enough.
    Completed,
    /// Programs wait, and nothing can happen any more: who waits for what.
    Deadlock(Vec<String>),
    /// The time limit was reached: who was at what.
    TimeLimit(Vec<String>),
    /// The run was interrupted.
    Interrupted,
}

/// Why a world cannot be built so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A port that does not exist.
    #[error("there is no {0}")]
    NoSuchPort(Port),
    /// A second cable in the same port.
    #[error("{0} has a cable already")]
    Occupied(Port),
    /// A port without a cable.
    #[error("{0} has no cable")]
    NoCable(Port),
    /// A cable from a node or a switch to itself.
    #[error("a cable leads from {0} to itself")]
    Loop(Port),
    /// A link on which bytes take no time.
    #[error("bytes take no time from {0} to {1}: nothing could be said about what comes first")]
    NoTime(Port, Port),
    /// A link that takes impossibly long.
    #[error("the link from {0} to {1} is longer than 1 s or slower than 1 ms for each byte")]
    TooSlow(Port, Port),
    /// A switch with no ports, or with too many.
    #[error("a switch with {0} ports: it can have 1 to 65536")]
    Ports(usize),
    /// A switch that takes impossibly long.
    #[error("a switch has a latency of {0}: more than 1 s")]
    Latency(SimTime),
    /// More switches than can be numbered.
    #[error("more than 65536 switches")]
    TooManySwitches,
    /// Two routes to one address.
    #[error("switch {0} has a route to {1} already")]
    RouteTwice(usize, MacAddress),
    /// A route to a group of nodes: such frames go everywhere.
    #[error("a route to {0}, which is the address of a group")]
    RouteToGroup(MacAddress),
}

/// Nodes, and what joins them: cables, switches, fault layers.
#[derive(Debug)]
pub struct World {
    /// The nodes. Their boards may be of different types.
    pub nodes: Vec<Node>,
    topology: Topology,
    stream: Stream,
    captures: Captures,
}

impl World {
    /// Nodes without cables.
    #[must_use]
    pub fn new(nodes: Vec<Node>) -> Self {
        Self {
            topology: Topology::new(nodes.len()),
            nodes,
            stream: Stream::default(),
            captures: Captures::default(),
        }
    }

    pub(super) const fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(super) const fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Adds a switch; gives its number.
    ///
    /// # Errors
    /// If there cannot be such a switch.
    pub fn add_switch(&mut self, config: &SwitchConfig) -> Result<usize, WorldError> {
        self.topology.add_switch(config)
    }

    /// Adds a route to a switch.
    ///
    /// # Errors
    /// If there is no such port, or a route to this address already.
    pub fn add_route(
        &mut self,
        switch: usize,
        address: MacAddress,
        port: usize,
    ) -> Result<(), WorldError> {
        self.topology.add_route(switch, address, port)
    }

    /// Adds the routes to a node, by the fewest links, to all switches that can reach it and have no
    /// route to its address.
    ///
    /// # Errors
    /// If the node does not exist or has no cable.
    pub fn route_to(&mut self, node: usize, address: MacAddress) -> Result<(), WorldError> {
        self.topology.route_to(node, address)
    }

    /// Joins two ports: a number is a node, a pair of numbers a switch and its port.
    ///
    /// # Errors
    /// If an end does not exist or has a cable already, or there cannot be such a link.
    pub fn connect(
        &mut self,
        a: impl Into<Port>,
        b: impl Into<Port>,
        link: Link,
    ) -> Result<(), WorldError> {
        let (a, b) = (a.into(), b.into());
        self.topology.connect(a, b, link)?;
        for end in [a, b] {
            if let Port::Node(node) = end {
                self.nodes[node].plug_in(link);
            }
        }
        Ok(())
    }

    /// Puts a fault layer between a port and its link, behind those that are there: frames that leave the
    /// port pass it.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn add_fault(
        &mut self,
        port: impl Into<Port>,
        layer: Box<dyn FaultLayer>,
    ) -> Result<(), WorldError> {
        let line = self.topology.connected(port.into())?;
        self.topology.lines[line].add_layer(layer);
        Ok(())
    }

    /// Pulls the cable of a port out at `from` and plugs it in again at `until`, if ever. Nodes at its
    /// ends lose their signal; frames that are on it at any time in between are lost.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn unplug(
        &mut self,
        port: impl Into<Port>,
        from: SimTime,
        until: Option<SimTime>,
    ) -> Result<(), WorldError> {
        let line = self.topology.connected(port.into())?;
        for line in [line, line ^ 1] {
            let line = &mut self.topology.lines[line];
            line.cut(from, until.unwrap_or(SimTime::MAX));
            let Port::Node(node) = line.from else {
                continue;
            };
            self.nodes[node].schedule_signal(false, from);
            if let Some(until) = until {
                self.nodes[node].schedule_signal(true, until);
            }
        }
        Ok(())
    }

    /// The switches.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.topology.switches
    }

    /// What the link of a port carried away from it, and lost.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn line_counts(&self, port: impl Into<Port>) -> Result<&LineCounts, WorldError> {
        let line = self.topology.connected(port.into())?;
        Ok(self.topology.lines[line].counts())
    }

    /// What each fault layer of a port has done.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn fault_counts(
        &self,
        port: impl Into<Port>,
    ) -> Result<impl Iterator<Item = FaultCounts>, WorldError> {
        let line = self.topology.connected(port.into())?;
        Ok(self.topology.lines[line].fault_counts())
    }

    /// The time up to which every node has come.
    #[must_use]
    pub fn now(&self) -> SimTime {
        let times = self.nodes.iter().map(Node::now);
        times.min().unwrap_or(SimTime::ZERO)
    }

    /// A hash over the traces of all nodes, and of what lies between them if anything was lost or
    /// changed there.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        let nodes = self.nodes.iter().map(|node| &node.trace);
        let network = self.topology.traces().filter(|trace| trace.count() > 0);
        nodes
            .chain(network)
            .fold(0, |hash: u64, trace| hash.rotate_left(7) ^ trace.hash())
    }

    /// The traces of nodes, of the lines that lead away from ports, and of switches.
    pub fn traces(&mut self) -> impl Iterator<Item = &mut Tracer> {
        let nodes = self.nodes.iter_mut().map(|node| &mut node.trace);
        nodes.chain(self.topology.traces_mut())
    }

    /// From now on `observer` sees every event of every node and of what lies between them, ordered by time
    /// and place, while the world runs.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        let nodes = self.nodes.iter_mut().map(|node| &mut node.trace);
        self.stream
            .add(observer, nodes.chain(self.topology.traces_mut()));
    }

    /// Shows the observers what is left and lets them go; gives the errors of those that have any.
    pub fn finish_observing(&mut self) -> Vec<io::Error> {
        let nodes = self.nodes.iter_mut().map(|node| &mut node.trace);
        self.stream.finish(nodes.chain(self.topology.traces_mut()))
    }

    /// From now on `observer` sees every frame on every wire that there is, ordered by time and wire, while the
    /// world runs. Wires that are laid and switches that are added later are not seen.
    pub fn capture(&mut self, observer: Box<dyn FrameObserver>) {
        let interfaces = self.topology.tap(true);
        self.captures.add(observer, &interfaces);
    }

    /// Shows those who see frames what is left and lets them go; gives the errors of those that have any.
    pub fn finish_capturing(&mut self) -> Vec<io::Error> {
        let errors = self.captures.finish(self.topology.taps());
        self.topology.tap(false);
        errors
    }

    /// Runs until every program has ended, or a limit.
    pub fn run(&mut self, limits: &RunLimits) -> RunEnd {
        self.run_until(limits, || false)
    }

    /// Runs until every program has ended, or `done` says that somebody has seen enough, or a limit.
    pub fn run_until(
        &mut self,
        limits: &RunLimits,
        mut done: impl FnMut() -> bool + Send,
    ) -> RunEnd {
        let stop = self.run_slices(limits, |components| {
            if done() || components.iter().all(Component::programs_ended) {
                Some(Stop::Completed)
            } else if !components.iter().any(Component::is_live) {
                Some(Stop::Deadlock)
            } else {
                None
            }
        });
        match stop {
            Stop::Completed => RunEnd::Completed,
            Stop::Deadlock => RunEnd::Deadlock(self.describe()),
            Stop::TimeLimit => RunEnd::TimeLimit(self.describe()),
            Stop::Interrupted => RunEnd::Interrupted,
        }
    }

    /// Lets time pass up to `limits.max_time`, whether programs run or not. Tells whether it came so
    /// far, that is, was not interrupted; without a time it has nothing to do.
    pub fn pass_time(&mut self, limits: &RunLimits) -> bool {
        limits.max_time.is_none() || self.run_slices(limits, |_| None) == Stop::TimeLimit
    }

    /// Runs slice by slice until `stop` says so, or a limit.
    fn run_slices(
        &mut self,
        limits: &RunLimits,
        mut stop: impl FnMut(&[Component<'_>]) -> Option<Stop> + Send,
    ) -> Stop {
        let max_time = limits.max_time.unwrap_or(SimTime::MAX);
        self.topology.span_tree();
        let places = self.topology.components();
        let mut components = Component::split(&mut self.nodes, &mut self.topology, &places);
        let (stream, captures) = (&mut self.stream, &mut self.captures);
        let most_threads = components.iter().map(Component::most_threads).sum();
        let crew = Crew::new(limits.threads.get().min(most_threads));
        let stop = crew.lead(|| {
            loop {
                let now = earliest(components.iter().map(Component::now));
                if limits.interrupted() {
                    return Stop::Interrupted;
                }
                if let Some(stop) = stop(&components) {
                    return stop;
                }
                if now >= max_time {
                    return Stop::TimeLimit;
                }
                // While nobody acts, the answers stay what they are: no need to ask.
                let next = earliest(components.iter().map(Component::next_activity)).max(now);
                let end = end_of_slice(next).min(max_time);
                crew.for_each(&mut components, |component| {
                    component.run_until(end, &crew, || limits.interrupted());
                });
                let all = earliest(components.iter().map(Component::now));
                stream.pass_on_before(all, components.iter_mut().flat_map(Component::traces));
                captures.pass_on_before(all, components.iter_mut().flat_map(Component::taps));
            }
        });
        let pending = components.into_iter().flat_map(Component::into_pending);
        let pending = pending.collect();
        self.topology.pending = pending;
        stop
    }

    fn describe(&self) -> Vec<String> {
        self.nodes
            .iter()
            .enumerate()
            .flat_map(|(index, node)| {
                let programs = node.programs.describe().into_iter();
                let cores = node.inspect().describe_cores().into_iter();
                let times = node.programs.describe_cpu_times(node.now()).into_iter();
                programs
                    .chain(cores)
                    .chain(times)
                    .map(move |line| format!("node {index}: {line}"))
            })
            .collect()
    }
}

/// [`RunEnd`] without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Completed,
    Deadlock,
    TimeLimit,
    Interrupted,
}

fn earliest(times: impl Iterator<Item = SimTime>) -> SimTime {
    times.min().unwrap_or(SimTime::MAX)
}

/// The end of the slice in which `time` lies.
const fn end_of_slice(time: SimTime) -> SimTime {
    let slices = time.ps() / SLICE.ps();
    SimTime::from_ps((slices.saturating_add(1)).saturating_mul(SLICE.ps()))
}
