//! The host's window on the board (docs/lanai.md, section 3.11), and the record in the EEPROM (section 3.13).

/// Offsets and bits of the window of boards with a LANai 4.
pub mod four {
    /// Local memory.
    pub const SRAM: u32 = 0;
    /// Bytes of local memory that are seen at [`SRAM`].
    pub const SRAM_BYTES: u32 = 0x8_0000;
    /// Local memory of boards with 1 MB.
    pub const LARGE_SRAM: u32 = 0x10_0000;
    /// Bytes that are seen at [`LARGE_SRAM`].
    pub const LARGE_SRAM_BYTES: u32 = 0x10_0000;
    /// The EEPROM.
    pub const EEPROM: u32 = 0x8_0000;
    /// The special registers.
    pub const REGISTERS: u32 = 0xC_0000;
    /// The control register.
    pub const CONTROL: u32 = 0xE_0000;
    /// Offset of the register `clock` among the special registers.
    pub const CLOCK: u32 = 0xFC;
    /// Control: the board interrupts the host.
    pub const INTERRUPTS_ON: u32 = 1 << 29;
    /// Control: the board does not interrupt the host.
    pub const INTERRUPTS_OFF: u32 = 1 << 28;
    /// Control: raises `wake` in the interrupt status.
    pub const WAKE: u32 = 1 << 27;
}

/// Offsets and bits of the window of boards with a LANai 7 or 9.
pub mod later {
    /// Local memory.
    pub const SRAM: u32 = 0;
    /// Bytes of local memory that are seen.
    pub const SRAM_BYTES: u32 = 0x80_0000;
    /// The control register.
    pub const CONTROL: u32 = 0x80_0040;
    /// The address of the next block of each channel of DMA, a word each.
    pub const CHAINS: u32 = 0x80_0100;
    /// The base of the queue of doorbells, a word for each size.
    pub const DOORBELL_BASES: u32 = 0x80_0110;
    /// The special registers.
    pub const REGISTERS: u32 = 0x80_4000;
    /// The doorbells.
    pub const DOORBELLS: u32 = 0x80_8000;
    /// The EEPROM.
    pub const EEPROM: u32 = 0xA0_0000;
    /// Offset of the register `clock` among the special registers.
    pub const CLOCK: u32 = 0x1F8;
    /// Control: ends the reset of the board.
    pub const BOARD_RESET_OFF: u32 = 1 << 27;
    /// Control: begins the reset of the board.
    pub const BOARD_RESET_ON: u32 = 1 << 26;
    /// Control: the board interrupts the host.
    pub const INTERRUPTS_ON: u32 = 1 << 25;
    /// Control: the board does not interrupt the host.
    pub const INTERRUPTS_OFF: u32 = 1 << 24;
}

/// Control, all boards: ends the reset of the chip.
pub const RESET_OFF: u32 = 1 << 31;
/// Control, all boards: begins the reset of the chip.
pub const RESET_ON: u32 = 1 << 30;

/// Offsets in the EEPROM's record.
pub mod record {
    /// Value for the register `clock`, a word.
    pub const CLOCK: u32 = 0;
    /// Version of the chip, 16 bits: 0x0403 for a LANai 4.3.
    pub const VERSION: u32 = 4;
    /// The board's address, 6 bytes.
    pub const ADDRESS: u32 = 6;
    /// Bytes of local memory, a word.
    pub const SRAM_BYTES: u32 = 12;
    /// Serial number, a word.
    pub const SERIAL: u32 = 72;
    /// Label, text.
    pub const LABEL: u32 = 76;
    /// Bytes of the record.
    pub const BYTES: u32 = 108;
}
