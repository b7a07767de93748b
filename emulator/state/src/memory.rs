//! Sparse encoding of memory: pieces of zeros are omitted.

use super::{Reader, StateError, Value, Writer};

/// Granularity: a piece is saved if any byte of it is not 0. The bit that says so is 1/2,048 of the piece.
const PIECE: usize = 256;

/// Saves memory.
pub fn save_memory(bytes: &[u8], out: &mut Writer) {
    bytes.len().write(out);
    let used = |piece: &[u8]| piece.iter().any(|&byte| byte != 0);
    let pieces = bytes.chunks(PIECE);
    let used: Vec<bool> = pieces.map(used).collect();
    // One bit per piece: it follows.
    for bits in used.chunks(8) {
        let bit = |bits: u8, (at, &used): (usize, &bool)| bits | u8::from(used) << at;
        bits.iter().enumerate().fold(0, bit).write(out);
    }
    for (piece, _) in bytes.chunks(PIECE).zip(&used).filter(|(_, used)| **used) {
        out.bytes(piece);
    }
}

/// Loads memory of equal size.
///
/// # Errors
/// If the size differs, or the bytes end.
pub fn load_memory(
    what: &'static str,
    bytes: &mut [u8],
    from: &mut Reader<'_>,
) -> Result<(), StateError> {
    let (saved, here) = (usize::read(from)?, bytes.len());
    if saved != here {
        return Err(StateError::Shape { what, saved, here });
    }
    let used = from.take(here.div_ceil(PIECE).div_ceil(8), what)?;
    for (index, piece) in bytes.chunks_mut(PIECE).enumerate() {
        if used[index / 8] >> (index % 8) & 1 != 0 {
            piece.copy_from_slice(from.take(piece.len(), what)?);
        } else {
            piece.fill(0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_zeros_take_no_room() {
        let mut memory = vec![0; 100_001];
        for at in [0, 255, 256, 77_777, 100_000] {
            memory[at] = at as u8 | 1;
        }
        let mut out = Writer::default();
        save_memory(&memory, &mut out);
        let bytes = out.into_bytes();
        assert!(bytes.len() < 2000, "{}", bytes.len());
        let mut other = vec![0xAA; memory.len()];
        load_memory("memory", &mut other, &mut Reader::new(&bytes)).unwrap();
        assert!(other == memory);
        for length in 0..bytes.len() {
            let mut from = Reader::new(&bytes[..length]);
            assert!(load_memory("memory", &mut other, &mut from).is_err());
        }
        let smaller = &mut other[1..];
        assert!(load_memory("memory", smaller, &mut Reader::new(&bytes)).is_err());
    }
}
