//! Nodes whose hosts only start a firmware of any kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emulator::image::Image;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::world::World;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::cores::StopReason;

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
        these.any(|(node, _)| (0..2).any(|cpu| is_mistake(node.board::<Tigon2>(), cpu)))
    }

    /// One line per CPU that stopped by mistake. EMP firmware never stops; other firmware may stop when it
    /// is done.
    pub(super) fn problems(&self, world: &World, image: &Image, names: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, (node, name)) in world.nodes.iter().zip(names).enumerate() {
            for (cpu, letter) in ["A", "B"].into_iter().enumerate() {
                let wrong = !self.contains(index) || is_mistake(node.board::<Tigon2>(), cpu);
                let reason = reason(node.board::<Tigon2>(), cpu, image).filter(|_| wrong);
                let line =
                    reason.map(|why| format!("node {name}: CPU {letter} has stopped: {why}"));
                problems.extend(line);
            }
        }
        problems
    }
}

/// Whether a CPU stopped for another reason than a plain `break`, the regular end of firmware.
fn is_mistake(board: &Tigon2, cpu: usize) -> bool {
    let fault = matches!(board.stop_reason(cpu), Some(StopReason::Fault(_)));
    fault || board.panic(cpu).is_some()
}

/// Reason for which a CPU stopped, if it did.
fn reason(board: &Tigon2, cpu: usize, image: &Image) -> Option<String> {
    let reason = board.stop_reason(cpu)?;
    if let Some(panic) = board.panic(cpu) {
        return Some(panic);
    }
    let unit = &board.cores[cpu];
    let pc = unit.core.pc();
    let place = image.symbols.describe_for(unit.private.who, pc);
    Some(match reason {
        StopReason::Break { code } => format!("break {code:#x} at pc {pc:#010x} ({place})"),
        StopReason::Fault(fault) => format!("{fault}, at pc {pc:#010x} ({place})"),
    })
}
