//! Words of the own host's memory.

use super::AtomicOperation;
use crate::gm::Gm;
use crate::window::VirtualAddress;

/// Reads a word.
pub(super) fn read(gm: &Gm, address: VirtualAddress) -> Result<u32, VirtualAddress> {
    let mut bytes = [0; 4];
    gm.system().read_memory(address, &mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

/// Executes an operation as one locked instruction of the processor does; the word before it.
pub(super) fn execute(
    gm: &mut Gm,
    address: VirtualAddress,
    operation: AtomicOperation,
) -> Result<u32, VirtualAddress> {
    let before = read(gm, address)?;
    let after = operation.apply(before);
    if after != before {
        gm.system_mut()
            .write_memory(address, &after.to_be_bytes())?;
    }
    Ok(before)
}
