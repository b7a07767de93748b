//! Processes of one host that use one board over GM: the first one boots it, the others get a library of their own.

use host_lib::gm::Gm;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use emulator::host::machine::Machine;
use host_lib::window::System;

use crate::nodes::START;

/// First pause of a process that waits until another one has booted the firmware, in ns. Each is twice as long as the one before: where the
/// two share a CPU, the other one gets on.
const PAUSE_NS: u64 = 1_000;
/// Longest of these pauses, in ns.
const LONGEST_PAUSE_NS: u64 = 64_000;

/// Exchange between the first process of a host and the others: their machines become libraries.
#[derive(Debug, Default)]
pub struct Processes {
    waiting: Mutex<BTreeMap<usize, Machine>>,
    libraries: Mutex<BTreeMap<usize, Gm>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Processes {
    /// Waits until the first process has booted the board; the library of this one, which has the number `process` on its host. `None` if
    /// the board does not start.
    pub async fn join(&self, process: usize, mut machine: Machine) -> Option<Gm> {
        lock(&self.waiting).insert(process, machine.clone());
        let start = START.saturating_sub(machine.now());
        machine.sleep(start.ps() / 1000).await;
        let mut pause_ns = PAUSE_NS;
        loop {
            // The machine is taken before the library is given, both between two actions of the first process.
            let is_taken = !lock(&self.waiting).contains_key(&process);
            let library = lock(&self.libraries).remove(&process);
            match library {
                Some(library) => return Some(library),
                None if is_taken => return None,
                None => {}
            }
            machine.sleep(pause_ns).await;
            pause_ns = (2 * pause_ns).min(LONGEST_PAUSE_NS);
        }
    }

    /// Gives the processes that wait libraries of a board; none if it has not started.
    ///
    /// # Errors
    /// There are more processes than ports.
    pub fn share(&self, board: Option<&Gm>) -> Result<(), String> {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        for (process, machine) in waiting {
            let Some(board) = board else { continue };
            let library = board.process(machine.clone().into(), machine.into());
            let library = library.map_err(|error| error.to_string())?;
            lock(&self.libraries).insert(process, library);
        }
        Ok(())
    }
}
