//! The serial EEPROM behind LOCAL_CONTROL bits 20 to 23 (docs/tigon2-registers.md, section 2): an I2C device of the
//! 24C64 kind, which holds the board's MAC address.
//!
//! Nothing here takes time: the host makes the clock, edge by edge.

use emulator_state::state;
use emulator_state::value_enum;

/// Bytes of the device.
const SIZE: usize = 8192;
/// Bytes that one write transfer can reach before its address wraps.
const PAGE: u16 = 32;
/// The device's address on the wire, without the read bit.
const SELECT: u8 = 0xA0;
/// Read bit of the device address.
const READ: u8 = 1;
/// Bits of a byte; the clock after them carries the acknowledgement.
const BITS: u8 = 8;
/// Address of the MAC address for drivers: eight bytes, of which the first two are 0.
const MAC_ADDRESS: usize = 0x8C;

/// Meaning of the next byte on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EepromPhase {
    /// Not selected.
    Idle,
    /// The device address.
    Device,
    /// Word address, high byte.
    AddressHigh,
    /// Word address, low byte.
    AddressLow,
    /// A byte to be stored.
    Write,
    /// A byte that the device sends.
    Read,
}

value_enum!(EepromPhase {
    Idle {},
    Device {},
    AddressHigh {},
    AddressLow {},
    Write {},
    Read {}
});

/// The device and its two wires.
#[derive(Debug)]
pub struct Eeprom {
    cells: Box<[u8]>,
    /// The clock, as the board last drove it.
    clock: bool,
    /// The data wire without this device's own part.
    data: bool,
    /// False while this device pulls the data wire low.
    output: bool,
    phase: EepromPhase,
    /// Clocks of the current byte that have ended.
    bit: u8,
    /// The clock rose within the current bit.
    rose: bool,
    shift: u8,
    /// The master's acknowledgement of a byte that it read.
    acknowledged: bool,
    address: u16,
}

state!(Eeprom {
    cells,
    clock,
    data,
    output,
    phase,
    bit,
    rose,
    shift,
    acknowledged,
    address
});

impl Default for Eeprom {
    fn default() -> Self {
        let mut cells = vec![0xFF; SIZE];
        cells[MAC_ADDRESS..MAC_ADDRESS + 8].fill(0);
        Self {
            cells: cells.into(),
            clock: false,
            data: true,
            output: true,
            phase: EepromPhase::Idle,
            bit: 0,
            rose: false,
            shift: 0,
            acknowledged: false,
            address: 0,
        }
    }
}

impl Eeprom {
    /// Stores the board's MAC address for drivers.
    pub fn set_mac_address(&mut self, address: [u8; 6]) {
        self.cells[MAC_ADDRESS + 2..MAC_ADDRESS + 8].copy_from_slice(&address);
    }

    /// The board's MAC address.
    #[must_use]
    pub fn mac_address(&self) -> [u8; 6] {
        let mut address = [0; 6];
        address.copy_from_slice(&self.cells[MAC_ADDRESS + 2..MAC_ADDRESS + 8]);
        address
    }

    /// The data wire as the board reads it.
    #[must_use]
    pub const fn wire(&self) -> bool {
        self.data && self.output
    }

    /// Drives the clock, and releases the data wire (`true`) or pulls it low. `writable` is the
    /// write-enable line.
    pub fn drive(&mut self, clock: bool, data: bool, writable: bool) {
        let (clock_before, data_before) = (self.clock, self.data);
        self.clock = clock;
        self.data = data;
        if clock && clock_before {
            match (data_before, data) {
                (true, false) => self.begin(EepromPhase::Device),
                (false, true) => self.begin(EepromPhase::Idle),
                _ => {}
            }
        } else if clock {
            self.rise();
        } else if clock_before && self.rose {
            self.fall(writable);
        }
    }

    /// Handles a start or stop condition.
    fn begin(&mut self, phase: EepromPhase) {
        self.phase = phase;
        self.output = true;
        self.bit = 0;
        self.rose = false;
    }

    fn rise(&mut self) {
        self.rose = true;
        if self.bit < BITS {
            self.shift = self.shift << 1 | u8::from(self.data);
        } else {
            self.acknowledged = !self.data;
        }
    }

    fn fall(&mut self, writable: bool) {
        self.rose = false;
        self.bit += 1;
        match self.phase {
            EepromPhase::Idle => self.bit = 0,
            EepromPhase::Read => self.send(),
            _ if self.bit == BITS => self.acknowledge(),
            _ if self.bit > BITS => self.interpret_byte(writable),
            _ => {}
        }
    }

    /// Drives the next bit of the byte being read, or the next byte's first bit.
    fn send(&mut self) {
        if self.bit > BITS {
            if !self.acknowledged {
                return self.begin(EepromPhase::Idle);
            }
            self.address = self.address.wrapping_add(1);
            self.bit = 0;
        }
        self.output = self.bit == BITS || self.cell() >> (BITS - 1 - self.bit) & 1 != 0;
    }

    fn cell(&self) -> u8 {
        self.cells[usize::from(self.address) % SIZE]
    }

