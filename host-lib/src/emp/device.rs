//! A board that the operating system grants to one program at a time.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use super::Emp;
use super::config::Config;
use super::error::StartError;
use crate::firmware::Firmware;
use crate::window::{AnySystem, AnyWindow};

/// The device file of one board, as the kernel module of the EMP thesis exports it.
///
/// The programs of a host share it (clones are the same device). One program can open it at a time; others
/// are refused until it closes the device or ends. Each opening restarts the board with a later epoch:
/// unfinished transfers of a dead program are dropped, and its frames on the wire cannot be taken for its
/// successor's.
///
/// ```
/// use host_lib::emp::{Config, Device, OpenError};
/// use host_lib::firmware::Firmware;
/// use host_lib::window::{AnySystem, AnyWindow};
///
/// async fn program(
///     device: &Device,
///     window: AnyWindow,
///     system: AnySystem,
///     firmware: &Firmware,
///     config: Config,
/// ) -> Result<(), OpenError> {
///     let emp = match device.open(window, system, firmware, config).await {
///         // Another program has it: come back later.
///         Err(OpenError::Busy) => return Ok(()),
///         opened => opened?,
///     };
///     // ... post, wait ...
///     emp.close().await;
///     Ok(())
/// }
/// ```
#[derive(Clone, Default)]
pub struct Device(Arc<Mutex<DeviceState>>);

/// State of a device, which the programs of a host share.
#[derive(Default)]
struct DeviceState {
    open: bool,
    /// Epoch of the last opening.
    epoch: u16,
}

/// A [`Device`] could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OpenError {
    /// Another program has it open.
    #[error("the board is in use by another program")]
    Busy,
    /// EMP could not be started; the device is closed again.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// One program's hold on a device; dropping it closes the device.
pub(super) struct Hold(Device);

impl Device {
    /// The device of an unused board. Its first opening has epoch 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The device of a board after a restart of the machine: its openings have epochs after `epoch`, which
    /// must be the latest that the board had before. Epochs wrap: later means by less than 0x8000.
    #[must_use]
    pub fn after_epoch(epoch: u16) -> Self {
        let open = false;
        Self(Arc::new(Mutex::new(DeviceState { open, epoch })))
    }

    /// The epoch of the last opening.
    #[must_use]
    pub fn epoch(&self) -> u16 {
        self.lock().epoch
    }

    /// Opens the device and starts EMP like [`Emp::start`], whatever the board's state. The epoch of
    /// `config` is ignored.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(
        &self,
        window: AnyWindow,
        system: AnySystem,
        firmware: &Firmware,
        config: Config,
    ) -> Result<Emp, OpenError> {
        let (hold, epoch) = self.take_hold()?;
        let config = Config { epoch, ..config };
        let mut emp = Emp::start(window, system, Some(firmware), config).await?;
        emp.hold = Some(hold);
        Ok(emp)
    }

    /// Opens the device for a program; returns the epoch of this opening.
    fn take_hold(&self) -> Result<(Hold, u16), OpenError> {
        let mut state = self.lock();
        if state.open {
            return Err(OpenError::Busy);
        }
        state.open = true;
        state.epoch = state.epoch.wrapping_add(1);
        Ok((Hold(self.clone()), state.epoch))
    }

    fn lock(&self) -> MutexGuard<'_, DeviceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.lock().open = false;
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Device")
            .field("open", &state.open)
            .field("epoch", &state.epoch)
            .finish()
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

impl Emp {
    /// Stops EMP on the board: its CPUs are halted and its DMA is stopped, so that nothing accesses the
    /// program's memory any more. Then closes the [`Device`] if there is one. Dropping an [`Emp`] closes
    /// the device too, but leaves the board running until the device is opened again, as after the death of
    /// a program.
    pub async fn close(mut self) {
        // A board that does not respond is refused at its next start.
        let _ = self.board.reset().await;
    }
}
