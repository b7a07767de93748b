//! Reproducible random bytes. They are made here and not where they are used, because the generator is a loop that must be optimised and the
//! crates of the test bench are built for size.

use chacha20::rand_core::SeedableRng;
use chacha20::rand_core::block::Generator;
use chacha20::variants::Legacy;
use chacha20::{ChaChaCore, R8};

/// Appends the bytes of a key's `ChaCha8Rng` until `bytes` has this length. `fill_bytes` of the generator gives the same ones and takes several
/// times as long: here the words are taken as it makes them, in blocks.
pub fn append(bytes: &mut Vec<u8>, length: usize, key: [u8; 32]) {
    let mut random = ChaChaCore::<R8, Legacy>::from_seed(key);
    let mut words = [0; 64];
    let mut block = [0; 4 * 64];
    while bytes.len() < length {
        random.generate(&mut words);
        for (place, word) in block.as_chunks_mut().0.iter_mut().zip(&words) {
            *place = word.to_le_bytes();
        }
        let part = block.len().min(length - bytes.len());
        bytes.extend_from_slice(&block[..part]);
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::Rng;

    use super::*;

    #[test]
    fn bytes_are_the_generators() {
        for length in 0..600 {
            let (mut own, mut expected) = (Vec::new(), vec![0; length]);
            append(&mut own, length, [3; 32]);
            ChaCha8Rng::from_seed([3; 32]).fill_bytes(&mut expected);
            assert_eq!(own, expected, "{length}");
        }
    }
}
