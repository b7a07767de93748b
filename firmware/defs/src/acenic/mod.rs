//! The AceNIC host protocol: layouts shared by a driver and the firmware of a Tigon2 Ethernet adapter
//! (docs/tigon2-driver.md, sections 7 and 8).
//!
//! * this file: the general communication words, mailboxes, link words;
//! * [`info`]: the general information block and its ring control blocks, in host memory;
//! * [`descriptor`]: send and receive descriptors;
//! * [`message`]: commands to the firmware and events from it;
//! * [`stats`]: the statistics block;
//! * [`trace`]: the firmware's trace buffer.
//!
//! Host and NIC see equal 32-bit values: the window and control transfers do not swap bytes.

pub mod descriptor;
pub mod info;
pub mod message;
pub mod stats;
pub mod trace;

use bitflags::bitflags;

use crate::tigon2::map::GENERAL_BASE;

/// Own MAC address, high 16 bits.
pub const MAC_HIGH: u32 = GENERAL_BASE;
/// Own MAC address, low 32 bits.
pub const MAC_LOW: u32 = GENERAL_BASE + 0x04;
/// Host address of the general information block, high word.
pub const INFO_HIGH: u32 = GENERAL_BASE + 0x08;
/// Host address of the general information block, low word.
pub const INFO_LOW: u32 = GENERAL_BASE + 0x0C;
/// Argument of a multicast command: address, high 16 bits.
pub const MULTICAST_HIGH: u32 = GENERAL_BASE + 0x10;
/// Argument of a multicast command: address, low 32 bits.
pub const MULTICAST_LOW: u32 = GENERAL_BASE + 0x14;
/// Modes: [`Mode`].
pub const MODE: u32 = GENERAL_BASE + 0x18;
/// State bits that firmware adds to every DMA read (thresholds).
pub const READ_CONFIG: u32 = GENERAL_BASE + 0x1C;
/// State bits that firmware adds to every DMA write.
pub const WRITE_CONFIG: u32 = GENERAL_BASE + 0x20;
/// Share of the transmit buffer in the frame buffers, in 1/64.
pub const TX_BUFFER_RATIO: u32 = GENERAL_BASE + 0x24;
/// Host: consumer index of the event ring.
pub const EVENT_CONSUMER: u32 = GENERAL_BASE + 0x28;
/// Firmware: consumer index of the command ring.
pub const COMMAND_CONSUMER: u32 = GENERAL_BASE + 0x2C;
/// Longest delay in us before the index of a received frame is reported.
pub const RX_TICKS: u32 = GENERAL_BASE + 0x30;
/// Longest delay in us before the index of a sent frame is reported.
pub const TX_TICKS: u32 = GENERAL_BASE + 0x34;
/// Time in us between two statistics reports; 0 for none.
pub const STATISTICS_TICKS: u32 = GENERAL_BASE + 0x38;
/// Number of send descriptors after which their index is reported at once.
pub const TX_MAX_DESCRIPTORS: u32 = GENERAL_BASE + 0x3C;
/// Number of receive descriptors after which their index is reported at once.
pub const RX_MAX_DESCRIPTORS: u32 = GENERAL_BASE + 0x40;
/// Mask of the events that the firmware traces.
pub const TRACE_MASK: u32 = GENERAL_BASE + 0x44;
/// Gigabit link settings that the host requests: [`Link`].
pub const GIGABIT_LINK: u32 = GENERAL_BASE + 0x48;
/// 10/100 link settings that the host requests: [`Link`].
pub const FAST_LINK: u32 = GENERAL_BASE + 0x4C;
/// Firmware: address of the next slot of the trace buffer ([`trace`]).
pub const TRACE_NEXT: u32 = GENERAL_BASE + 0x50;
/// Firmware: start of the trace buffer.
pub const TRACE_START: u32 = GENERAL_BASE + 0x54;
/// Firmware: bytes of the trace buffer.
pub const TRACE_LENGTH: u32 = GENERAL_BASE + 0x58;
/// Interface number, for statistics.
pub const INTERFACE_INDEX: u32 = GENERAL_BASE + 0x5C;
/// Longest frame without FCS.
pub const INTERFACE_MTU: u32 = GENERAL_BASE + 0x60;
/// Not 0: the firmware raises no interrupt.
pub const MASK_INTERRUPTS: u32 = GENERAL_BASE + 0x64;
/// Firmware: state of the gigabit link ([`Link`]); 0 while it is down.
pub const GIGABIT_STATE: u32 = GENERAL_BASE + 0x68;
/// Firmware: state of the 10/100 link.
pub const FAST_STATE: u32 = GENERAL_BASE + 0x6C;
/// Host: consumer index of the return ring.
pub const RETURN_CONSUMER: u32 = GENERAL_BASE + 0x80;

