//! Nodes with a firmware of any kind: their hosts only start it, or repeat a recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use emulator::board::{CpuId, CpuState, Inspect};
use emulator::image::Image;
use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::node::Node;
use emulator::sim::world::World;

use crate::running::Running;
use crate::scenario::Scenario;
use crate::scenario::programs::Program;
use crate::stopped::{Cause, Stopped};

/// The set of these nodes.
#[derive(Debug, Default)]
pub(super) struct StartedNodes {
    /// Whether each node belongs to the set.
    nodes: Vec<bool>,
    /// Set when a CPU stops; cleared by the reader. Relaxed: observers and the reader run between slices.
    stop: Arc<AtomicBool>,
}

/// Sink that detects a stopped CPU.
struct StopObserver(Arc<AtomicBool>);

impl Observer for StopObserver {
    fn event(&mut self, event: &TraceEvent) {
        if matches!(event.kind, TraceKind::CoreStopped { .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl StartedNodes {
    pub(super) fn new(world: &mut World, scenario: &Scenario) -> Self {
        let mut nodes = vec![false; world.nodes.len()];
        for spec in &scenario.programs {
            if let Program::Start { nodes: these } = &spec.program {
                these.iter().for_each(|&node| nodes[node] = true);
            }
        }
        for (node, ..) in scenario.replays() {
            nodes[node] = true;
        }
        let started = Self {
            nodes,
            stop: Arc::default(),
        };
        if started.any() {
            world.observe(Box::new(StopObserver(Arc::clone(&started.stop))));
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
            cpus.any(|cpu| Cause::find(node.inspect(), cpu, true).is_some_and(Cause::is_mistake))
        })
    }

    /// One line per CPU of a node that stopped by mistake, or gave up.
    pub(super) fn problems(node: &Node, stopped: &[Stopped], name: &str) -> Vec<String> {
        let board = node.inspect();
        let cpus = (0..board.cpus().len()).map(CpuId::new);
        let halted = cpus.filter_map(|cpu| halt_after_failure(board, cpu));
        let halted = halted.map(|why| format!("node {name}: {why}"));
        let stopped = stopped.iter();
        let stopped = stopped.map(|cpu| format!("node {name}: {} has stopped: {cpu}", cpu.cpu));
        halted.chain(stopped).collect()
    }

    /// The CPUs of a node that stopped by mistake. EMP firmware never stops; other firmware may stop when it is done.
    pub(super) fn stopped(&self, index: usize, node: &Node, image: &Image) -> Vec<Stopped> {
        let mut stopped = Stopped::all(node, Some(image));
        stopped.retain(|cpu| cpu.is_mistake() || !self.contains(index));
        stopped
    }

    /// One line per CPU of a node that only firmware drives, if it runs and does not idle.
    pub(super) fn running(
        &self,
        index: usize,
        node: &Node,
        image: &Image,
        name: &str,
    ) -> Vec<String> {
        if !self.contains(index) {
            return Vec::new();
        }
        Running::lines(node, Some(image), name)
    }
}

/// The report of a CPU that is halted by its state register on a board with failed transfers: firmware that gives up
/// after a failed transfer halts its CPU.
fn halt_after_failure(board: &dyn Inspect, cpu: CpuId) -> Option<String> {
    let (view, failures) = (board.cpu(cpu)?, board.failed_transfers());
    let halted = view.state == CpuState::Halted && view.instructions > 0;
    let name = board.cpus().get(cpu.index())?.name;
    (halted && failures > 0).then(|| {
        let pc = view.pc;
        format!("{name} is halted at pc {pc:#010x}; failed DMA transfers: {failures}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator::cpu::mips::asm;
    use emulator::sim::time::SimTime;
    use emulator::tigon2::board::Tigon2;

    use crate::boards::DEFAULT;
    use crate::nodes;

    /// Transfers 64 bytes from a host address that no memory has, or transfers nothing; then halts its CPU.
    fn ended(transfers: bool) -> Node {
        let profile = crate::profile::built_in(DEFAULT.profile).unwrap();
        let parts = nodes::parts(&profile, None, DEFAULT.usual_sram_bytes);
        let mut node = DEFAULT.node(0, &parts).unwrap();
        let start = if transfers { 4 } else { 0 };
        let program = format!(
            ".org 0x4000\nlui $gp, 0xC000\nlui $t0, 0x7000\nsw $t0, 0x94($gp)\nli $t1, 64\n\
             sw $t1, 0x9C($gp)\nli $t2, {start}\nsw $t2, 0xB0($gp)\nwait: lw $t3, 0xB0($gp)\n\
             andi $t3, $t3, 4\nbne $t3, $zero, wait\nnop\nlui $t4, 1\nsw $t4, 0x140($gp)\nnop\n"
        );
        for (address, word) in asm::assemble(&program).unwrap().words() {
            node.board_mut::<Tigon2>()
                .fabric
                .sram
                .set_word(address, word);
        }
        node.with_board::<Tigon2, _>(|board, ctx| board.start_core(0, 0x4000, ctx));
        node.run_until(SimTime::from_us(50));
        node
    }

    #[test]
    fn a_cpu_that_halts_itself_after_a_failed_transfer_has_failed() {
        let node = ended(true);
        let report = halt_after_failure(node.inspect(), CpuId::new(0));
        let expected = "CPU A is halted at pc 0x00004034; failed DMA transfers: 1";
        assert_eq!(report.as_deref(), Some(expected));
        assert_eq!(halt_after_failure(node.inspect(), CpuId::new(1)), None);
        let node = ended(false);
        assert_eq!(halt_after_failure(node.inspect(), CpuId::new(0)), None);
    }
}
