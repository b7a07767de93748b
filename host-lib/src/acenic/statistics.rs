//! The statistics that the firmware reports to host memory.

use defs::acenic::stats::{COUNTERS, Counter, WORDS, counter};

/// A report: all counters by name (`defs::acenic::stats`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    words: [u32; WORDS as usize],
}

impl Statistics {
    pub(super) const fn new(words: [u32; WORDS as usize]) -> Self {
        Self { words }
    }

    /// Value of a counter; `None` if the name is unknown.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        counter(name).map(|counter| self.value(counter))
    }

    /// All counters, in the order of the block.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        COUNTERS
            .iter()
            .map(|&counter| (counter.name, self.value(counter)))
    }

    fn value(&self, counter: Counter) -> u64 {
        let words = (counter.word..counter.word + counter.words)
            .filter_map(|word| self.words.get(word as usize));
        words.fold(0, |value, &word| value << 32 | u64::from(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let statistics = Statistics::new(std::array::from_fn(|word| word as u32));
        assert_eq!(statistics.get("dot3_fcs_errors"), Some(1));
        assert_eq!(statistics.get("if_hc_in_octets"), Some(36 << 32 | 37));
        assert_eq!(statistics.get("nic_interrupts"), Some(82));
        assert_eq!(statistics.get("nothing"), None);
        assert_eq!(statistics.iter().count(), COUNTERS.len());
        assert!(statistics.iter().any(|item| item == ("nic_send_bds", 102)));
    }
}
