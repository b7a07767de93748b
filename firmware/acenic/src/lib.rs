//! Hardware-independent part of an AceNIC firmware (docs/acenic.md).
//!
//! * [`config`]: the host's information block and its validation;
//! * [`memory`]: division of SRAM between the two frame buffers;
//! * [`ring`]: a ring in host memory whose descriptors are fetched into a cache;
//! * [`coalesce`]: interrupt and index coalescing;
//! * [`alarm`]: several alarms on one timer;
//! * [`checksum`]: position and value of a frame's checksums;
//! * [`multicast`]: the list for the hash filter;
//! * [`link`]: link state, with and without negotiation.
//!
//! Times are microseconds of a counter that wraps. No multiplication or division: the chip has none.
#![no_std]

pub mod alarm;
pub mod checksum;
pub mod coalesce;
pub mod config;
pub mod link;
pub mod memory;
pub mod multicast;
pub mod ring;
