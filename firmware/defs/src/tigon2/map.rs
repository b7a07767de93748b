//! Address maps: the CPU's view and the host's 16 KB PCI window (docs/tigon2.md, section 1; docs/tigon2-registers.md, section 2).

/// SRAM occupies `0..SRAM_LIMIT` of the CPU's space and repeats modulo its installed size.
pub const SRAM_LIMIT: u32 = 0x0080_0000;
/// The stack-overflow map: `STACK_MAP_BASE..STACK_MAP_LIMIT` redirects into SRAM.
pub const STACK_MAP_BASE: u32 = 0x0080_0000;
/// End of the stack-overflow map and start of the scratchpad.
pub const STACK_MAP_LIMIT: u32 = 0x00C0_0000;
/// Mask of a stack-map address after the subtraction of the stack base.
pub const STACK_MAP_MASK: u32 = 0x001F_FFFF;
/// Start of each CPU's private scratchpad.
pub const SCRATCHPAD_BASE: u32 = 0x00C0_0000;
/// Scratchpad bytes of CPU A.
pub const SCRATCHPAD_A_BYTES: u32 = 16 * 1024;
/// Scratchpad bytes of CPU B.
pub const SCRATCHPAD_B_BYTES: u32 = 8 * 1024;
/// Start of the register file in the CPU's address space.
pub const REGISTER_BASE: u32 = 0xC000_0000;
/// Bytes of the register file.
pub const REGISTER_BYTES: u32 = 0x400;
/// End of the receive buffer (SRAM address), whatever memory is installed.
pub const RX_BUFFER_LIMIT: u32 = 0x0020_0000;
/// Load address of firmware text.
pub const FIRMWARE_BASE: u32 = 0x4000;

/// Bytes of the host's memory-mapped PCI window.
pub const WINDOW_BYTES: u32 = 16 * 1024;
/// Window offset of the registers.
pub const WINDOW_REGISTERS: u32 = 0x000;
/// Window offset of SRAM `0..0x400`: mailboxes and general communication words.
pub const WINDOW_LOW_SRAM: u32 = 0x400;
/// Window offset of the movable 2 KB view of SRAM.
pub const WINDOW_VIEW: u32 = 0x800;
/// Bytes of the movable view.
pub const WINDOW_VIEW_BYTES: u32 = 0x800;
/// End of the part of the window that responds.
pub const WINDOW_USED_BYTES: u32 = 0x1000;

/// SRAM address of the MAC's statistics counters.
pub const STATISTICS_BASE: u32 = 0x080;
/// SRAM address of the general communication words.
pub const GENERAL_BASE: u32 = 0x200;
/// SRAM address of the command ring.
pub const COMMAND_RING_BASE: u32 = 0x300;

/// SRAM address of mailbox 0's high word.
pub const MAILBOX_BASE: u32 = 0x100;
/// Number of mailboxes.
pub const MAILBOX_COUNT: u32 = 32;

/// SRAM address of a mailbox's low word. A host write to it raises the event.
#[must_use]
pub const fn mailbox_low(index: u32) -> u32 {
    MAILBOX_BASE + index * 8 + 4
}

/// Window offset of a mailbox's low word.
#[must_use]
pub const fn window_mailbox(index: u32) -> u32 {
    WINDOW_LOW_SRAM + mailbox_low(index)
}
