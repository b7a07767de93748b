//! Nodes with small programs for measurements: kernels with typical work of NIC firmware, without end, or idle loops.

use emulator::board::CpuId;
use emulator::profile::Profile;
use emulator::sim::node::Node;

use crate::boards::{self, BoardError, Parts};

/// Memory that holds the kernel's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeMemory {
    /// In the fastest memory of each CPU.
    Private,
    /// In the memory that all units of the board share.
    Shared,
}

/// Work of a board's CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// All execute the kernel.
    Busy(CodeMemory),
    /// The first one executes the kernel, the others are halted.
    OneBusy(CodeMemory),
    /// The CPUs wait for events; the last one looks at its rings once in 5 us, as the vendor's firmware does.
    Polling,
}

/// A node with the kernel on all CPUs, data in shared memory.
///
/// # Errors
/// If the profile is for another board, or the kernel does not assemble.
pub fn busy_node(profile: &Profile, code: CodeMemory) -> Result<Node, BoardError> {
    node(profile, Load::Busy(code))
}

/// A node with this load.
///
/// # Errors
/// If the profile is for another board, the board has no such program, or it does not assemble.
pub fn node(profile: &Profile, load: Load) -> Result<Node, BoardError> {
    let board = boards::for_profile(profile);
    let parts = Parts {
        original: false,
        profile,
        probes: None,
        sram_bytes: board.usual_sram_bytes,
        memory_megabytes: 1,
    };
    let mut node = board.node(0, &parts)?;
    board.load(&mut node, load)?;
    Ok(node)
}

/// Number of instructions executed by all CPUs.
#[must_use]
pub fn instructions(node: &Node) -> u64 {
    let board = node.inspect();
    let cpus = (0..board.cpus().len()).filter_map(|cpu| board.cpu(CpuId::new(cpu)));
    cpus.map(|cpu| cpu.instructions).sum()
}
