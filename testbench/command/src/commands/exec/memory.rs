//! Memory as a CPU sees it: loading before a run, reading afterwards.

use emulator::board::{CpuId, Inspect};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;

/// An address range is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The address is unmapped.
    #[error("no memory there ({place})")]
    Nothing {
        /// Description by the address map.
        place: String,
    },
    /// The range exceeds its memory.
    #[error("too long: {name} ends at {end:#x}")]
    TooLong {
        /// Name of the memory.
        name: &'static str,
        /// End of the memory.
        end: u32,
    },
    /// The length is 0.
    #[error("the length is 0")]
    Empty,
}

/// Checks that `length_bytes` from `address` on do not exceed the end of their memory.
const fn check_end(
    address: u32,
    length_bytes: usize,
    name: &'static str,
    end: u32,
) -> Result<(), MemoryError> {
    if length_bytes > end.saturating_sub(address) as usize {
        return Err(MemoryError::TooLong { name, end });
    }
    Ok(())
}

fn nothing(board: &dyn Inspect, cpu: CpuId, address: u32) -> MemoryError {
    let place = board.describe_address(cpu, address);
    MemoryError::Nothing { place }
}

/// Loads bytes into installed memory of a CPU.
///
/// # Errors
/// If they do not fit there.
pub fn write(node: &mut Node, cpu: CpuId, address: u32, bytes: &[u8]) -> Result<(), MemoryError> {
    let area = node.inspect().area(cpu, address);
    let refuse = |node: &Node| nothing(node.inspect(), cpu, address);
    let Some(area) = area.filter(|area| area.memory) else {
        return Err(refuse(node));
    };
    check_end(address, bytes.len(), area.name, area.installed_end)?;
    let written = node.poke(cpu, address, bytes);
    written.map_err(|_| refuse(node))
}

/// Reads bytes as a CPU sees them, without side effects: memory (which may repeat) or registers.
///
/// # Errors
/// If the range is not within one of them.
pub fn read(
    node: &Node,
    cpu: CpuId,
    address: u32,
    length_bytes: u32,
) -> Result<Vec<u8>, MemoryError> {
    if length_bytes == 0 {
        return Err(MemoryError::Empty);
    }
    let board = node.inspect();
    let area = board.area(cpu, address);
    let area = area.ok_or_else(|| nothing(board, cpu, address))?;
    let length = length_bytes as usize;
    check_end(address, length, area.name, area.end)?;
    Ok(board.peek_bytes(cpu, address, length, node.now()))
}

/// The instruction word at a CPU's `pc`, if there is memory.
pub fn instruction(board: &dyn Inspect, cpu: CpuId, pc: u32, now: SimTime) -> Option<u32> {
    let area = board.area(cpu, pc)?;
    board.peek(cpu, pc, now).filter(|_| area.memory)
}
