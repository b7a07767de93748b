//! Display of chip registers by hardware block.

use emulator::board::DescribeFrame;
use emulator::board::RegisterRow;

use super::{frame, text};
use crate::debug::session::Session;

/// All registers of a hardware block (`dma_read`, `mac_tx`, `timer`): address, name, value, named bits.
/// Reading has no side effects.
///
/// # Errors
/// If the block does not exist, or has no registers.
pub fn chip(session: &Session, block: &str) -> anyhow::Result<String> {
    let (board, now) = (session.board(), session.now());
    let rows = board.block(block, now);
    let line = |row: &RegisterRow| {
        let (address, name, value, bits) = (row.address, &row.name, row.value, &row.bits);
        format!("{address:08x}  {name:30} {value:08x}  {bits}")
    };
    let lines: Vec<_> = rows.iter().map(line).collect();
    if lines.is_empty() {
        let blocks = board.names().blocks.iter().map(|block| block.name);
        let blocks: Vec<_> = blocks
            .filter(|name| !board.block(name, now).is_empty())
            .collect();
        anyhow::bail!(
            "no block \"{block}\" has registers (there are: {})",
            blocks.join(", ")
        );
    }
    Ok(text(lines))
}

/// Owner of the semaphore on the focused node.
pub fn semaphore(session: &Session) -> anyhow::Result<String> {
    let line = session.board().semaphore();
    Ok(text([line.ok_or_else(|| missing(session, "semaphore"))?]))
}

/// DMA channels, rings and buffers of the focused node, with every descriptor in progress.
pub fn rings(session: &Session) -> anyhow::Result<String> {
    let describe: DescribeFrame<'_> = &|word| frame::describe(word);
    let lines = session.board().rings(describe);
    Ok(text(lines.ok_or_else(|| missing(session, "rings"))?))
}

fn missing(session: &Session, what: &str) -> anyhow::Error {
    anyhow::anyhow!("a board of type {} has no {what}", session.board().name())
}
