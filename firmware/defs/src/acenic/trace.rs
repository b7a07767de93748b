//! The firmware's trace buffer in SRAM (docs/tigon2-driver.md, section 7): records that grow downwards.
//! [`TRACE_NEXT`](super::TRACE_NEXT) is the address of the slot to be written next.

/// Bytes of a record.
pub const RECORD_BYTES: u32 = 32;
/// Record: name, eight characters.
pub const NAME: u32 = 0x00;
/// Bytes of the name.
pub const NAME_BYTES: u32 = 8;
/// Record: code.
pub const CODE: u32 = 0x08;
/// Record: timer value at the write, in us.
pub const TIME: u32 = 0x0C;
/// Record: four arguments.
pub const ARGUMENTS: u32 = 0x10;
/// Number of arguments.
pub const ARGUMENT_COUNT: u32 = 4;

/// First address of the trace buffer of firmware 12.4.11.
pub const VENDOR_START: u32 = 0x17050;
/// End of the trace buffer of firmware 12.4.11.
pub const VENDOR_END: u32 = 0x19050;
