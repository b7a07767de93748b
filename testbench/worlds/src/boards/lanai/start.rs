//! The program that starts firmware of any kind.

use std::sync::Arc;

use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use host_lib::firmware::Firmware;
use host_lib::lanai::{Family, LanaiBoard};
use host_lib::window::System;

/// Resets the chip and loads the firmware, releases the chip at `time`, or at once if that is past, and waits for ever. The
/// board's interrupts are masked: there is no handler for them.
///
/// # Errors
/// If the EEPROM is that of another board, or the firmware does not fit.
pub(super) async fn run(
    mut machine: Machine,
    family: Family,
    firmware: Arc<Firmware>,
    time: SimTime,
) -> Result<(), String> {
    let mut board = LanaiBoard::new(machine.clone().into(), family);
    board.reset().await.map_err(|error| error.to_string())?;
    let loaded = board.load(&firmware).await;
    loaded.map_err(|error| error.to_string())?;
    let rest = time.saturating_sub(machine.now());
    machine.compute(rest.ps() / 1000).await;
    board.release().await;
    loop {
        machine.wait_interrupt(None).await.ok();
    }
}
