//! The serial EEPROM, accessed bit by bit through `LOCAL_CONTROL` (docs/tigon2-registers.md, section 2): a memory of
//! the 24C family with two wires, clock and data.

use defs::tigon2::regs::{LOCAL_CONTROL, LocalControl};

use super::error::EepromError;
use crate::address::MacAddress;
use crate::board::BoardWindow;
use crate::window::{AnySystem, System};

/// Position of the own address: eight bytes, of which the first two are 0.
const MAC_ADDRESS: u16 = 0x8C;
/// Device address, for writing to it.
const SELECT_WRITE: u8 = 0xA0;
/// Device address, for reading from it.
const SELECT_READ: u8 = 0xA1;
/// Delay after each change of a wire.
const REST_NS: u64 = 2_000;

/// Reads the board's own address.
pub(super) async fn read_address(
    board: &mut BoardWindow,
    system: &mut AnySystem,
) -> Result<MacAddress, EepromError> {
    let mut wires = Wires { board, system };
    let high = wires.read_word(MAC_ADDRESS).await?;
    let low = wires.read_word(MAC_ADDRESS + 4).await?;
    let address = MacAddress::from_words(high, low);
    if high >> 16 != 0 || address.is_group() || address.0 == [0; 6] {
        return Err(EepromError::NoAddress { high, low });
    }
    Ok(address)
}

/// The two wires of the EEPROM, which the host moves by bits of a register.
struct Wires<'a> {
    board: &'a mut BoardWindow,
    system: &'a mut AnySystem,
}

impl Wires<'_> {
    async fn read_word(&mut self, address: u16) -> Result<u32, EepromError> {
        let mut word = 0;
        for offset in 0..4 {
            word = word << 8 | u32::from(self.read_byte(address + offset).await?);
        }
        Ok(word)
    }

    async fn read_byte(&mut self, address: u16) -> Result<u8, EepromError> {
        let [high, low] = address.to_be_bytes();
        self.begin().await;
        for (sent, byte) in [
            ("its device address", SELECT_WRITE),
            ("the address's high byte", high),
            ("the address's low byte", low),
        ] {
            self.send(byte, sent, address).await?;
        }
        self.begin().await;
        self.send(SELECT_READ, "its device address for reading", address)
            .await?;
        let mut byte = 0;
        for _ in 0..8 {
            byte = byte << 1 | u8::from(self.clock_in().await);
        }
        // No acknowledge: this was the last byte.
        self.clock_out(true).await;
        self.end().await;
        Ok(byte)
    }

    /// Start condition: data falls while the clock is high.
    async fn begin(&mut self) {
        let drive = LocalControl::EEPROM_DRIVE;
        self.set(drive | LocalControl::EEPROM_OUT).await;
        self.set(drive | LocalControl::EEPROM_OUT | LocalControl::EEPROM_CLOCK)
            .await;
        self.set(drive | LocalControl::EEPROM_CLOCK).await;
        self.set(drive).await;
    }

    /// Stop condition: data rises while the clock is high.
    async fn end(&mut self) {
        let drive = LocalControl::EEPROM_DRIVE;
        self.set(drive).await;
        self.set(drive | LocalControl::EEPROM_CLOCK).await;
        self.set(drive | LocalControl::EEPROM_OUT | LocalControl::EEPROM_CLOCK)
            .await;
        self.set(drive | LocalControl::EEPROM_OUT).await;
    }

    /// Sends a byte, highest bit first. The device pulls data low to acknowledge it.
    async fn send(
        &mut self,
        byte: u8,
        sent: &'static str,
        address: u16,
    ) -> Result<(), EepromError> {
        for bit in (0..8).rev() {
            self.clock_out(byte >> bit & 1 != 0).await;
        }
        if self.clock_in().await {
            self.end().await;
            return Err(EepromError::NoAcknowledge { sent, address });
        }
        Ok(())
    }

    async fn clock_out(&mut self, bit: bool) {
        let mut data = LocalControl::EEPROM_DRIVE;
        data.set(LocalControl::EEPROM_OUT, bit);
        self.set(data).await;
        self.set(data | LocalControl::EEPROM_CLOCK).await;
        self.set(data).await;
    }

    /// Releases the data wire and samples it in the middle of a clock pulse.
    async fn clock_in(&mut self) -> bool {
        self.set(LocalControl::empty()).await;
        self.set(LocalControl::EEPROM_CLOCK).await;
        let wires = self.board.read_register(LOCAL_CONTROL).await;
        self.set(LocalControl::empty()).await;
        LocalControl::from_bits_retain(wires).contains(LocalControl::EEPROM_IN)
    }

    /// Drives the wires; the register's other bits are unchanged.
    async fn set(&mut self, wires: LocalControl) {
        let all =
            LocalControl::EEPROM_CLOCK | LocalControl::EEPROM_DRIVE | LocalControl::EEPROM_OUT;
        let register =
            LocalControl::from_bits_retain(self.board.read_register(LOCAL_CONTROL).await);
        let value = register.difference(all) | wires;
        self.board.write_register(LOCAL_CONTROL, value.bits()).await;
        self.system.compute(REST_NS).await;
    }
}
