//! Host library: drives a board through its memory-mapped PCI window: a Tigon2 with EMP or the AceNIC host
//! protocol, a LANai with GM.
//!
//! The library makes its requests at a [`MachinePort`](window::MachinePort), by the traits [`Window`](window::Window) and [`System`](window::System), and does
//! not depend on the emulator, which is one of the machines that answer them.
//! The layers, from the bottom:
//!
//! * [`window`]: the interface to the host system;
//! * [`board`]: registers, SRAM through the movable view, chip bring-up;
//! * [`firmware`]: loading an image;
//! * [`lanai`]: the same two layers for boards with a LANai;
//! * [`emp`]: EMP's posts and completions;
//! * [`acenic`]: a driver for the firmware of an Ethernet adapter;
//! * [`ethernet`]: a driver for Ethernet firmware on any number of CPUs;
//! * [`gm`]: GM on boards with a LANai: start-up, ports, messages;
//! * [`fm`]: FM with multi-send on boards with a LANai 4;
//! * [`mpi`]: message passing in the terms of the MPI standard, over GM or EMP;
//! * [`sockets`]: stream sockets over GM or EMP;
//! * [`dsm`]: memory that the nodes of a GM network share;
//! * [`myrinet`]: hosts of control programs of Myrinet adapters, which have a window of their own.
//!
//! A node that sends a received message back:
//!
//! ```
//! use host_lib::emp::{Buffer, Config, Emp, MacAddress, Source, Tag};
//! use host_lib::firmware::Firmware;
//! use host_lib::window::{AnySystem, AnyWindow, VirtualAddress};
//!
//! async fn pong(
//!     window: AnyWindow,
//!     system: AnySystem,
//!     firmware: &Firmware,
//!     memory: VirtualAddress,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let routes = vec![
//!         MacAddress([2, 0, 0, 0, 0, 1]),
//!         MacAddress([2, 0, 0, 0, 0, 2]),
//!     ];
//!     let mut emp = Emp::start(window, system, Some(firmware), Config::new(1, routes)).await?;
//!
//!     let buffer = Buffer { address: memory, length: 1500 };
//!     let receive = emp.post_receive(Source::Any, Tag::Value(7), buffer).await?;
//!     let message = emp.wait(receive).await?;
//!
//!     let reply = Buffer { length: message.length, ..buffer };
//!     let transmit = emp.post_transmit(message.node, message.tag, reply).await?;
//!     emp.wait(transmit).await?;
//!     Ok(())
//! }
//! ```
#![deny(missing_docs)]

pub mod acenic;
pub mod board;
pub mod dsm;
pub mod emp;
pub mod ethernet;
pub mod firmware;
pub mod fm;
pub mod gm;
pub mod lanai;
pub mod mpi;
pub mod myrinet;
pub mod sockets;

pub use lanigon_window::{address, window};

#[cfg(test)]
mod at_once;
#[cfg(test)]
mod fake;
