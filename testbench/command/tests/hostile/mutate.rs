//! Changes of files, from a seed: the same number gives the same input everywhere.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Largest input in bytes.
const MOST_BYTES: usize = 400_000;
/// Numbers at which parsers go wrong.
const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFC,
    0xFFFF_FFFF,
    i64::MAX as u64,
    u64::MAX,
];
/// Numbers and texts as they are written.
const WORDS: [&str; 16] = [
    "0",
    "-1",
    "1e400",
    "nan",
    "inf",
    "99999999999999999999",
    "0x1_0",
    "\"\"",
    "[]",
    "{}",
    "[[[[",
    "true",
    "\"all\"",
    "\"\\u0000\"",
    "4294967296",
    "-0.0",
];

/// A source of inputs.
pub struct Mutator<'a> {
    random: ChaCha8Rng,
    seeds: &'a [Vec<u8>],
    is_text: bool,
}

impl<'a> Mutator<'a> {
    /// Input number `number` of a parser with these valid inputs.
    pub fn new(seeds: &'a [Vec<u8>], is_text: bool, number: u64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(number),
            seeds,
            is_text,
        }
    }

    fn below(&mut self, most: usize) -> usize {
        (self.random.next_u64() % most.max(1) as u64) as usize
    }

    fn seed(&mut self) -> &'a [u8] {
        let seeds = self.seeds;
        &seeds[self.below(seeds.len())]
    }

    /// A changed input.
    pub fn input(mut self) -> Vec<u8> {
        let mut bytes = self.seed().to_vec();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes);
        }
        bytes.truncate(MOST_BYTES);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        // Heads decide more than bodies.
        let at = if self.below(2) == 0 {
            at.min(self.below(200))
        } else {
            at
        };
        let end = (at + self.below(40)).min(bytes.len());
        match self.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            3 => {
                let other = self.seed();
                let from = self.below(other.len() + 1);
                let part = &other[from..(from + self.below(200)).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
            4 if self.is_text => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..end.min(at + 3), word.bytes());
            }
            5 if self.is_text => self.swap_lines(bytes),
            4 | 5 => self.number(bytes, at),
            _ => {
                for _ in 0..=self.below(4) {
                    let at = self.below(bytes.len());
                    let bit = 1 << self.below(8);
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= bit;
                    }
                }
            }
        }
    }

    /// A number in either order of bytes, at a multiple of its size.
    fn number(&mut self, bytes: &mut [u8], at: usize) {
        let number = NUMBERS[self.below(NUMBERS.len())];
        let size = [1, 2, 4, 8][self.below(4)];
        let at = at / size * size;
        let (big, little) = (number.to_be_bytes(), number.to_le_bytes());
        let new = if self.below(2) == 0 {
            &big[8 - size..]
        } else {
            &little[..size]
        };
        if let Some(place) = bytes.get_mut(at..at + size) {
            place.copy_from_slice(new);
        }
    }

    fn swap_lines(&mut self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let (a, b) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(2) {
            0 => lines.swap(a, b),
            _ => lines.insert(a, lines[b].clone()),
        }
        *bytes = lines.join(&b'\n');
    }
}
