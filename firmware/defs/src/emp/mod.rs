//! EMP's layouts: what host library and firmware write for each other in NIC memory
//! ([`control`], [`descriptor`]) and what firmware writes for firmware on the wire ([`frame`], and as a table [`fields`]).
//!
//! Only aligned `u32` and `u16` stand in NIC-side layouts, because the chip has no unaligned access.

pub mod control;
pub mod descriptor;
pub mod fields;
pub mod frame;
