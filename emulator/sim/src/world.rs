//! A world: nodes connected by links.
//!
//! A run consists of slices of simulated time. Within a slice each component (`component.rs`) runs by
//! itself, on any thread. Between two slices every node stands at the same time, and only there does the run
//! end. So neither states nor the end of a run depend on threads.

use std::any::Any;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::component::Component;
use super::node::Node;
use super::quiet::{Patience, QuietWatch};
use super::ranks::{NodeGroup, Ranks};
use super::threads::ThreadPool;
use emulator_base::time::SimTime;
use emulator_board::SharedCode;
use emulator_observe::capture::{Captures, FrameObserver};
use emulator_observe::stream::{Observer, Stream};
use emulator_observe::tracer::Tracer;
use emulator_wire::medium::{AttachError, Medium, MediumId};
use emulator_wire::network::Network;

/// Length of a slice: a run ends at a multiple of this time.
pub const SLICE: SimTime = SimTime::from_us(100);

/// The simulated time that a run has reached, to be shown while it goes on. Accesses need no order: no other data depends on the time.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub(super) fn set(&self, time: SimTime) {
        self.0.store(time.ps(), Ordering::Relaxed);
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        SimTime::from_ps(self.0.load(Ordering::Relaxed))
    }
}

/// Limits of a run, and its number of threads.
#[derive(Debug, Clone)]
pub struct RunLimits {
    /// The run ends at this simulated time.
    pub max_time: Option<SimTime>,
    /// The run ends soon after this is set, even within a slice: nodes may then stand at different times.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Shows the time that the run has reached.
    pub clock: Option<Arc<Clock>>,
    /// The run ends when nothing but timers has happened for so long ([`quiet`](super::quiet)).
    pub quiet: Option<Patience>,
    /// Number of threads that share the work. Only speed depends on it.
    pub threads: NonZeroUsize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            max_time: None,
            interrupt: None,
            clock: None,
            quiet: None,
            threads: NonZeroUsize::MIN,
        }
    }
}

impl RunLimits {
    /// Whether the run is to end at once.
    pub(super) fn interrupted(&self) -> bool {
        let flag = self.interrupt.as_deref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Shows the time that the run has reached.
    pub(super) fn reached(&self, now: SimTime) {
        if let Some(clock) = &self.clock {
            clock.set(now);
        }
    }
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every program has ended, or the caller stopped the run.
    Completed,
    /// Programs wait, and no event is pending that could end a wait. One line for each program, core and blocked unit.
    Deadlock(Vec<String>),
    /// Programs wait, and nothing but timers has happened for as long as the limits say. One line for each program, core and blocked unit.
    Quiet(Vec<String>),
    /// The time limit was reached. One line for each program, core and blocked unit.
    TimeLimit(Vec<String>),
    /// The run was interrupted.
    Interrupted,
}

/// Nodes, and the networks that join them.
#[derive(Debug)]
pub struct World {
    /// The nodes. Their boards may be of different types.
    pub nodes: Vec<Node>,
    /// The network of each medium in use.
    networks: Vec<Box<dyn Network>>,
    stream: Stream,
    captures: Captures,
    watch: QuietWatch,
}

/// A world without nodes.
impl Default for World {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl World {
    /// Creates a world of nodes without cables. Boards that execute the same bytes share their decoded code.
    #[must_use]
    pub fn new(mut nodes: Vec<Node>) -> Self {
        let shared = SharedCode::default();
        for node in &mut nodes {
            node.share_code(&shared);
        }
        Self {
            nodes,
            networks: Vec::new(),
            stream: Stream::default(),
            captures: Captures::default(),
            watch: QuietWatch::default(),
        }
    }

    /// The networks.
    pub(super) fn networks(&self) -> &[Box<dyn Network>] {
        &self.networks
    }

    /// The networks, to be changed.
    pub(super) fn networks_mut(&mut self) -> &mut [Box<dyn Network>] {
        &mut self.networks
    }

    /// The network of a medium, if it is in use.
    #[must_use]
    pub fn network<M: Medium>(&self) -> Option<&M::Network> {
        let mut networks = self.networks.iter();
        networks.find_map(|network| {
            let network: &dyn Any = &**network;
            network.downcast_ref()
        })
    }

    /// The network of a medium, which is in use from now on.
    pub fn network_mut<M: Medium>(&mut self) -> &mut M::Network {
        let medium = MediumId::of::<M>();
        let found = self.networks.iter().position(|n| n.medium() == medium);
        let index = found.unwrap_or_else(|| {
            self.networks.push(Box::<M::Network>::default());
            self.networks.len() - 1
        });
        let network: &mut dyn Any = &mut *self.networks[index];
        match network.downcast_mut() {
            Some(network) => network,
            None => unreachable!("a network of {} says that it is another", M::NAME),
        }
    }

