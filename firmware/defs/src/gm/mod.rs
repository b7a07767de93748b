//! GM's layouts: SRAM shared by host library and firmware ([`map`], [`port`]), events in host memory ([`event`]),
//! packets between firmware ([`packet`]), their fields as a table for tools ([`fields`]), what is different
//! over Ethernet ([`mac`]), or for large clusters ([`layout`]), packets that map the network ([`mapping`]), collective operations ([`collective`], [`combine`], [`gossip`], [`vector`]) and
//! atomic ones ([`atomic`]).
//!
//! All words are big-endian, in SRAM, in host memory and on the wire. `docs/gm.md` describes their use.

pub mod atomic;
pub mod collective;
pub mod combine;
pub mod event;
pub mod fields;
pub mod gossip;
pub mod layout;
pub mod mac;
pub mod map;
pub mod mapping;
pub mod packet;
pub mod port;
pub mod probe;
pub mod vector;
