//! The form of all messages: a head of ten words, and bytes.

use thiserror::Error;

/// Most bytes behind a head.
pub const MOST_BYTES: usize = (1 << 31) - 1;

/// Words of a head.
const WORDS: usize = 10;
/// Bytes of a head.
const HEAD_BYTES: usize = 8 * WORDS;
/// Words of a head that say something about its kind.
pub(crate) const FIELDS: usize = WORDS - 2;

/// Bytes that are no message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// No message of this kind is known.
    #[error("a message of the unknown kind {0}")]
    Kind(u64),
    /// A message announces too many bytes.
    #[error("a message of {0} bytes: {MOST_BYTES} are the most")]
    TooLong(u64),
    /// A message of this kind has other bytes behind its head.
    #[error("{bytes} bytes behind the head of {what}")]
    Bytes {
        /// Kind of the message, in words.
        what: &'static str,
        /// Number of bytes that the message has.
        bytes: usize,
    },
    /// A value that cannot be.
    #[error("{what} is {value}")]
    Value {
        /// Name of the field.
        what: &'static str,
        /// Value of the field.
        value: u64,
    },
}

/// A message in its general form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u64,
    pub(crate) fields: [u64; FIELDS],
    pub(crate) bytes: Vec<u8>,
}

impl Frame {
    /// Appends the head of a message with so many bytes behind it.
    pub(crate) fn write_head(kind: u64, fields: [u64; FIELDS], bytes: usize, out: &mut Vec<u8>) {
        for word in [kind, bytes as u64].into_iter().chain(fields) {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Checks that there are no bytes behind the head.
    pub(crate) fn without_bytes(&self, what: &'static str) -> Result<(), RequestError> {
        let bytes = self.bytes.len();
        match bytes {
            0 => Ok(()),
            _ => Err(RequestError::Bytes { what, bytes }),
        }
    }
}

/// A value of at most `most`.
pub(crate) const fn limited(
    what: &'static str,
    value: u64,
    most: u64,
) -> Result<u64, RequestError> {
    match value <= most {
        true => Ok(value),
        false => Err(RequestError::Value { what, value }),
    }
}

/// Takes messages out of a stream of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were decoded.
    taken: usize,
}

impl Decoder {
    /// Without any bytes yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buffer: Vec::new(),
            taken: 0,
        }
    }

    /// Further bytes have come.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that the message that has begun lacks at least: so many can be read at once.
    #[must_use]
    pub fn lacks(&self) -> usize {
        let have = self.buffer.len() - self.taken;
        match self.length() {
            Some(length) => (HEAD_BYTES + length as usize).saturating_sub(have),
            None => HEAD_BYTES - have,
        }
    }

    fn word(&self, place: usize) -> Option<u64> {
        let at = self.taken + 8 * place;
        let bytes = self.buffer.get(at..at + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Bytes behind the next head, if they are not too many.
    fn length(&self) -> Option<u64> {
        self.word(1).filter(|length| *length <= MOST_BYTES as u64)
    }

    /// The next message, if it is complete.
    ///
    /// # Errors
    /// [`RequestError::TooLong`].
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, RequestError> {
        let (Some(kind), Some(length)) = (self.word(0), self.word(1)) else {
            return Ok(None);
        };
        if length > MOST_BYTES as u64 {
            return Err(RequestError::TooLong(length));
        }
        let begin = self.taken + HEAD_BYTES;
        let end = begin + length as usize;
        if self.buffer.len() < end {
            return Ok(None);
        }
        let mut fields = [0; FIELDS];
        for (place, field) in fields.iter_mut().enumerate() {
            *field = self.word(2 + place).unwrap_or_default();
        }
        let bytes = self.buffer[begin..end].to_vec();
        self.taken = end;
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        }
        Ok(Some(Frame {
            kind,
            fields,
            bytes,
        }))
    }
}
