//! DMA between host memory and local memory: one engine (docs/lanai.md, section 3.8).

use emulator_base::time::SimTime;
use emulator_state::state;
use emulator_state::value_struct;

/// A sum in ones' complement of big-endian words.
#[must_use]
pub const fn add_ones(sum: u32, word: u32) -> u32 {
    let (sum, carry) = sum.overflowing_add(word);
    sum.wrapping_add(carry as u32)
}

/// A sum in ones' complement of bytes as big-endian words; the last word is filled with zeros.
#[must_use]
pub fn sum_of(sum: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]);
    // The carries of all words are added at the end: the sum is the same modulo 2^32 - 1, and 0 only if everything is.
    let total = words.fold(u64::from(sum), |total, &word| {
        total + u64::from(u32::from_be_bytes(word))
    });
    add_ones(total as u32, (total >> 32) as u32)
}

/// A 32-bit one's-complement sum in 16 bits, as IP checksums have it.
#[must_use]
pub const fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// A transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Whether bytes go to the host.
    pub to_host: bool,
    /// Host address of the next byte.
    pub host: u64,
    /// Local address of the next byte.
    pub local: u32,
    /// Bytes left.
    pub left: u32,
    /// Sum of the words so far.
    pub sum: u32,
    /// The channel and the block that it carries out, if it does.
    pub block: Option<(u8, u32)>,
}

value_struct!(Transfer {
    to_host: to_host,
    host: host,
    local: local,
    left: left,
    sum: sum,
    block: block
});

/// The engine, and the registers of LANai 4.
#[derive(Debug, Default)]
pub struct HostDma {
    /// EAR: host address.
    pub host: u32,
    /// LAR: local address.
    pub local: u32,
    /// `DMA_DIR`: 1 from the host.
    pub direction: u32,
    /// CKS: sum of all words.
    pub sum: u32,
    /// Bytes left when nothing is under way.
    pub rest: u32,
    /// The transfer that is under way.
    active: Option<Transfer>,
    /// Number of the transfer; steps of other transfers are over.
    number: u32,
    /// Transfers that host memory did not answer.
    pub failures: u64,
    /// Transfers so far: from the host, to the host.
    pub started: [u64; 2],
    /// Since when a transfer is under way, and the time of those before.
    since: SimTime,
    busy: SimTime,
}

state!(HostDma {
    host,
    local,
    direction,
    sum,
    rest,
    active,
    number,
    failures,
    started,
    since,
    busy
});

impl HostDma {
    /// After a reset; totals remain.
    pub fn reset(&mut self, now: SimTime) {
        self.end(now);
        *self = Self {
            number: self.number.wrapping_add(1),
            failures: self.failures,
            started: self.started,
            busy: self.busy,
            ..Self::default()
        };
    }

    /// The transfer that is under way.
    #[must_use]
    pub const fn active(&self) -> Option<&Transfer> {
        self.active.as_ref()
    }

    /// The transfer with this number, if it is under way.
    pub fn step(&mut self, number: u32) -> Option<&mut Transfer> {
        self.active.as_mut().filter(|_| number == self.number)
    }

    /// Begins a transfer; returns its number.
    pub fn begin(&mut self, transfer: Transfer, now: SimTime) -> u32 {
        self.end(now);
        self.since = now;
        self.started[usize::from(transfer.to_host)] += 1;
        self.active = Some(transfer);
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Ends the transfer.
    pub fn end(&mut self, now: SimTime) -> Option<Transfer> {
        let transfer = self.active.take()?;
        self.rest = transfer.left;
        self.busy += now.saturating_sub(self.since);
        Some(transfer)
    }

    /// `DMA_CTR`: bytes left.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.active.map_or(self.rest, |transfer| transfer.left)
    }

    /// Time in which transfers were under way.
    #[must_use]
    pub fn busy(&self, now: SimTime) -> SimTime {
        match self.active {
            Some(_) => self.busy + now.saturating_sub(self.since),
            None => self.busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The sum is that of one word after the other.
        #[test]
        fn sums_add_words(start in prop_oneof![Just(0), Just(!0), any::<u32>()], words in prop::collection::vec(
            prop_oneof![Just(0), Just(!0), any::<u32>()], 0..20)) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let expected = words.iter().fold(start, |sum, &word| add_ones(sum, word));
            prop_assert_eq!(sum_of(start, &bytes), expected);
        }
    }

    #[test]
    fn sums_carry_around() {
        let check = |bytes: &[u8], sum, folded| {
            assert_eq!(sum_of(0, bytes), sum);
            assert_eq!(fold(sum), folded);
        };
        check(&[], 0, 0);
        check(&[1, 2, 3], 0x0102_0300, 0x0402);
        check(&[0xFF; 8], !0, 0xFFFF);
        check(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 2], 2, 2);
        check(&[0xFF, 0xFF, 0xFF, 0xFE, 0, 0, 0, 1], !0, 0xFFFF);
    }
}
