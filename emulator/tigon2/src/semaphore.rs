//! The chip's one semaphore (docs/tigon2.md, section 4).
//!
//! Registers are its sides, one for each CPU; the register's address identifies the side, for any initiator. Every
//! write is a toggle: it releases if that side owns the semaphore, takes it if it is free, and
//! does nothing if another side owns it. A read returns whether that side owns it.

use defs::tigon2::banks::MOST_CPUS;
use emulator_state::{Reader, StateError, Value, Writer, state};

/// A side of the semaphore: the register of the CPU with this index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side(pub u8);

impl Side {
    /// The register of CPU A.
    pub const A: Self = Self(0);
    /// The register of CPU B.
    pub const B: Self = Self(1);
}

impl Value for Side {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let cpu = u8::read(from)?;
        let exists = usize::from(cpu) < MOST_CPUS;
        exists.then_some(Self(cpu)).ok_or(StateError::Value("Side"))
    }
}

/// Effect of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToggleEffect {
    /// The semaphore was free: the side owns it now.
    Taken,
    /// The side owned it: it is free now.
    Released,
    /// Another side owns it.
    Refused,
}

/// The semaphore.
#[derive(Debug, Default)]
pub struct Semaphore {
    owner: Option<Side>,
}

state!(Semaphore { owner });

impl Semaphore {
    /// The side that owns it.
    #[must_use]
    pub const fn owner(&self) -> Option<Side> {
        self.owner
    }

    /// Writes any value to `side`'s register.
    pub fn write(&mut self, side: Side) -> ToggleEffect {
        match self.owner {
            None => {
                self.owner = Some(side);
                ToggleEffect::Taken
            }
            Some(owner) if owner == side => {
                self.owner = None;
                ToggleEffect::Released
            }
            Some(_) => ToggleEffect::Refused,
        }
    }

    /// Reads `side`'s register: 1 when that side owns the semaphore.
    #[must_use]
    pub fn read(&self, side: Side) -> u32 {
        u32::from(self.owner == Some(side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_write_toggles() {
        let mut semaphore = Semaphore::default();
        let mut check = |side, outcome, reads| {
            assert_eq!(semaphore.write(side), outcome);
            assert_eq!((semaphore.read(Side::A), semaphore.read(Side::B)), reads);
        };
        check(Side::A, ToggleEffect::Taken, (1, 0));
        check(Side::B, ToggleEffect::Refused, (1, 0));
        check(Side::A, ToggleEffect::Released, (0, 0));
        check(Side::B, ToggleEffect::Taken, (0, 1));
    }
}
