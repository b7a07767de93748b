//! Display of chip registers by hardware block.

use emulator::observe::names::BLOCKS;
use emulator::tigon2::semaphore::Side;
use emulator::tigon2::{inspect::names, map};

use super::text;
use crate::debug::session::Session;

/// Registers of a block, by address: name and address.
fn of_block(block: &str) -> impl Iterator<Item = (String, u32)> {
    names::registers().filter(move |(_, address)| map::block_of(*address) == block)
}

/// All registers of a hardware block (`dma_read`, `mac_tx`, `timer`): address, name, value, named bits.
/// Reading has no side effects.
///
/// # Errors
/// If the block does not exist, or has no registers.
pub fn chip(session: &Session, block: &str) -> anyhow::Result<String> {
    let lines: Vec<_> = of_block(block)
        .map(|(name, address)| {
            let value = session
                .board()
                .peek(session.focus.cpu, address, session.now());
            let value = value.unwrap_or_default();
            let bits = names::bits(address, value).unwrap_or_default();
            format!("{address:08x}  {name:30} {value:08x}  {bits}")
        })
        .collect();
    if lines.is_empty() {
        let blocks = BLOCKS.iter().map(|block| block.name);
        let blocks: Vec<_> = blocks
            .filter(|name| of_block(name).next().is_some())
            .collect();
        anyhow::bail!(
            "no block \"{block}\" has registers (there are: {})",
            blocks.join(", ")
        );
    }
    Ok(text(lines))
}

/// Owner of the semaphore on the focused node.
#[must_use]
pub fn semaphore(session: &Session) -> String {
    let semaphore = &session.board().fabric.semaphore;
    let holds = |side| semaphore.read(side) != 0;
    text([match (holds(Side::A), holds(Side::B)) {
        (true, _) => "CPU A has the semaphore".into(),
        (_, true) => "CPU B has the semaphore".into(),
        _ => "the semaphore is free".into(),
    }])
}
