//! Doorbells: writes of the host that become entries of a queue in local memory (docs/lanai.md, section 3.12).

use super::sram::Sram;
use emulator_state::state;

/// Number of base pointers.
const POINTERS: usize = 8;
/// Bytes of an entry: where the host wrote, and what.
const ENTRY_BYTES: u32 = 8;

/// The queue of doorbells.
#[derive(Debug, Default)]
pub struct Doorbells {
    /// Base of the queue, for each size.
    bases: [u32; POINTERS],
    /// Offset of the next entry.
    next: u32,
}

state!(Doorbells { bases, next });

impl Doorbells {
    /// The base pointer with this number.
    #[must_use]
    pub fn base(&self, index: usize) -> u32 {
        self.bases.get(index).copied().unwrap_or(0)
    }

    /// Sets a base pointer. The queue starts anew.
    pub fn set_base(&mut self, index: usize, address: u32) {
        if let Some(base) = self.bases.get_mut(index) {
            *base = address;
            self.next = 0;
        }
    }

    /// Appends an entry to the queue of 4 KB times 2 to the power of `size`. A full queue overwrites its oldest entry.
    pub fn ring(&mut self, size: u32, place: u32, value: u32, sram: &mut Sram) {
        let size = size & 7;
        let bytes = 4096 << size;
        let at = self.base(size as usize).wrapping_add(self.next % bytes);
        sram.set_word(at, place);
        sram.set_word(at.wrapping_add(4), value);
        self.next = (self.next + ENTRY_BYTES) % bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_follow_each_other_and_wrap() {
        let mut sram = Sram::new(256 << 10);
        let mut bells = Doorbells::default();
        bells.set_base(0, 0x1000);
        for value in 0..513 {
            bells.ring(0, 0x0080_9000, value, &mut sram);
        }
        let check = |at, value| assert_eq!(sram.word(at), value);
        check(0x1000, 0x0080_9000);
        check(0x1004, 512);
        check(0x100C, 1);
        check(0x1FFC, 511);
        check(0x2004, 0);
    }
}
