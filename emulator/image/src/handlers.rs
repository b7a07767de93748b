//! The dispatch tables of an image (docs/tigon2.md, section 3).
//!
//! The HAL marks each CPU's table by a symbol. Each entry is a jump and its delay slot.

use super::Image;
use emulator_base::initiator::Initiator;
use emulator_cpu::architecture::Transfer;

/// Function of the HAL for events without a handler.
const UNEXPECTED: &str = "::event::unexpected";
/// Tables of a CPU alone.
const OWN_TABLES: usize = 2;
/// Bytes of an entry.
const ENTRY_BYTES: u32 = 8;

/// An entry of a dispatch table that leads to a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// Index of the CPU; `None` for all, each of which has a copy of the table.
    pub cpu: Option<usize>,
    /// Bit of the event; `None` for the idle entry.
    pub event: Option<u32>,
    /// Start address of the handler.
    pub address: u32,
    /// Name, or address.
    pub name: String,
}

impl Handler {
    /// Whether a CPU has the handler.
    #[must_use]
    pub fn is_on(&self, cpu: usize) -> bool {
        self.cpu.is_none_or(|own| own == cpu)
    }
}

/// Reads the image's dispatch tables: the symbols of CPU A's, of CPU B's, and of one of all CPUs, and the number of entries.
pub(super) fn read(image: &Image, (tables, entries): (&[&str], usize)) -> Vec<Handler> {
    let mut handlers = Vec::new();
    for (index, symbol) in tables.iter().enumerate() {
        let cpu = (index < OWN_TABLES).then_some(index);
        let who = Initiator::Cpu(cpu.unwrap_or_default() as u8);
        let Some(table) = image.symbols.named(symbol) else {
            continue;
        };
        let found = (0..).take(entries).filter_map(|index: u32| {
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
        handlers.extend(found);
    }
    handlers
}
