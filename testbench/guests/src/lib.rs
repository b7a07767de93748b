//! Linux as the host of a node: a kernel with its own driver, in simulated time.
//!
//! A guest is a process of User-Mode Linux ([`process`]), built by `make linux`. It talks to the emulator over two sockets. On one it asks for
//! its time ([`calendar`]): with `time-travel=ext` its clock moves only when the emulator says so, and its code takes no simulated time. On the
//! other it finds the board: a PCI device over virtio, whose back end is here, by the protocol vhost-user ([`vhost`]). Each access of the driver
//! is a request in a queue ([`ring`]) in the guest's memory, which is mapped here ([`memory`]) and which the board's DMA uses too;
//! configuration space is answered here ([`pci`]), the window by the board. Notifications are messages on the socket that each side waits for
//! (in-band notifications): an access is over when it returns, and nothing happens in the guest that the emulator has not asked for. So a run repeats
//! bit by bit.
//!
//! [`Guest`] joins these, as the [`Outside`](emulator::host::outside::Outside) host that a node can have. Its files ([`initramfs`]) are busybox, the
//! board's firmware and what the scenario puts in; its [`console`] is a file in memory.
//!
//! A guest is a process with the user's rights: what is checked here is what it says, so that a kernel with a defect gets an error that says
//! what was wrong, and its run ends.

#![deny(missing_docs)]

pub mod calendar;
pub mod console;
mod error;
pub mod guest;
pub mod initramfs;
pub mod memory;
pub mod pci;
pub mod process;
pub mod ring;
pub mod vhost;

pub use error::{GuestError, Violation};
pub use guest::{Guest, Settings, Statistics};
