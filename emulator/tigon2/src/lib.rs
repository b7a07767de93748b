//! The Alteon Tigon2 board (docs/tigon2.md): one file for each hardware block.
//!
//! `run` is the machinery that runs the cores; `inspect` serves debuggers and traces.
#![deny(missing_docs)]

mod access;
pub mod assist;
pub mod board;
pub mod cores;
pub mod cpus;
pub mod dma;
pub mod eeprom;
pub mod event;
pub mod fabric;
mod icache;
pub mod inspect;
mod local_control;
pub mod mac;
pub mod mailbox;
pub mod map;
pub mod races;
mod registers;
pub mod ring;
mod run;
pub mod scratchpad;
pub mod semaphore;
pub mod serdes;
pub mod sram;
pub mod sram_banks;
mod sram_bus;
pub mod timer;
pub mod timing;
pub mod window;
