//! The dispatch tables of an image (docs/tigon2.md, section 3).
//!
//! The HAL marks each CPU's table by a symbol. A table has 33 entries, each a jump and its delay slot.

use defs::tigon2::event::TABLE_ENTRIES;

use super::Image;
use crate::cpu::architecture::Transfer;
use crate::sim::initiator::Initiator;

/// Symbols of the tables of CPU A and CPU B.
const TABLES: [(Initiator, &str); 2] = [
    (Initiator::CpuA, "__dispatch_table_a"),
    (Initiator::CpuB, "__dispatch_table_b"),
];
/// Function of the HAL for events without a handler.
const UNEXPECTED: &str = "::event::unexpected";
/// Bytes of an entry.
const ENTRY_BYTES: u32 = 8;

/// An entry of a dispatch table that leads to a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// The CPU: 0 for A, 1 for B.
    pub cpu: usize,
    /// Bit of the event; `None` for the idle entry.
    pub event: Option<u32>,
    /// Start address of the handler.
    pub address: u32,
    /// Name, or address.
    pub name: String,
}

/// Reads the image's dispatch tables.
pub(super) fn read(image: &Image) -> Vec<Handler> {
    let mut handlers = Vec::new();
    for (cpu, (who, symbol)) in TABLES.into_iter().enumerate() {
        let Some(table) = image.symbols.named(symbol) else {
            continue;
        };
        let entries = (0..).take(TABLE_ENTRIES).filter_map(|index: u32| {
            let at = table.address.wrapping_add(ENTRY_BYTES * index);
            let jump = image.instruction(at)?;
            let jumps = image.architecture.transfer(jump) == Some(Transfer::Jump);
            let address = image.architecture.target(jump, at).filter(|_| jumps)?;
            let name = image.symbols.describe_for(who, address);
            let event = index.checked_sub(1);
            (!name.ends_with(UNEXPECTED)).then_some(Handler {
                cpu,
                event,
                address,
                name,
            })
        });
        handlers.extend(entries);
    }
    handlers
}
