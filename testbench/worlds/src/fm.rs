//! Nodes on which FM programs run.

use emulator::host::machine::Machine;
use emulator::sim::time::SimTime;
use host_lib::firmware::Firmware;
use host_lib::fm::{Config, Fm};
use host_lib::window::{System, SystemPort};

use crate::nodes::START;

/// Loads and starts the firmware, and waits for [`START`]: until then other boards may be in reset, which lose packets.
///
/// # Errors
/// If board or firmware fail to start.
pub async fn boot(machine: Machine, firmware: &Firmware, config: Config) -> Result<Fm, String> {
    let mut clock = machine.clone();
    let fm = Fm::start(machine.clone().into(), machine.into(), firmware, config)
        .await
        .map_err(|error| error.to_string())?;
    let rest = START.saturating_sub(SimTime::from_ps(clock.now_ps()));
    clock.compute(rest.ps() / 1000).await;
    Ok(fm)
}
