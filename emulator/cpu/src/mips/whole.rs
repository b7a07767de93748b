//! Decoded instructions of whole memories, which boards share. Data lie between the code, and differ.
//!
//! Beside each word of a memory is a place. It is free at first ([`Op::UNDECODED`]), and then it is code or data for good, for all boards
//! that share it. It is code if a board executes the word before any of them has another value there or writes to it, and so it is what
//! all of them have there. Otherwise it is data ([`Op::DATA`]), and nothing is decoded there any more. A board that writes to code, or
//! executes data, needs places of its own before.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::isa::Op;
use crate::code_map::CodeMap;
use crate::decoded::Place;

/// Most words that may differ from the memory for which places were made: those of another firmware are not compared to the end.
const MOST_DIFFERENT: usize = 256;

/// The decoded instructions of a whole memory, one place for each word.
pub type Places = Arc<[Place<Op>]>;

/// Places for so many words, without any decoded instruction.
pub fn places(words: usize) -> Places {
    (0..words).map(|_| Place::default()).collect()
}

/// The places that boards share. Each copy of it names the same ones.
#[derive(Debug, Clone, Default)]
pub struct SharedWhole(Arc<Mutex<Vec<DecodedEntry>>>);

/// Places, and what the memory held for which they were made.
#[derive(Debug)]
struct DecodedEntry {
    words: Box<[u32]>,
    /// Addresses of instructions that carry a probe.
    marks: Box<[u32]>,
    /// Addresses at which code may be.
    code: CodeMap,
    places: Weak<[Place<Op>]>,
}

impl DecodedEntry {
    /// The words in which a memory differs; `None` if those are too many, or other instructions carry probes, or code may be elsewhere.
    fn different(&self, words: &[u32], marks: &[u32], code: &CodeMap) -> Option<Vec<usize>> {
        if *self.marks != *marks || self.code != *code || self.words.len() != words.len() {
            return None;
        }
        let both = self.words.iter().zip(words).enumerate();
        let different = both.filter(|(_, (one, other))| one != other);
        let different: Vec<usize> = different
            .map(|(index, _)| index)
            .take(MOST_DIFFERENT + 1)
            .collect();
        (different.len() <= MOST_DIFFERENT).then_some(different)
    }
}

impl SharedWhole {
    /// The places for a memory with these words, in which the instructions at the addresses `marks` carry a probe. `None` if those that
    /// others share hold code where this one differs.
    pub fn find(&self, words: &[u32], marks: &[u32], code: &CodeMap) -> Option<Places> {
        let mut entries = self.0.lock().ok()?;
        entries.retain(|entry| entry.places.strong_count() > 0);
        let mut known = entries.iter();
        let found = known.find_map(|entry| {
            let different = entry.different(words, marks, code)?;
            Some((entry.places.upgrade()?, different))
        });
        if let Some((places, different)) = found {
            let mut different = different.into_iter();
            return different
                .all(|index| becomes_data(&places[index]))
                .then_some(places);
        }
        let places = places(words.len());
        entries.push(DecodedEntry {
            words: words.into(),
            marks: marks.into(),
            code: code.clone(),
            places: Arc::downgrade(&places),
        });
        Some(places)
    }

    /// Number of places that some board uses.
    #[must_use]
    pub fn used(&self) -> usize {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = |entry: &&DecodedEntry| entry.places.strong_count() > 0;
        entries.iter().filter(used).count()
    }
}

/// Makes a shared place data; `false` if it is code.
pub fn becomes_data(place: &Place<Op>) -> bool {
    matches!(
        place.replace(Op::UNDECODED, Op::DATA),
        Ok(()) | Err(Op::DATA)
    )
}
