//! The program that starts firmware of any kind.

use std::sync::Arc;

use defs::tigon2::regs::{HOST_CONTROL, HostControl};
use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use host_lib::board::BoardWindow;
use host_lib::firmware::Firmware;
use host_lib::window::System;

/// Resets the board and loads the firmware, starts CPU A at `time`, or at once if that is past, and waits
/// for ever. The board's interrupts are masked: there is no handler for them.
///
/// # Errors
/// If the chip does not come up, or the firmware does not fit it.
pub(super) async fn run(
    mut machine: Machine,
    firmware: Arc<Firmware>,
    time: SimTime,
) -> Result<(), String> {
    let mut board = BoardWindow::new(machine.clone().into());
    board.reset().await.map_err(|error| error.to_string())?;
    let loaded = firmware.load(&mut board).await;
    loaded.map_err(|error| error.to_string())?;
    let control = HostControl::from_bits_retain(board.read_register(HOST_CONTROL).await);
    let masked = control | HostControl::MASK_INTERRUPTS;
    board.write_register(HOST_CONTROL, masked.bits()).await;
    let rest = time.saturating_sub(machine.now());
    machine.compute(rest.ps() / 1000).await;
    board.start_cpu_a(firmware.entry).await;
    loop {
        machine.wait_interrupt(None).await.ok();
    }
}
