//! The host's window on the PCI bus, and the control register of the board (docs/lanai.md, section 3.11).

use defs::lanai::window::{RESET_OFF, RESET_ON, four, later};

use super::chip::Generation;
use emulator_state::state;

/// Unit that answers at an offset of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Local memory at an address.
    Sram(u32),
    /// A special register, by its offset.
    Special(u32),
    /// The control register.
    Control,
    /// The address of a channel's next block.
    Chain(usize),
    /// A base pointer of doorbells.
    DoorbellBase(usize),
    /// A doorbell.
    Doorbell,
    /// The EEPROM at an offset.
    Eeprom(u32),
    /// Nothing.
    Nothing,
}

/// The unit that answers at an offset of the window of a board of this generation.
#[must_use]
pub const fn target(generation: Generation, offset: u32) -> Target {
    match generation {
        Generation::L4 => match offset {
            four::SRAM..four::EEPROM => Target::Sram(offset),
            four::EEPROM..four::REGISTERS => Target::Eeprom(offset - four::EEPROM),
            four::REGISTERS..=FOUR_LAST => Target::Special(offset - four::REGISTERS),
            four::CONTROL..=FOUR_CONTROL_LAST => Target::Control,
            four::LARGE_SRAM..=FOUR_LARGE_LAST => Target::Sram(offset - four::LARGE_SRAM),
            _ => Target::Nothing,
        },
        Generation::L7 | Generation::L9 => match offset {
            later::SRAM..=LATER_SRAM_LAST => Target::Sram(offset),
            later::CONTROL..=LATER_CONTROL_LAST => Target::Control,
            later::CHAINS..later::DOORBELL_BASES => {
                Target::Chain((offset - later::CHAINS) as usize / 4)
            }
            later::DOORBELL_BASES..=LATER_BASES_LAST => {
                Target::DoorbellBase((offset - later::DOORBELL_BASES) as usize / 4)
            }
            later::REGISTERS..=LATER_LAST => Target::Special(offset - later::REGISTERS),
            later::EEPROM..=LATER_EEPROM_LAST => Target::Eeprom(offset - later::EEPROM),
            later::DOORBELLS..0x100_0000 => Target::Doorbell,
            _ => Target::Nothing,
        },
    }
}

// Last offsets of areas of the window: a range in a pattern needs both ends as constants.
const FOUR_LAST: u32 = four::REGISTERS + 0xFF;
const FOUR_CONTROL_LAST: u32 = four::CONTROL + 3;
const FOUR_LARGE_LAST: u32 = four::LARGE_SRAM + four::LARGE_SRAM_BYTES - 1;
const LATER_SRAM_LAST: u32 = later::SRAM + later::SRAM_BYTES - 1;
const LATER_CONTROL_LAST: u32 = later::CONTROL + 3;
const LATER_BASES_LAST: u32 = later::DOORBELL_BASES + 31;
const LATER_LAST: u32 = later::REGISTERS + 0x1FF;
const LATER_EEPROM_LAST: u32 = later::EEPROM + 0x7_FFFF;

/// Bits of the control register that come in pairs.
#[derive(Debug, Clone, Copy)]
struct Bits {
    reset_off: u32,
    reset_on: u32,
    board_reset_off: u32,
    board_reset_on: u32,
    interrupt_on: u32,
    interrupt_off: u32,
    wake: u32,
}

const fn bits(generation: Generation) -> Bits {
    match generation {
        Generation::L4 => Bits {
            reset_off: RESET_OFF,
            reset_on: RESET_ON,
            board_reset_off: 0,
            board_reset_on: 0,
            interrupt_on: four::INTERRUPTS_ON,
            interrupt_off: four::INTERRUPTS_OFF,
            wake: four::WAKE,
        },
        Generation::L7 | Generation::L9 => Bits {
            reset_off: RESET_OFF,
            reset_on: RESET_ON,
            board_reset_off: later::BOARD_RESET_OFF,
            board_reset_on: later::BOARD_RESET_ON,
            interrupt_on: later::INTERRUPTS_ON,
            interrupt_off: later::INTERRUPTS_OFF,
            wake: 0,
        },
    }
}

/// Size of the queue of doorbells.
const QUEUE_SIZE: u32 = 7;
/// Each doorbell raises WAKE.
const DOORBELL_WAKES: u32 = 1 << 3;
/// Bits that are stored (LANai 7 and 9).
const STORED: u32 = 0xFF;

/// Commands in a write of the control register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Commands {
    /// The LANai enters its reset.
    pub reset: bool,
    /// The LANai leaves its reset.
    pub release: bool,
    /// WAKE comes up.
    pub wake: bool,
    /// Channels of DMA that look for blocks, a bit for each.
    pub channels: u32,
}