    /// Whether a cable of a medium fits a node.
    ///
    /// # Errors
    /// If there is no such node or its board has a port of another medium.
    pub fn check_medium<M: Medium>(&self, node: usize) -> Result<(), AttachError> {
        let board = self.nodes.get(node).ok_or(AttachError::NoSuchNode(node))?;
        if board.medium() == MediumId::of::<M>() {
            return Ok(());
        }
        Err(AttachError::WrongMedium {
            node,
            board: board.medium().name,
            cable: M::NAME,
        })
    }

    /// Plugs a cable into a node. The network of the medium joins its other end.
    ///
    /// # Errors
    /// As [`check_medium`](Self::check_medium).
    pub fn attach<M: Medium>(&mut self, node: usize, cable: &M::Cable) -> Result<(), AttachError> {
        self.check_medium::<M>(node)?;
        self.nodes[node].plug_in(cable);
        Ok(())
    }

    /// The time that every node has reached.
    #[must_use]
    pub fn now(&self) -> SimTime {
        let times = self.nodes.iter().map(Node::now);
        times.min().unwrap_or(SimTime::ZERO)
    }

    /// The record of how long nodes have not stirred, to be saved beside the state of a world whose runs end when it is quiet.
    pub const fn watch_mut(&mut self) -> &mut QuietWatch {
        &mut self.watch
    }

    /// The record of how long nodes have not stirred.
    #[must_use]
    pub const fn watch(&self) -> &QuietWatch {
        &self.watch
    }

    /// The hash of the traces of all nodes, and of those links and switches whose traces have events.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        let nodes = self.nodes.iter().map(|node| &node.trace);
        let network = self.networks.iter().flat_map(|network| network.traces());
        let network = network.filter(|trace| trace.count() > 0);
        nodes
            .chain(network)
            .fold(0, |hash: u64, trace| hash.rotate_left(7) ^ trace.hash())
    }

    /// Traces of nodes, lines and switches.
    pub fn traces(&mut self) -> impl Iterator<Item = &mut Tracer> {
        let nodes = self.nodes.iter_mut().map(|node| &mut node.trace);
        nodes.chain(traces_of(&mut self.networks))
    }

    /// Adds an observer of every event of every node, link and switch from now on, ordered by time
    /// and place, while the world runs.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        let nodes = self.nodes.iter_mut().map(|node| &mut node.trace);
        self.stream
            .add(observer, nodes.chain(traces_of(&mut self.networks)));
    }

    /// Passes the remaining events to the observers and removes them; returns the errors of observers that have any.
    pub fn finish_observing(&mut self) -> Vec<io::Error> {
        let nodes = self.nodes.iter_mut().map(|node| &mut node.trace);
        self.stream
            .finish(nodes.chain(traces_of(&mut self.networks)))
    }

    /// Adds an observer of every frame on every existing wire, sorted by time and wire. Wires and switches
    /// that are added later are not observed.
    pub fn capture(&mut self, observer: Box<dyn FrameObserver>) {
        let mut interfaces = Vec::new();
        for network in &mut self.networks {
            interfaces.extend(network.begin_capture(interfaces.len()));
        }
        self.captures.add(observer, &interfaces);
    }

    /// Passes the remaining frames to their observers and ends the capture; returns the errors of observers that have any.
    pub fn finish_capturing(&mut self) -> Vec<io::Error> {
        let taps = self.networks.iter_mut().flat_map(|network| network.taps());
        let errors = self.captures.finish(taps);
        self.networks
            .iter_mut()
            .for_each(|network| network.end_capture());
        errors
    }

    /// Runs until every program has ended, or a limit is reached.
    pub fn run(&mut self, limits: &RunLimits) -> RunEnd {
        self.run_until(limits, &mut || false)
    }

    /// Runs until every program has ended, or `done` returns true, or a limit.
    // `done` is a trait object: with a type parameter each crate that runs a world compiles the whole simulation again.
    pub fn run_until(
        &mut self,
        limits: &RunLimits,
        done: &mut (dyn FnMut() -> bool + Send),
    ) -> RunEnd {
        let mut watch = std::mem::take(&mut self.watch);
        let stop = self.run_slices(limits, &mut |components| {
            if done() || components.iter().all(Component::programs_ended) {
                Some(StopReason::Completed)
            } else if !components.iter().any(Component::is_live) {
                Some(StopReason::Deadlock)
            } else {
                let patience = limits.quiet?;
                let now = earliest(components.iter().map(Component::now));
                let stirred = last_stir(components, &mut watch, patience);
                (now.saturating_sub(stirred) >= patience.idle).then_some(StopReason::Quiet)
            }
        });
        self.watch = watch;
        match stop {
            StopReason::Completed => RunEnd::Completed,
            StopReason::Deadlock => RunEnd::Deadlock(self.describe()),
            StopReason::Quiet => RunEnd::Quiet(self.describe()),
            StopReason::TimeLimit => RunEnd::TimeLimit(self.describe()),
            StopReason::Interrupted => RunEnd::Interrupted,
        }
    }

