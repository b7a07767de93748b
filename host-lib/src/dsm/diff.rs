//! Differences between two versions of a page.

/// Bytes of a word, the unit of comparison.
const WORD: usize = 4;

/// Changed words of a page: first word of each run, and its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Diff(pub(super) Vec<(u32, Vec<u8>)>);

impl Diff {
    /// The words in which a page differs from its twin.
    pub(super) fn between(twin: &[u8], page: &[u8]) -> Self {
        let mut runs: Vec<(u32, Vec<u8>)> = Vec::new();
        let words = twin.chunks_exact(WORD).zip(page.chunks_exact(WORD));
        for (at, (before, now)) in (0_u32..).zip(words) {
            if before == now {
                continue;
            }
            match runs.last_mut() {
                Some((first, bytes)) if *first as usize + bytes.len() / WORD == at as usize => {
                    bytes.extend_from_slice(now);
                }
                _ => runs.push((at, now.to_vec())),
            }
        }
        Self(runs)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Changed bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Offset in the page and bytes of each run; `None` if one lies outside of the page.
    pub(super) fn places(&self, page_bytes: u32) -> Option<Vec<(u64, &[u8])>> {
        let place = |(first, bytes): &'_ (u32, Vec<u8>)| {
            let offset = u64::from(*first) * WORD as u64;
            (offset + bytes.len() as u64 <= u64::from(page_bytes)).then_some(offset)
        };
        let runs = self.0.iter();
        runs.map(|run| place(run).map(|offset| (offset, &run.1[..])))
            .collect()
    }

    /// The first word that two diffs change.
    pub(super) fn common_word(&self, other: &Self) -> Option<u32> {
        let span = |(first, bytes): &(u32, Vec<u8>)| (*first, *first + (bytes.len() / WORD) as u32);
        let spans = |diff: &Self| diff.0.iter().map(span).collect::<Vec<_>>();
        let (own, others) = (spans(self), spans(other));
        let overlap = |(first, end): &(u32, u32)| {
            let found = others
                .iter()
                .find(|(other, other_end)| other < end && first < other_end);
            found.map(|(other, _)| (*first).max(*other))
        };
        own.iter().find_map(overlap)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Diff;

    proptest! {
        #[test]
        fn a_diff_turns_the_twin_into_the_page(
            twin in prop::collection::vec(0_u8..3, 64),
            page in prop::collection::vec(0_u8..3, 64),
        ) {
            let diff = Diff::between(&twin, &page);
            let mut copy = twin.clone();
            for (offset, bytes) in diff.places(64).unwrap() {
                let at = offset as usize;
                copy[at..at + bytes.len()].copy_from_slice(bytes);
            }
            prop_assert_eq!(&copy, &page);
            prop_assert_eq!(diff.is_empty(), twin == page);
            prop_assert_eq!(diff.common_word(&diff).is_some(), !diff.is_empty());
        }
    }

    #[test]
    fn words_in_common() {
        let diff = |words: &[u32]| {
            let mut page = [0; 64];
            words.iter().for_each(|word| page[4 * *word as usize] = 1);
            Diff::between(&[0; 64], &page)
        };
        assert_eq!(diff(&[1, 2, 3]).common_word(&diff(&[0, 3, 4])), Some(3));
        assert_eq!(diff(&[1, 5]).common_word(&diff(&[2, 3, 6])), None);
    }
}
