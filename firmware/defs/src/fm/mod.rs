//! FM's layouts: SRAM shared by host library and firmware ([`map`]), host memory that the firmware fills ([`ring`]), packets
//! between nodes ([`packet`]), fields of packets for tools ([`fields`]), probes
//! ([`probe`]).
//!
//! All words are big-endian, in SRAM, in host memory and on the wire. `docs/fm.md` describes their use.

pub mod fields;
pub mod map;
pub mod packet;
pub mod probe;
pub mod ring;
