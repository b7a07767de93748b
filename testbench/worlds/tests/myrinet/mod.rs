//! Control programs of the tests with the hosts that they expect.

mod assembly;
pub mod mailbox;
pub mod mcpshmem;
mod sessions;
