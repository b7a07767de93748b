//! The host of a node: memory, PCI bus, and programs that run in simulated time.

pub mod costs;
pub mod log;
pub mod machine;
pub mod memory;
pub mod pci;
pub mod poller;
pub mod program;
mod read;
pub mod request;
pub mod restore;
mod rotation;
