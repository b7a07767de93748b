//! The chip's one semaphore (docs/tigon2.md, section 4), and further ones of a `tigon-n`.
//!
//! Registers are its sides, one for each CPU; the register's address identifies the side, for any initiator. Every
//! write is a toggle: it releases if that side owns the semaphore, takes it if it is free, and
//! does nothing if another side owns it. A read returns whether that side owns it.

use defs::tigon2::banks::MOST_CPUS;
use emulator_state::{Reader, State, StateError, Value, Writer, state};

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

/// The semaphores of a board, of which the chip has one.
#[derive(Debug)]
pub struct Semaphores {
    first: Semaphore,
    further: Vec<Semaphore>,
}

/// The state of the chip's one is that of the first.
impl State for Semaphores {
    fn save(&self, out: &mut Writer) {
        self.first.save(out);
        self.further.iter().for_each(|one| one.save(out));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.first.load(from)?;
        self.further.iter_mut().try_for_each(|one| one.load(from))
    }
}

impl Semaphores {
    /// So many free semaphores, one at least.
    #[must_use]
    pub fn new(count: u32) -> Self {
        let further = (1..count).map(|_| Semaphore::default());
        Self {
            first: Semaphore::default(),
            further: further.collect(),
        }
    }

    /// The number of semaphores.
    #[must_use]
    pub fn count(&self) -> usize {
        1 + self.further.len()
    }

    /// Frees all.
    pub fn reset(&mut self) {
        *self = Self::new(self.count() as u32);
    }

    /// The semaphores, the chip's one first.
    pub fn each(&self) -> impl Iterator<Item = &Semaphore> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Writes any value to a side of the semaphore with this number; `None` if there is none.
    pub fn write(&mut self, number: usize, side: Side) -> Option<ToggleEffect> {
        let one = match number.checked_sub(1) {
            None => &mut self.first,
            Some(index) => self.further.get_mut(index)?,
        };
        Some(one.write(side))
    }

    /// Reads a side of the semaphore with this number: 0 if there is none.
    #[must_use]
    pub fn read(&self, number: usize, side: Side) -> u32 {
        match number.checked_sub(1) {
            None => self.first.read(side),
            Some(index) => self.further.get(index).map_or(0, |one| one.read(side)),
        }
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

    #[test]
    fn each_of_several_has_an_owner_of_its_own() {
        let mut all = Semaphores::new(3);
        assert_eq!(all.write(0, Side::A), Some(ToggleEffect::Taken));
        assert_eq!(all.write(2, Side::B), Some(ToggleEffect::Taken));
        assert_eq!(all.write(2, Side::A), Some(ToggleEffect::Refused));
        assert_eq!(all.write(3, Side::A), None);
        let owners: Vec<_> = all.each().map(Semaphore::owner).collect();
        assert_eq!(owners, [Some(Side::A), None, Some(Side::B)]);
        assert_eq!([0, 1, 2, 3].map(|one| all.read(one, Side::B)), [0, 0, 1, 0]);
        let state = |all: &Semaphores| {
            let mut out = Writer::default();
            all.save(&mut out);
            out.into_bytes()
        };
        let saved = state(&all);
        let mut again = Semaphores::new(3);
        again.load(&mut Reader::new(&saved)).unwrap();
        assert_eq!(state(&again), saved);
        let mut chip = Writer::default();
        Semaphore::default().save(&mut chip);
        assert_eq!(state(&Semaphores::new(1)), chip.into_bytes());
    }
}
