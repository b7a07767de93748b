//! A node's part in the result of a run: measured on the rank that executes the node.

use emulator::board::Traffic;
use emulator::sim::ranks::{RankError, Ranks};
use emulator::sim::time::SimTime;
use emulator::state::{Reader, Value, Writer};
use emulator::value_struct;

use crate::simulation::Simulation;
use crate::simulation::counters::{BusyTimes, NicCounters};
use crate::simulation::started::StartedNodes;
use crate::stopped::Stopped;

/// Times of a host program since power-on.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct ProgramTimes {
    pub(in crate::simulation) name: String,
    pub(in crate::simulation) computing: SimTime,
    pub(in crate::simulation) polling: SimTime,
    pub(in crate::simulation) stolen: SimTime,
    pub(in crate::simulation) ready: SimTime,
    pub(in crate::simulation) blocked: SimTime,
}

value_struct!(ProgramTimes {
    name: name,
    computing: computing,
    polling: polling,
    stolen: stolen,
    ready: ready,
    blocked: blocked
});

/// A node at the end of a run.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct NodeReport {
    /// Busy times of the board's units at the start of the programs, and now, in ps.
    pub(in crate::simulation) busy: (BusyTimes, BusyTimes),
    /// Counters of the firmware: of the lives that a reset ended, and of the last one.
    pub(in crate::simulation) counters: (NicCounters, NicCounters),
    /// Traffic of the board's port.
    pub(in crate::simulation) traffic: Traffic,
    /// Units in the rings of its port.
    pub(in crate::simulation) queued: u64,
    pub(in crate::simulation) programs: Vec<ProgramTimes>,
    /// CPUs that have stopped and should not.
    pub(in crate::simulation) stopped: Vec<Stopped>,
    /// A line for each of them, and for those that gave up.
    pub(in crate::simulation) problems: Vec<String>,
    /// A line for each CPU of a node without a host's program that runs.
    pub(in crate::simulation) running: Vec<String>,
}

value_struct!(NodeReport {
    busy: busy,
    counters: counters,
    traffic: traffic,
    queued: queued,
    programs: programs,
    stopped: stopped,
    problems: problems,
    running: running
});

impl NodeReport {
    /// Report of a node that this process executes.
    fn measure(simulation: &Simulation, index: usize) -> Self {
        let (world, counters) = (&simulation.world, &simulation.counters);
        let node = &world.nodes[index];
        let programs = node.programs.cpu_times(node.now());
        let programs = programs.map(|(name, time)| ProgramTimes {
            name: name.to_owned(),
            computing: time.computing,
            polling: time.polling,
            stolen: time.stolen,
            ready: time.ready,
            blocked: time.blocked,
        });
        let name = &simulation.names[index];
        let stopped = simulation
            .started
            .stopped(index, node, simulation.images.image_of(index));
        Self {
            problems: StartedNodes::problems(node, &stopped, name),
            running: simulation.started.running(
                index,
                node,
                simulation.images.image_of(index),
                name,
            ),
            stopped,
            busy: counters.busy(node, index),
            counters: counters.of_node(node, index),
            traffic: node.inspect().traffic(),
            queued: node.inspect().queued_units(),
            programs: programs.collect(),
        }
    }
}

impl Simulation {
    /// The reports of all nodes. Those of other ranks have been [collected](Self::collect).
    pub(in crate::simulation) fn reports(&self) -> Vec<NodeReport> {
        let nodes = 0..self.world.nodes.len();
        let report = |node| match self.elsewhere.get(&node) {
            Some(report) => report.clone(),
            None => NodeReport::measure(self, node),
        };
        nodes.map(report).collect()
    }

    /// Collects the reports of the nodes that other ranks execute.
    pub(super) fn collect(&mut self, ranks: &mut Ranks) -> Result<(), RankError> {
        let nodes = 0..self.world.nodes.len();
        let mut out = Writer::default();
        for node in nodes.clone().filter(|&node| ranks.owns(node)) {
            NodeReport::measure(self, node).write(&mut out);
        }
        let owners: Vec<usize> = nodes.map(|node| ranks.owner(node)).collect();
        let me = ranks.rank();
        let messages = ranks.exchange(&out.into_bytes())?;
        let mut readers: Vec<_> = messages.iter().map(|bytes| Reader::new(bytes)).collect();
        for (node, rank) in owners.into_iter().enumerate() {
            if rank != me {
                let read = NodeReport::read(&mut readers[rank]);
                let report = read.map_err(|error| RankError::Unreadable { rank, error })?;
                self.elsewhere.insert(node, report);
            }
        }
        Ok(())
    }
}