/// Mailbox 0: interrupt control. The host writes 1 while its handler runs: no interrupt is raised. Any
/// write clears the interrupt.
pub const MAILBOX_INTERRUPT: u32 = 0;
/// Mailbox 1: command ring producer.
pub const MAILBOX_COMMAND: u32 = 1;
/// Mailbox 2: send ring producer.
pub const MAILBOX_SEND: u32 = 2;
/// Mailbox 3: standard receive ring producer.
pub const MAILBOX_STANDARD: u32 = 3;
/// Mailbox 4: jumbo receive ring producer.
pub const MAILBOX_JUMBO: u32 = 4;
/// Mailbox 5: mini receive ring producer.
pub const MAILBOX_MINI: u32 = 5;

/// Entries of the command ring in SRAM.
pub const COMMAND_ENTRIES: u32 = 64;
/// Entries of the event ring in host memory.
pub const EVENT_ENTRIES: u32 = 256;
/// Entries of the standard receive ring.
pub const STANDARD_ENTRIES: u32 = 512;
/// Entries of the jumbo receive ring.
pub const JUMBO_ENTRIES: u32 = 256;
/// Entries of the mini receive ring.
pub const MINI_ENTRIES: u32 = 1024;
/// Entries of the return ring.
pub const RETURN_ENTRIES: u32 = 2048;
/// Entries of a send ring in host memory; drivers choose this size.
pub const SEND_ENTRIES: u32 = 256;
/// Largest number of descriptors of a send ring in SRAM.
pub const SEND_NIC_ENTRIES: u32 = 128;
/// Send ring in SRAM as firmware 12.4.11 expects it (in `0x2000..0x4000`).
pub const SEND_NIC_BASE: u32 = 0x3000;

bitflags! {
    /// Bits of [`MODE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Mode: u32 {
        /// Swap the bytes of descriptors.
        const SWAP_DESCRIPTORS = 1 << 1;
        /// Set by drivers; has no effect.
        const SWAP_WORDS = 1 << 2;
        /// Report warnings.
        const WARN = 1 << 3;
        /// Swap the bytes of frames: a little-endian host sees them in wire order.
        const SWAP_DATA = 1 << 4;
        /// One DMA at a time: the hardware assist runs the rings.
        const ONE_DMA = 1 << 6;
        /// A jumbo frame takes one descriptor.
        const NO_JUMBO_FRAGMENTS = 1 << 9;
        /// No interrupt for events.
        const NO_EVENT_INTERRUPT = 1 << 12;
        /// No interrupt for sent frames.
        const NO_SEND_INTERRUPT = 1 << 13;
        /// No interrupt for received frames.
        const NO_RECEIVE_INTERRUPT = 1 << 14;
        /// Stop at a fatal error.
        const FATAL = 1 << 30;
    }

    /// Bits of a link word: requested settings in [`GIGABIT_LINK`], negotiated settings in
    /// [`GIGABIT_STATE`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Link: u32 {
        /// 10 Mb/s.
        const SPEED_10 = 1 << 16;
        /// 100 Mb/s.
        const SPEED_100 = 1 << 17;
        /// 1000 Mb/s.
        const SPEED_1000 = 1 << 18;
        /// Full duplex.
        const FULL_DUPLEX = 1 << 19;
        /// Half duplex.
        const HALF_DUPLEX = 1 << 20;
        /// This side sends pause frames.
        const TX_FLOW_CONTROL = 1 << 21;
        /// This side obeys pause frames.
        const RX_FLOW_CONTROL = 1 << 23;
        /// Negotiate flow control.
        const NEGOTIATE_FLOW_CONTROL = 1 << 28;
        /// Negotiate.
        const NEGOTIATE = 1 << 29;
        /// The link is enabled.
        const ENABLE = 1 << 30;
        /// The link is up.
        const UP = 1 << 31;
    }
}
