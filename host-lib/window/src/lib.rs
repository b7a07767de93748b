//! The interface of a driver to the machine that it runs on. Drivers use the traits [`Window`](window::Window), a board's PCI window, and
//! [`System`](window::System), the host; an emulator or a real host implements [`MachinePort`](window::MachinePort) and
//! [`SystemPort`](window::SystemPort) below them.

pub mod address;
pub mod window;