    /// Acknowledges a received byte, if the device is selected.
    fn acknowledge(&mut self) {
        if self.phase == EepromPhase::Device && self.shift & !READ != SELECT {
            self.begin(EepromPhase::Idle);
        } else {
            self.output = false;
        }
    }

    /// Interprets an acknowledged byte.
    fn interpret_byte(&mut self, writable: bool) {
        let byte = self.shift;
        self.output = true;
        self.bit = 0;
        self.phase = match self.phase {
            EepromPhase::Device if byte & READ != 0 => {
                self.output = self.cell() >> (BITS - 1) != 0;
                EepromPhase::Read
            }
            EepromPhase::Device => EepromPhase::AddressHigh,
            EepromPhase::AddressHigh => {
                self.address = u16::from(byte) << 8;
                EepromPhase::AddressLow
            }
            EepromPhase::AddressLow => {
                self.address |= u16::from(byte);
                EepromPhase::Write
            }
            EepromPhase::Write => {
                if writable {
                    self.cells[usize::from(self.address) % SIZE] = byte;
                }
                let within = self.address.wrapping_add(1) % PAGE;
                self.address = self.address - self.address % PAGE + within;
                EepromPhase::Write
            }
            other @ (EepromPhase::Idle | EepromPhase::Read) => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bit-banging master, as in a driver.
    struct Master(Eeprom);

    impl Master {
        fn drive(&mut self, clock: bool, data: bool) {
            self.0.drive(clock, data, true);
        }

        fn start(&mut self) {
            for (clock, data) in [(false, true), (true, true), (true, false), (false, false)] {
                self.drive(clock, data);
            }
        }

        fn stop(&mut self) {
            for (clock, data) in [(false, false), (true, false), (true, true)] {
                self.drive(clock, data);
            }
        }

        /// Sends a byte; returns whether the device acknowledged it.
        fn send(&mut self, byte: u8) -> bool {
            for bit in (0..8).rev() {
                let data = byte >> bit & 1 != 0;
                self.drive(false, data);
                self.drive(true, data);
                self.drive(false, data);
            }
            self.drive(false, true);
            self.drive(true, true);
            let acknowledged = !self.0.wire();
            self.drive(false, true);
            acknowledged
        }

        fn receive(&mut self, acknowledge: bool) -> u8 {
            let mut byte = 0;
            for _ in 0..8 {
                self.drive(false, true);
                self.drive(true, true);
                byte = byte << 1 | u8::from(self.0.wire());
                self.drive(false, true);
            }
            self.drive(false, !acknowledge);
            self.drive(true, !acknowledge);
            self.drive(false, !acknowledge);
            byte
        }

        fn address(&mut self, address: u16) {
            self.start();
            let [high, low] = address.to_be_bytes();
            assert!(self.send(0xA0) && self.send(high) && self.send(low));
        }

        fn read(&mut self, address: u16, count: usize) -> Vec<u8> {
            self.address(address);
            self.start();
            assert!(self.send(0xA1));
            let bytes = (0..count).map(|i| self.receive(i + 1 < count)).collect();
            self.stop();
            bytes
        }

        fn write(&mut self, address: u16, bytes: &[u8]) {
            self.address(address);
            for byte in bytes {
                assert!(self.send(*byte));
            }
            self.stop();
        }
    }

    #[test]
    fn a_driver_finds_the_mac_address() {
        let mut master = Master(Eeprom::default());
        master
            .0
            .set_mac_address([0x00, 0x60, 0xCF, 0x12, 0x34, 0x56]);
        let expected = [0, 0, 0x00, 0x60, 0xCF, 0x12, 0x34, 0x56];
        assert_eq!(master.read(0x8C, 8), expected, "one transfer");
        for (i, byte) in expected.iter().enumerate() {
            assert_eq!(master.read(0x8C + i as u16, 1), [*byte], "byte by byte");
        }
    }

    #[test]
    fn what_is_written_stays_within_its_page() {
        let mut master = Master(Eeprom::default());
        master.write(0x101E, &[1, 2, 3]);
        assert_eq!(master.read(0x101E, 3), [1, 2, 0xFF]);
        assert_eq!(master.read(0x1000, 1), [3], "the address wraps in its page");
    }

    #[test]
    fn another_device_is_not_answered_for() {
        let mut master = Master(Eeprom::default());
        master.start();
        assert!(!master.send(0xA2));
        assert!(!master.send(0x00), "not selected until the next start");
        assert_eq!(master.read(0, 1), [0xFF]);
    }

    #[test]
    fn nothing_is_stored_without_write_enable() {
        let mut master = Master(Eeprom::default());
        master.address(0);
        for bit in (0..8).rev() {
            let data = 0x55 >> bit & 1 != 0;
            for clock in [false, true, false] {
                master.0.drive(clock, data, false);
            }
        }
        for clock in [false, true, false] {
            master.0.drive(clock, true, false);
        }
        master.stop();
        assert_eq!(master.read(0, 1), [0xFF]);
    }
}
