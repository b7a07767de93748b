//! State that the processes of a host share: the page table, the ports, and the command word.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use defs::gm::port::PORT_COUNT;

use super::table::PageTable;

/// The state of a board's driver.
#[derive(Debug)]
pub(super) struct DriverState {
    pub(super) table: PageTable,
    /// The process that has each port.
    pub(super) ports: [Option<u8>; PORT_COUNT as usize],
    /// Processes so far.
    pub(super) processes: u8,
    /// A process waits for the end of its command.
    pub(super) in_command: bool,
}

/// The driver of a board, which its processes share.
#[derive(Debug, Clone)]
pub(super) struct Driver(Arc<Mutex<DriverState>>);

impl Driver {
    pub(super) fn new(table: PageTable) -> Self {
        Self(Arc::new(Mutex::new(DriverState {
            table,
            ports: Default::default(),
            processes: 1,
            in_command: false,
        })))
    }

    /// The state. It is never held while a call waits.
    pub(super) fn lock(&self) -> MutexGuard<'_, DriverState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the command word, if no other process has it.
    pub(super) fn begin_command(&self) -> bool {
        let mut state = self.lock();
        !std::mem::replace(&mut state.in_command, true)
    }

    pub(super) fn end_command(&self) {
        self.lock().in_command = false;
    }
}
