//! Nodes whose hosts only start a firmware of any kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emulator::board::{CpuId, Inspect, StopReason};
use emulator::image::Image;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::world::World;

use crate::scenario::Scenario;
use crate::scenario::programs::Program;

/// The set of these nodes.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// Whether each node belongs to the set.
    nodes: Vec<bool>,
    /// Set when a CPU stops; cleared by the reader.
    stop: Arc<AtomicBool>,
}

/// Sink that detects a stopped CPU.
struct Watchman(Arc<AtomicBool>);

impl Observer for Watchman {
    fn event(&mut self, event: &TraceEvent) {
        if matches!(event.kind, TraceKind::CoreStopped { .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Started {
    pub(super) fn new(world: &mut World, scenario: &Scenario) -> Self {
        let mut nodes = vec![false; world.nodes.len()];
        for spec in &scenario.programs {
            if let Program::Start { nodes: these } = &spec.program {
                these.iter().for_each(|&node| nodes[node] = true);
            }
        }
        let started = Self {
            nodes,
            stop: Arc::default(),
        };
        if started.any() {
            world.observe(Box::new(Watchman(Arc::clone(&started.stop))));
        }
        started
    }

    /// Whether the set is not empty.
    pub(super) fn any(&self) -> bool {
        self.nodes.contains(&true)
    }

    /// Whether a node belongs to the set.
    pub(super) fn contains(&self, node: usize) -> bool {
        self.nodes[node]
    }

    /// The flag that a stopped CPU sets.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether firmware on one of these nodes has failed.
    pub(super) fn failed(&self, world: &World) -> bool {
        let mut these = world.nodes.iter().zip(&self.nodes).filter(|(_, is)| **is);
        these.any(|(node, _)| {
            let mut cpus = (0..node.inspect().cpus().len()).map(CpuId::new);
            cpus.any(|cpu| is_mistake(node.inspect(), cpu))
        })
    }

    /// One line per CPU that stopped by mistake. EMP firmware never stops; other firmware may stop when it
    /// is done.
    pub(super) fn problems(&self, world: &World, image: &Image, names: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, (node, name)) in world.nodes.iter().zip(names).enumerate() {
            let board = node.inspect();
            for (cpu, info) in board.cpus().iter().enumerate() {
                let cpu = CpuId::new(cpu);
                let wrong = !self.contains(index) || is_mistake(board, cpu);
                let reason = reason(board, cpu, image).filter(|_| wrong);
                let line =
                    reason.map(|why| format!("node {name}: {} has stopped: {why}", info.name));
                problems.extend(line);
            }
        }
        problems
    }
}

/// Whether a CPU stopped for another reason than a plain `break`, the regular end of firmware.
fn is_mistake(board: &dyn Inspect, cpu: CpuId) -> bool {
    match board.cpu(cpu).as_ref().and_then(|cpu| cpu.state.stopped()) {
        Some(StopReason::Fault(_)) => true,
        Some(StopReason::Break { .. }) => board.panic_at(cpu).is_some(),
        None => false,
    }
}

/// Reason for which a CPU stopped, if it did.
fn reason(board: &dyn Inspect, cpu: CpuId, image: &Image) -> Option<String> {
    let view = board.cpu(cpu)?;
    let reason = view.state.stopped()?;
    if let Some(panic) = board.panic_at(cpu) {
        return Some(panic);
    }
    let pc = view.pc;
    let who = board.cpus().get(cpu.index())?.initiator;
    let place = image.symbols.describe_for(who, pc);
    Some(match reason {
        StopReason::Break { code } => format!("break {code:#x} at pc {pc:#010x} ({place})"),
        StopReason::Fault(fault) => format!("{fault}, at pc {pc:#010x} ({place})"),
    })
}
