//! Host library: drives a board through its memory-mapped PCI window.
//!
//! It knows [`window::Window`] and [`window::System`], not the emulator.
#![deny(missing_docs)]

pub mod window;
