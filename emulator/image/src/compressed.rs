//! Compressed sections: those of today's ELF (`SHF_COMPRESSED`, with zlib or zstd), and the older `.zdebug_` ones.

use std::io::Read;

use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;
use thiserror::Error;

/// Begin of the names of old compressed sections; without the `z` it is that of their contents' names.
pub(super) const OLD_NAME: &str = ".zdebug_";
/// First bytes of an old compressed section; the size follows in eight bytes.
const OLD_MAGIC: &[u8] = b"ZLIB";
/// Values of the first word of a section; the size and the alignment follow in a word each.
const ZLIB: u32 = 1;
const ZSTD: u32 = 2;
/// Largest size of contents: a few bytes may stand for any number of them.
const MOST_BYTES: u64 = 64 << 20;

/// A compressed section cannot be read.
#[derive(Debug, Error)]
pub(super) enum Problem {
    /// The section ends in its header.
    #[error("its header is cut off")]
    Header,
    /// The method is not known.
    #[error("method {0} is unknown; zlib is 1, zstd 2")]
    Method(u32),
    /// The contents are too long.
    #[error("{0} bytes are more than {MOST_BYTES}, the limit")]
    TooLong(u64),
    /// The decoder refuses the bytes.
    #[error("{0}")]
    Damaged(String),
    /// The contents have another size than the header says.
    #[error("its contents have not the {0} bytes of its header")]
    Size(u64),
}

/// The contents of a section with `SHF_COMPRESSED`.
pub(super) fn section(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let (method, rest) = word(bytes)?;
    let (size, rest) = word(rest)?;
    let (_alignment, rest) = word(rest)?;
    let size = size.into();
    match method {
        ZLIB => read(ZlibDecoder::new(rest), size),
        ZSTD => {
            let decoder = StreamingDecoder::new(rest);
            read(
                decoder.map_err(|error| Problem::Damaged(error.to_string()))?,
                size,
            )
        }
        other => Err(Problem::Method(other)),
    }
}

/// The contents of a section whose name begins with [`OLD_NAME`].
pub(super) fn old_section(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let rest = bytes.strip_prefix(OLD_MAGIC).ok_or(Problem::Header)?;
    let (high, rest) = word(rest)?;
    let (low, rest) = word(rest)?;
    read(
        ZlibDecoder::new(rest),
        u64::from(high) << 32 | u64::from(low),
    )
}

fn word(bytes: &[u8]) -> Result<(u32, &[u8]), Problem> {
    let (word, rest) = bytes.split_first_chunk().ok_or(Problem::Header)?;
    Ok((u32::from_be_bytes(*word), rest))
}

/// All that a decoder gives, which must be `size` bytes.
fn read(decoder: impl Read, size: u64) -> Result<Vec<u8>, Problem> {
    if size > MOST_BYTES {
        return Err(Problem::TooLong(size));
    }
    let mut contents = Vec::new();
    let read = decoder.take(size + 1).read_to_end(&mut contents);
    read.map_err(|error| Problem::Damaged(error.to_string()))?;
    match contents.len() as u64 == size {
        true => Ok(contents),
        false => Err(Problem::Size(size)),
    }
}
