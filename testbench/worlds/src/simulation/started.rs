//! Nodes whose hosts start firmware of any kind and leave it alone: nobody else looks after them.

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

/// Which nodes these are.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// For each node whether it is one.
    nodes: Vec<bool>,
    /// A CPU has stopped since somebody last asked.
    stop: Arc<AtomicBool>,
}

/// Notices that a CPU stops.
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

    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        self.nodes.contains(&true)
    }

    /// Whether this is one.
    pub(super) fn contains(&self, node: usize) -> bool {
        self.nodes[node]
    }

    /// What is set when a CPU stops.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether firmware on one of them has come to grief.
    pub(super) fn failed(&self, world: &World) -> bool {
        let mut these = world.nodes.iter().zip(&self.nodes).filter(|(_, is)| **is);
        these.any(|(node, _)| (0..2).any(|cpu| is_mistake(node.board::<Tigon2>(), cpu)))
    }

    /// A line for each CPU that stopped and should not have. EMP's firmware never stops; other firmware may, where it
    /// has nothing left to do.
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

/// Whether a CPU stopped otherwise than by a plain `break`, with which firmware ends.
fn is_mistake(board: &Tigon2, cpu: usize) -> bool {
    let fault = matches!(board.stop_reason(cpu), Some(StopReason::Fault(_)));
    fault || board.panic(cpu).is_some()
}

/// Why a CPU stopped, if it did.
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
