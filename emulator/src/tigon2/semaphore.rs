//! The chip's one semaphore (docs/tigon2.md, section 4).
//!
//! Each side has a register; the register's address is the identity, whoever accesses it. Any
//! write is a toggle: it releases if that side owns the semaphore, takes it if it is free, and
//! does nothing if the other side owns it. A read tells whether that side owns it.

/// A side of the semaphore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The register of CPU A.
    A,
    /// The register of CPU B.
    B,
}

/// The semaphore.
#[derive(Debug, Default)]
pub struct Semaphore {
    owner: Option<Side>,
}

impl Semaphore {
    /// A write of any value to `side`'s register.
    pub fn write(&mut self, side: Side) {
        self.owner = match self.owner {
            None => Some(side),
            Some(owner) if owner == side => None,
            other => other,
        };
    }

    /// A read of `side`'s register: 1 when that side owns the semaphore.
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
        semaphore.write(Side::A);
        assert_eq!((semaphore.read(Side::A), semaphore.read(Side::B)), (1, 0));
        semaphore.write(Side::B);
        assert_eq!((semaphore.read(Side::A), semaphore.read(Side::B)), (1, 0));
        semaphore.write(Side::A);
        assert_eq!((semaphore.read(Side::A), semaphore.read(Side::B)), (0, 0));
        semaphore.write(Side::B);
        assert_eq!(semaphore.read(Side::B), 1);
    }
}