/// The control register.
#[derive(Debug)]
pub struct Control {
    generation: Generation,
    /// Whether the LANai is in reset.
    pub in_reset: bool,
    /// Whether the board is in reset, which holds the LANai too.
    board_reset: bool,
    /// Whether the board may interrupt the host.
    pub interrupts: bool,
    stored: u32,
}

state!(Control { in_reset, board_reset, interrupts, stored } fixed { generation });

impl Control {
    /// After power-on: the LANai in reset, no interrupts.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self {
            generation,
            in_reset: true,
            board_reset: false,
            interrupts: false,
            stored: 0,
        }
    }

    /// The value that the host reads: the first bit of each pair if it is in force, else the second one.
    #[must_use]
    pub const fn read(&self) -> u32 {
        let bits = bits(self.generation);
        let reset = if self.in_reset {
            bits.reset_on
        } else {
            bits.reset_off
        };
        let board = if self.board_reset {
            bits.board_reset_on
        } else {
            bits.board_reset_off
        };
        let interrupts = if self.interrupts {
            bits.interrupt_on
        } else {
            bits.interrupt_off
        };
        reset | board | interrupts | self.stored
    }

    /// Carries out a write. Of a pair of bits that are both set, the one that ends the state counts.
    pub const fn write(&mut self, value: u32) -> Commands {
        let bits = bits(self.generation);
        let held = self.is_held();
        if value & bits.reset_on != 0 {
            self.in_reset = true;
        }
        if value & bits.reset_off != 0 {
            self.in_reset = false;
        }
        if value & bits.board_reset_on != 0 {
            self.board_reset = true;
        }
        if value & bits.board_reset_off != 0 {
            self.board_reset = false;
        }
        if value & bits.interrupt_on != 0 {
            self.interrupts = true;
        }
        if value & bits.interrupt_off != 0 {
            self.interrupts = false;
        }
        let channels = match self.generation {
            Generation::L4 => 0,
            Generation::L7 | Generation::L9 => {
                self.stored = value & STORED;
                value >> 20 & 15
            }
        };
        Commands {
            reset: !held && self.is_held(),
            release: held && !self.is_held(),
            wake: value & bits.wake != 0,
            channels,
        }
    }

    /// Whether the LANai is held in reset.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.in_reset || self.board_reset
    }

    /// Size of the queue of doorbells.
    #[must_use]
    pub const fn queue_size(&self) -> u32 {
        self.stored & QUEUE_SIZE
    }

    /// Whether each doorbell raises WAKE.
    #[must_use]
    pub const fn doorbell_wakes(&self) -> bool {
        self.stored & DOORBELL_WAKES != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |offset, l4, l7| {
            assert_eq!(target(Generation::L4, offset), l4, "{offset:#x}");
            assert_eq!(target(Generation::L7, offset), l7, "{offset:#x}");
        };
        check(0x1000, Target::Sram(0x1000), Target::Sram(0x1000));
        check(0x8_0004, Target::Eeprom(4), Target::Sram(0x8_0004));
        check(0xC_0028, Target::Special(0x28), Target::Sram(0xC_0028));
        check(0xE_0000, Target::Control, Target::Sram(0xE_0000));
        check(0x18_0000, Target::Sram(0x8_0000), Target::Sram(0x18_0000));
        check(0x80_0040, Target::Nothing, Target::Control);
        check(0x80_0108, Target::Nothing, Target::Chain(2));
        check(0x80_0110, Target::Nothing, Target::DoorbellBase(0));
        check(0x80_4050, Target::Nothing, Target::Special(0x50));
        check(0x80_8000, Target::Nothing, Target::Doorbell);
        check(0xA0_0008, Target::Nothing, Target::Eeprom(8));
        check(0xFF_FFFC, Target::Nothing, Target::Doorbell);
        check(0x100_0000, Target::Nothing, Target::Nothing);
    }

    #[test]
    fn pairs_of_bits() {
        let mut control = Control::new(Generation::L4);
        let mut check = |value, commands, read| {
            assert_eq!(control.write(value), commands);
            assert_eq!(control.read(), read);
        };
        let none = Commands::default();
        let release = Commands {
            release: true,
            ..none
        };
        let reset = Commands {
            reset: true,
            ..none
        };
        check(0, none, 1 << 30 | 1 << 28);
        check(1 << 31, release, 1 << 31 | 1 << 28);
        check(1 << 29, none, 1 << 31 | 1 << 29);
        check(1 << 27, Commands { wake: true, ..none }, 1 << 31 | 1 << 29);
        check(1 << 30, reset, 1 << 30 | 1 << 29);
        let mut control = Control::new(Generation::L9);
        let commands = control.write(1 << 31 | 5 << 20 | 0xA);
        assert_eq!(
            commands,
            Commands {
                release: true,
                channels: 5,
                ..none
            }
        );
        assert_eq!((control.queue_size(), control.doorbell_wakes()), (2, true));
        assert_eq!(control.write(1 << 26), reset);
        assert_eq!(control.write(1 << 27), release);
    }
}
