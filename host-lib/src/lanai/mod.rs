//! A driver's view of a board with a LANai: local memory, special registers, EEPROM, and bring-up of the chip (docs/lanai.md,
//! sections 3.11 and 3.13).
//!
//! There are two families of boards, which a host tells apart by their PCI revision. Local memory is seen as a whole, so
//! the window has no view that moves.

#[cfg(test)]
mod tests;

use defs::lanai::window::{RESET_OFF, RESET_ON, four, later, record};
use thiserror::Error;

use crate::firmware::{Firmware, words};
use crate::window::{AnyWindow, Window};

/// Bytes of a word.
const WORD_BYTES: u32 = 4;

/// A family of boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// LANai 4: PCI revision 1.
    Four,
    /// LANai 7 and 9: PCI revisions 2 and 3.
    Later,
}

impl Family {
    const fn control(self) -> u32 {
        match self {
            Self::Four => four::CONTROL,
            Self::Later => later::CONTROL,
        }
    }

    const fn registers(self) -> u32 {
        match self {
            Self::Four => four::REGISTERS,
            Self::Later => later::REGISTERS,
        }
    }

    const fn eeprom(self) -> u32 {
        match self {
            Self::Four => four::EEPROM,
            Self::Later => later::EEPROM,
        }
    }

    const fn clock(self) -> u32 {
        match self {
            Self::Four => four::CLOCK,
            Self::Later => later::CLOCK,
        }
    }

    const fn interrupts(self, on: bool) -> u32 {
        match (self, on) {
            (Self::Four, true) => four::INTERRUPTS_ON,
            (Self::Four, false) => four::INTERRUPTS_OFF,
            (Self::Later, true) => later::INTERRUPTS_ON,
            (Self::Later, false) => later::INTERRUPTS_OFF,
        }
    }

    /// Whether a chip of this version (its upper byte is the generation) is on boards of this family.
    const fn has(self, version: u16) -> bool {
        match self {
            Self::Four => version >> 8 == 4,
            Self::Later => matches!(version >> 8, 7 | 9),
        }
    }
}

/// The board's record in its EEPROM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoardRecord {
    /// Value for the register `clock`.
    pub clock: u32,
    /// Version of the chip: 0x0403 for a LANai 4.3.
    pub version: u16,
    /// The board's address.
    pub address: [u8; 6],
    /// Bytes of local memory.
    pub sram_bytes: u32,
    /// Serial number.
    pub serial: u32,
}

/// A board cannot be brought up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LanaiError {
    /// The EEPROM states a chip that boards of the family do not have.
    #[error(
        "the EEPROM states chip version {version:#06x}, which boards of the family {family:?} do not have"
    )]
    Version {
        /// The version; all ones if nothing answers.
        version: u16,
        /// Family of the board, according to PCI.
        family: Family,
    },
    /// The EEPROM states an impossible size of memory.
    #[error("the EEPROM states {0:#x} bytes of local memory")]
    Sram(u32),
    /// The window has 32-bit accesses only.
    #[error("the segment at {address:#x} does not start at a multiple of 4")]
    Unaligned {
        /// Start of the segment.
        address: u32,
    },
    /// A segment outside of local memory.
    #[error(
        "the segment at {address:#x} ({length_bytes} bytes) does not lie in local memory ({sram_bytes} bytes)"
    )]
    OutsideSram {
        /// Start of the segment.
        address: u32,
        /// Length of the segment in bytes.
        length_bytes: usize,
        /// Bytes of local memory.
        sram_bytes: u32,
    },
    /// The chip begins at address 0, the image elsewhere.
    #[error("the image begins at {0:#x}, the chip at address 0")]
    Entry(u32),
}

/// A board accessed through its window.
#[derive(Debug)]
pub struct LanaiBoard {
    window: AnyWindow,
    family: Family,
    record: Option<BoardRecord>,
}

impl LanaiBoard {
    /// A board of this family.
    pub const fn new(window: AnyWindow, family: Family) -> Self {
        Self {
            window,
            family,
            record: None,
        }
    }

    /// The board's family.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// The board's record in its EEPROM, once the board was reset.
    pub const fn record(&self) -> Option<BoardRecord> {
        self.record
    }

    /// Returns the window.
    pub fn into_inner(self) -> AnyWindow {
        self.window
    }

    /// Holds the chip in reset, masks the board's interrupts, reads the EEPROM and sets the clock that it states.
    ///
    /// # Errors
    /// [`LanaiError`], if the EEPROM's record is not that of such a board.
    pub async fn reset(&mut self) -> Result<BoardRecord, LanaiError> {
        if self.family == Family::Later {
            // The bus interface of the board may be in reset, too.
            self.control(later::BOARD_RESET_OFF | RESET_ON).await;
        }
        self.control(RESET_ON | self.family.interrupts(false)).await;
        let found = self.read_record().await?;
        self.write_register(self.family.clock(), found.clock).await;
        self.record = Some(found);
        Ok(found)
    }

