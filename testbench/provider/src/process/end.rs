//! The world learns how the program ends its use of MPI.

use lanigon_requests::Request;

use super::{Process, is_connected, lock};

/// Tells the world that the process waits only for the end of the others from now on.
pub fn begin_finalize() {
    if is_connected() {
        let mut process = lock();
        let spent_ns = process.take_spent();
        process.is_finalizing = true;
        process.request(&Request::Finalize { spent_ns });
    }
}

/// Tells the world that the process ends all.
pub fn begin_abort(code: i32) {
    if is_connected() {
        lock().request(&Request::Abort { code });
    }
}

impl Process {
    /// An endpoint was closed. The process leaves the network with its last one.
    pub fn close(&mut self, number: usize) {
        if let Some(endpoint) = self.endpoints.get_mut(number) {
            *endpoint = None;
        }
        if self.endpoints.iter().all(Option::is_none) && is_connected() {
            self.request(&Request::Bye);
        }
    }
}
