//! The board as an operating system hands it out: to one program at a time.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use super::Emp;
use super::config::Config;
use super::error::StartError;
use crate::firmware::Firmware;
use crate::window::{System, Window};

/// The device file of one board: what the kernel module of the EMP thesis exports.
///
/// The programs of a host share it (clones are the same device). One at a time can open it; another one is
/// refused until the first has closed it, or has ended in whatever way. Each opening starts the board
/// anew, with a later epoch than the last one's: transfers that a dead program left under way are
/// forgotten, and what is on the wire of them cannot be taken for its successor's.
///
/// ```
/// use host_lib::emp::{Config, Device, OpenError};
/// use host_lib::firmware::Firmware;
/// use host_lib::window::{System, Window};
///
/// async fn program<W: Window, S: System>(
///     device: &Device,
///     window: W,
///     system: S,
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
pub struct Device(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    open: bool,
    /// Of the last opening.
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

/// One program's hold on a device, as long as this lives.
pub(super) struct Hold(Device);

impl Device {
    /// The device of a board that no program has used. Its first opening has epoch 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The device of a board after a restart of the machine: its openings have epochs after `epoch`,
    /// which must not be older than any that the board had before. Epochs are wrapping numbers: later
    /// means less than 0x8000 further on.
    #[must_use]
    pub fn after_epoch(epoch: u16) -> Self {
        let open = false;
        Self(Arc::new(Mutex::new(State { open, epoch })))
    }

    /// The epoch of the last opening.
    #[must_use]
    pub fn epoch(&self) -> u16 {
        self.lock().epoch
    }

    /// Opens the device and starts EMP, as [`Emp::start`] does, whatever the board was at. The epoch of
    /// `config` does not count.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open<W: Window, S: System>(
        &self,
        window: W,
        system: S,
        firmware: &Firmware,
        config: Config,
    ) -> Result<Emp<W, S>, OpenError> {
        let (hold, epoch) = self.take()?;
        let config = Config { epoch, ..config };
        let mut emp = Emp::start(window, system, Some(firmware), config).await?;
        emp.hold = Some(hold);
        Ok(emp)
    }

    fn take(&self) -> Result<(Hold, u16), OpenError> {
        let mut state = self.lock();
        if state.open {
            return Err(OpenError::Busy);
        }
        state.open = true;
        state.epoch = state.epoch.wrapping_add(1);
        Ok((Hold(self.clone()), state.epoch))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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

impl<W: Window, S: System> Emp<W, S> {
    /// Ends EMP on the board: its CPUs are halted and its DMA is ended, so that nothing touches the
    /// program's memory any more. Then the [`Device`] is closed, if that is where it comes from. Dropping an
    /// [`Emp`] closes the device too, but leaves the board at work until the device is opened again, as a
    /// program that dies does.
    pub async fn close(mut self) {
        // A board that does not obey is refused when it is started again.
        let _ = self.board.reset().await;
    }
}