    /// Reads the EEPROM's record.
    async fn read_record(&mut self) -> Result<BoardRecord, LanaiError> {
        let family = self.family;
        let clock = self.read_eeprom(record::CLOCK).await;
        let first = self.read_eeprom(record::VERSION).await;
        let second = self.read_eeprom(record::ADDRESS + 2).await;
        let (version, high) = ((first >> 16) as u16, first as u16);
        if !family.has(version) {
            return Err(LanaiError::Version { version, family });
        }
        let mut address = [0; 6];
        address[..2].copy_from_slice(&high.to_be_bytes());
        address[2..].copy_from_slice(&second.to_be_bytes());
        let sram_bytes = self.read_eeprom(record::SRAM_BYTES).await;
        let most = match family {
            Family::Four => four::LARGE_SRAM_BYTES,
            Family::Later => later::SRAM_BYTES,
        };
        if sram_bytes == 0 || sram_bytes > most {
            return Err(LanaiError::Sram(sram_bytes));
        }
        Ok(BoardRecord {
            clock,
            version,
            address,
            sram_bytes,
            serial: self.read_eeprom(record::SERIAL).await,
        })
    }

    async fn read_eeprom(&mut self, offset: u32) -> u32 {
        self.window.read(self.family.eeprom() + offset).await
    }

    /// Writes the control register. Its bits set and clear one thing each, so a write changes nothing else.
    pub async fn control(&mut self, bits: u32) {
        self.window.write(self.family.control(), bits).await;
    }

    /// Lets the board interrupt the host, or not.
    pub async fn interrupts(&mut self, on: bool) {
        self.control(self.family.interrupts(on)).await;
    }

    /// Reads the special register at `offset`.
    pub async fn read_register(&mut self, offset: u32) -> u32 {
        self.window.read(self.family.registers() + offset).await
    }

    /// Writes the special register at `offset`.
    pub async fn write_register(&mut self, offset: u32, value: u32) {
        self.window
            .write(self.family.registers() + offset, value)
            .await;
    }

    /// The window's offset of the word of local memory at `address`.
    #[must_use]
    pub const fn sram_offset(&self, address: u32) -> u32 {
        match self.family {
            Family::Four if address >= four::SRAM_BYTES => four::LARGE_SRAM + address,
            Family::Four => four::SRAM + address,
            Family::Later => later::SRAM + address,
        }
    }

    /// Reads the word of local memory at `address`.
    pub async fn read_sram(&mut self, address: u32) -> u32 {
        self.window.read(self.sram_offset(address)).await
    }

    /// Writes the word of local memory at `address`.
    pub async fn write_sram(&mut self, address: u32, value: u32) {
        self.window.write(self.sram_offset(address), value).await;
    }

    /// Writes words of local memory from `address` on.
    pub async fn write_sram_burst(&mut self, address: u32, values: &[u32]) {
        let low = four::SRAM_BYTES.saturating_sub(address) / WORD_BYTES;
        let low = match self.family {
            Family::Four => values.len().min(low as usize),
            Family::Later => values.len(),
        };
        for (address, part) in [
            (address, &values[..low]),
            (
                address.saturating_add(low as u32 * WORD_BYTES),
                &values[low..],
            ),
        ] {
            if !part.is_empty() {
                let offset = self.sram_offset(address);
                self.window.write_burst(offset, part).await;
            }
        }
    }

    /// Loads firmware into a board in [`reset`](Self::reset). A segment's last word is padded with zero bytes.
    ///
    /// # Errors
    /// If the firmware does not fit; then nothing has been written.
    pub async fn load(&mut self, firmware: &Firmware) -> Result<(), LanaiError> {
        let sram_bytes = self.record.map_or(0, |record| record.sram_bytes);
        if firmware.entry != 0 {
            return Err(LanaiError::Entry(firmware.entry));
        }
        for (address, bytes) in &firmware.segments {
            let (address, length_bytes) = (*address, bytes.len());
            if !address.is_multiple_of(WORD_BYTES) {
                return Err(LanaiError::Unaligned { address });
            }
            let end = u64::from(address).saturating_add(length_bytes as u64);
            if end > u64::from(sram_bytes) {
                return Err(LanaiError::OutsideSram {
                    address,
                    length_bytes,
                    sram_bytes,
                });
            }
        }
        for (address, bytes) in &firmware.segments {
            self.write_sram_burst(*address, &words(bytes)).await;
        }
        Ok(())
    }

    /// Sets the address of the next block of a channel of DMA. Boards with a LANai 4 have none.
    pub async fn set_chain(&mut self, channel: u32, address: u32) {
        if self.family == Family::Later {
            let offset = later::CHAINS + WORD_BYTES * channel;
            self.window.write(offset, address).await;
        }
    }

    /// Lets the chip go: it begins at address 0.
    pub async fn release(&mut self) {
        self.control(RESET_OFF).await;
    }
}
