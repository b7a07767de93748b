//! EMP's layouts: NIC memory shared by host library and firmware ([`control`], [`descriptor`]) and frames
//! between firmware ([`frame`]; as a table: [`fields`]).
//!
//! NIC-side layouts contain aligned `u32` and `u16` only: the chip has no unaligned access.

pub mod control;
pub mod descriptor;
pub mod fields;
pub mod frame;
pub mod probe;
