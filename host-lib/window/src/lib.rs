//! The interface of a driver to the machine that it runs on: the traits [`Window`](window::Window), a board's PCI window, and
//! [`System`](window::System), the host. Drivers use them; an emulator or a real host implements them.

pub mod address;
pub mod window;
