//! Display of chip registers by hardware block.

use emulator::board::RegisterRow;
use emulator::observe::names::BLOCKS;
use emulator::tigon2::semaphore::Side;

use super::text;
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
        let blocks = BLOCKS.iter().map(|block| block.name);
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
    let board = session.tigon2()?;
    let semaphore = &board.fabric.semaphore;
    let holds = |side| semaphore.read(side) != 0;
    Ok(text([match (holds(Side::A), holds(Side::B)) {
        (true, _) => "CPU A has the semaphore".into(),
        (_, true) => "CPU B has the semaphore".into(),
        _ => "the semaphore is free".into(),
    }]))
}