    /// Lets time pass up to `limits.max_time`, whether programs run or not. Returns whether it came so
    /// far, that is, was not interrupted. Does nothing without a time.
    pub fn pass_time(&mut self, limits: &RunLimits) -> bool {
        limits.max_time.is_none() || self.run_slices(limits, &mut |_| None) == StopReason::TimeLimit
    }

    /// Runs slice by slice until `stop` ends it, or a limit is reached.
    fn run_slices(
        &mut self,
        limits: &RunLimits,
        stop: &mut (dyn FnMut(&[Component<'_>]) -> Option<StopReason> + Send),
    ) -> StopReason {
        let max_time = limits.max_time.unwrap_or(SimTime::MAX);
        let mut components = Component::split(&mut self.nodes, &mut self.networks, None);
        let (stream, captures) = (&mut self.stream, &mut self.captures);
        let most_threads = components.iter().map(Component::most_threads).sum();
        let pool = ThreadPool::new(limits.threads.get().min(most_threads));
        pool.install(|| {
            loop {
                let now = earliest(components.iter().map(Component::now));
                limits.reached(now);
                if limits.interrupted() {
                    return StopReason::Interrupted;
                }
                if let Some(stop) = stop(&components) {
                    return stop;
                }
                if now >= max_time {
                    return StopReason::TimeLimit;
                }
                // Until the next activity the answers stay equal: slices without any are joined.
                let next = earliest(components.iter().map(Component::next_activity)).max(now);
                let end = end_of_slice(next).min(max_time);
                pool.for_each(&mut components, |component| {
                    component.run_until(end, &pool, || limits.interrupted());
                });
                let all = earliest(components.iter().map(Component::now));
                stream.pass_on_before(all, components.iter_mut().flat_map(Component::traces));
                captures.pass_on_before(all, components.iter_mut().flat_map(Component::taps));
            }
        })
    }

    /// The components of a run that ranks share, and the stream of the observers.
    pub(super) fn divide(&mut self, ranks: Option<&Ranks>) -> (Vec<Component<'_>>, &mut Stream) {
        let components = Component::split(&mut self.nodes, &mut self.networks, ranks);
        (components, &mut self.stream)
    }

    /// The nodes of each component.
    pub(super) fn node_groups(&mut self) -> Vec<NodeGroup> {
        let (components, _) = self.divide(None);
        components.iter().map(Component::group).collect()
    }

    /// Lines for the report of a run that ended before its programs: what each program, CPU and unit waits for.
    fn describe(&self) -> Vec<String> {
        let nodes = (0..self.nodes.len()).flat_map(|node| self.describe_node(node));
        nodes.chain(self.describe_waiting()).collect()
    }

    /// A line for each program and CPU of a node.
    pub(super) fn describe_node(&self, index: usize) -> Vec<String> {
        let node = &self.nodes[index];
        let programs = node.programs.describe().into_iter();
        let cores = node.inspect().describe_cpus().into_iter();
        let times = node.programs.describe_cpu_times(node.now()).into_iter();
        let lines = programs.chain(cores).chain(times);
        lines.map(|line| format!("node {index}: {line}")).collect()
    }

    /// A line for each blocked unit.
    pub(super) fn describe_waiting(&self) -> Vec<String> {
        let networks = self.networks.iter();
        let waiting = networks.flat_map(|network| network.describe_waiting());
        waiting.collect()
    }
}

/// The traces of links and switches.
fn traces_of(networks: &mut [Box<dyn Network>]) -> impl Iterator<Item = &mut Tracer> {
    networks.iter_mut().flat_map(|network| network.traces_mut())
}

/// [`RunEnd`] without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    Completed,
    Deadlock,
    Quiet,
    TimeLimit,
    Interrupted,
}

/// The time at which the nodes of this process stirred last, or will stir.
pub(super) fn last_stir(
    components: &[Component<'_>],
    watch: &mut QuietWatch,
    patience: Patience,
) -> SimTime {
    let now = earliest(components.iter().map(Component::now));
    let times = components.iter();
    let times = times.map(|component| component.last_stir(watch, now, patience));
    times.fold(SimTime::ZERO, SimTime::max)
}

/// The earliest of these times; [`SimTime::MAX`] if there are none.
pub(super) fn earliest(times: impl Iterator<Item = SimTime>) -> SimTime {
    times.min().unwrap_or(SimTime::MAX)
}

/// End of the slice that contains `time`.
pub(super) const fn end_of_slice(time: SimTime) -> SimTime {
    let slices = time.ps() / SLICE.ps();
    SimTime::from_ps((slices.saturating_add(1)).saturating_mul(SLICE.ps()))
}
