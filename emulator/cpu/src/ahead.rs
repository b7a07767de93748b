//! Decoding ahead: when a core comes to an instruction that is not decoded, the ones behind it are decoded with it. The core
//! leaves its inner loop for each that is not, which costs several times as much as to decode it.

/// Most instructions that are decoded at once.
const MOST: u32 = 64;

/// Instructions that are decoded one after the other.
#[derive(Debug)]
pub struct Ahead {
    left: u32,
}

impl Ahead {
    /// The first instruction is next; `far`: others behind it, too.
    pub const fn new(far: bool) -> Self {
        Self {
            left: if far { MOST } else { 1 },
        }
    }

    /// Whether others behind the first instruction may follow.
    pub const fn goes_far(&self) -> bool {
        self.left > 1
    }

    /// An instruction was decoded. Whether the one behind it is decoded, too. `leaves`: execution never goes on behind so many instructions
    /// more, its delay slots, but where a jump leads to: there may be data.
    #[inline]
    pub fn goes_on(&mut self, leaves: Option<u32>) -> bool {
        self.left = self.left.saturating_sub(1);
        if let Some(slots) = leaves {
            self.left = self.left.min(slots);
        }
        self.left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the number of instructions that are decoded if the one at each place `leaves` so.
    fn check(far: bool, leaves: &[Option<u32>], expected: usize) {
        let mut ahead = Ahead::new(far);
        let rest = std::iter::repeat(&None);
        let stop = leaves
            .iter()
            .chain(rest)
            .position(|&leaves| !ahead.goes_on(leaves));
        assert_eq!(
            stop.map(|last| last + 1),
            Some(expected),
            "{far} {leaves:?}"
        );
    }

    #[test]
    fn ends_behind_the_slots_of_a_jump() {
        check(false, &[], 1);
        check(true, &[], MOST as usize);
        check(true, &[None, None, Some(1)], 4);
        check(true, &[None, Some(0)], 2);
        check(true, &[Some(2), Some(0)], 2);
        check(true, &[Some(2), Some(5)], 3);
    }
}
