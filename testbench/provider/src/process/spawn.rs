//! Processes that this one starts.

use lanigon_requests::Request;

use super::{ask, is_connected, lock};

/// Asks the world to let the process start `count` others, and waits until it may.
pub fn begin_spawn(count: u32) {
    let request = |process: &mut super::Process| Request::Spawn {
        spent_ns: process.take_spent(),
        count,
    };
    // Another thread may wait for an answer of the world.
    while is_connected() && !ask(request) {}
}

/// Tells the world that the processes were started, or could not be.
pub fn end_spawn() {
    let process = &mut *lock();
    if is_connected() {
        let spent_ns = process.take_spent();
        process.request(&Request::Spawned { spent_ns });
    }
}
