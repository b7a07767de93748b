//! The host's 16 KB PCI window: targets of its offsets (docs/tigon2-registers.md, section 2).

use super::cpus::CpuPlan;
use defs::tigon2::map::{WINDOW_LOW_SRAM, WINDOW_USED_BYTES, WINDOW_VIEW, WINDOW_VIEW_BYTES};
use emulator_state::state;

/// Target of a window offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A register.
    Register(u32),
    /// An SRAM word.
    Sram(u32),
    /// Unmapped.
    Nothing,
}

/// The movable view and the word behind `WINDOW_DATA`.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    base: u32,
    cpus: CpuPlan,
}

state!(Window { base } fixed { cpus });

impl Window {
    /// The view begins at 0.
    #[must_use]
    pub const fn new(cpus: CpuPlan) -> Self {
        Self { base: 0, cpus }
    }

    /// The base register, as written.
    #[must_use]
    pub const fn base(&self) -> u32 {
        self.base
    }

    /// Address of the word accessed by `WINDOW_DATA`.
    #[must_use]
    pub const fn data_address(&self) -> u32 {
        self.base & !3
    }

    /// Start of the view: the base without its low 11 bits.
    const fn view_address(&self) -> u32 {
        self.base & !(WINDOW_VIEW_BYTES - 1)
    }

    /// Writes the base register.
    pub fn set_base(&mut self, value: u32) {
        self.base = value;
    }

    /// Target of `offset` (its two low bits are ignored: all accesses are words).
    #[must_use]
    pub const fn target(&self, offset: u32) -> Target {
        let offset = offset & !3;
        if offset < WINDOW_LOW_SRAM {
            Target::Register(offset)
        } else if offset < WINDOW_VIEW {
            Target::Sram(offset - WINDOW_LOW_SRAM)
        } else if offset < WINDOW_USED_BYTES {
            Target::Sram(self.view_address().wrapping_add(offset - WINDOW_VIEW))
        } else if self.cpus.has_register(offset) {
            Target::Register(offset)
        } else {
            Target::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_answers() {
        let mut window = Window::new(CpuPlan::CHIP);
        window.set_base(0x4_07FF);
        assert_eq!(window.base(), 0x4_07FF);
        assert_eq!(window.data_address(), 0x4_07FC);
        assert_eq!(window.target(0x3FC), Target::Register(0x3FC));
        assert_eq!(window.target(0x400), Target::Sram(0));
        assert_eq!(window.target(0x514), Target::Sram(0x114));
        assert_eq!(window.target(0x804), Target::Sram(0x4_0004));
        assert_eq!(window.target(0x1000), Target::Nothing);
        let window = Window::new(CpuPlan::any_number(3).unwrap());
        assert_eq!(window.target(0x1208), Target::Register(0x1208));
        assert_eq!(window.target(0x1308), Target::Nothing);
    }
}
