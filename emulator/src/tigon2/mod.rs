//! The Alteon Tigon2 board (docs/tigon2.md): one file for each hardware block.

mod ahead;
pub mod assist;
pub mod board;
mod bus;
pub mod cores;
pub mod dma;
pub mod eeprom;
pub mod event;
pub mod fabric;
mod icache;
mod idle;
mod lines;
pub mod mac;
pub mod mailbox;
pub mod map;
pub mod probes;
mod registers;
pub mod ring;
pub mod scratchpad;
pub mod semaphore;
pub mod serdes;
pub mod sram;
pub mod timer;
pub mod timing;
mod traffic;
mod transfer;
pub mod window;
