//! Boards with Myricom's LANai: LANai 4, 7 and 9 (docs/lanai.md, section 3).
//!
//! One file for each hardware block; [`fabric`](mod@fabric) carries out what the blocks decide, `run` executes the CPU.
#![deny(missing_docs)]

pub mod arbitration;
pub mod board;
pub mod chip;
pub mod crc;
mod dma;
pub mod dma_blocks;
pub mod doorbell;
pub mod eeprom;
pub mod fabric;
pub mod host_dma;
mod idle;
pub mod inspect;
pub mod isr;
mod packets;
pub mod port;
mod probes;
pub mod receiver;
pub mod recent;
mod run;
pub mod special;
pub mod sram;
pub mod timers;
pub mod timing;
pub mod transmitter;
pub mod watchdog;
mod wild;
pub mod window;
