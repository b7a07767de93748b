//! What an AceNIC firmware decides, apart from the hardware on which it acts (docs/acenic.md).
//!
//! * [`config`]: the host's information block, and whether it makes sense;
//! * [`memory`]: how SRAM is shared out between the two frame buffers;
//! * [`ring`]: a ring in host memory whose descriptors are fetched into a cache;
//! * [`coalesce`]: when an index is reported to the host;
//! * [`alarm`]: several alarms on one timer;
//! * [`checksum`]: where a frame's checksums are, and what they come to;
//! * [`multicast`]: the list behind the hash filter;
//! * [`link`]: when the link is up, with negotiation and without.
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
