//! Every layout that two sides share, defined once (ARCHITECTURE.md, "One truth per layout").
//!
//! The firmware, the device model and the host library read their offsets, masks and fields from here.
//! Nothing in this crate allocates or depends on a host or a NIC.
//!
//! * [`tigon2`]: the chip: address map, registers, event bits, rings, mailboxes.
//! * [`lanai`]: boards with Myricom's LANai: special registers, status bits, DMA blocks, the host's window, the EEPROM.
//! * [`acenic`]: the Ethernet driver protocol of the AceNIC.
//! * [`emp`]: the EMP protocol: descriptors, control block, frame headers.
//! * [`ethernet`]: the host protocol of the Ethernet firmware for any number of CPUs.
//! * [`gm`]: the GM protocol: map of SRAM, send slots, receive tokens, events, packets.
//! * [`fm`]: FM with multi-send: map of SRAM, packets, the ring in host memory.
//! * [`software`]: multiplication, division and unaligned accesses that the Tigon2 does in software.
//! * [`mod@line`]: a text that firmware formats.
//! * [`mod@record`]: records of words in a board's memory, with names and types.
//! * [`probe`]: the unloaded ELF section that marks protocol stages and log lines.
#![no_std]

pub mod acenic;
pub mod emp;
pub mod ethernet;
pub mod fm;
pub mod gm;
pub mod lanai;
pub mod line;
pub mod probe;
pub mod record;
pub mod software;
pub mod tigon2;
