//! Operation of a process on the memory of another one, carried out by the other one's host (a one-sided operation).
//!
//! An operation is the content of a message of [`Class::Operation`](crate::Class::Operation). The host of the receiver carries it out, without the
//! process, and sends a message of [`Class::Reply`](crate::Class::Reply) with the same tag: its content is what was read, its data the number of an error.

use crate::atomic::{Atomic, Function, Number};
use crate::frame::{MOST_BYTES, RequestError, limited};

/// Most segments of an operation.
const MOST_SEGMENTS: usize = 64;

/// Memory that a process offers to others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Region {
    /// Address in the process.
    pub address: u64,
    /// Bytes from there on.
    pub bytes: u64,
}

/// A part of a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    /// Name of the region, which its process has given it.
    pub key: u64,
    /// Place in the region.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    Read,
    /// Writes the operands.
    Write,
    /// Computes with the operands.
    Compute {
        /// Function and type of numbers.
        atomic: Atomic,
        /// The old values are wanted.
        fetch: bool,
    },
}

/// A one-sided operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Kind of the operation.
    pub access: Access,
    /// Memory of the other process.
    pub segments: Vec<Segment>,
    /// Bytes to write, or to compute with.
    pub operands: Vec<u8>,
}

/// Kinds of operations.
const READ: u64 = 0;
const WRITE: u64 = 1;
const COMPUTE: u64 = 2;
const FETCH: u64 = 3;

impl Operation {
    /// As bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let kind = match self.access {
            Access::Read => READ,
            Access::Write => WRITE,
            Access::Compute { atomic, fetch } => {
                let names = (atomic.function as u64) << 8 | (atomic.number as u64) << 16;
                names | if fetch { FETCH } else { COMPUTE }
            }
        };
        let head = [kind | (self.segments.len() as u64) << 32];
        let segments = self.segments.iter();
        let words = segments.flat_map(|segment| [segment.key, segment.offset, segment.bytes]);
        let words = head.into_iter().chain(words);
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.extend_from_slice(&self.operands);
        bytes
    }

    /// Bytes of memory that it accesses.
    #[must_use]
    pub fn length(&self) -> usize {
        self.segments.iter().map(|one| one.bytes as usize).sum()
    }

    /// Reads an operation.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn read(bytes: &[u8]) -> Result<Self, RequestError> {
        let wrong = |what| RequestError::Bytes {
            what,
            bytes: bytes.len(),
        };
        let word = |place: usize| {
            let part = bytes.get(8 * place..8 * place + 8);
            let part = part.and_then(|part| part.try_into().ok());
            part.map(u64::from_le_bytes)
                .ok_or_else(|| wrong("an operation"))
        };
        let head = word(0)?;
        let count = limited("a number of segments", head >> 32, MOST_SEGMENTS as u64)? as usize;
        let mut segments = Vec::with_capacity(count);
        for place in 0..count {
            segments.push(Segment {
                key: word(1 + 3 * place)?,
                offset: word(2 + 3 * place)?,
                bytes: limited(
                    "bytes of a segment",
                    word(3 + 3 * place)?,
                    MOST_BYTES as u64,
                )?,
            });
        }
        let atomic = Atomic {
            function: Function::read(head >> 8 & 0xFF)?,
            number: Number::read(head >> 16 & 0xFFFF)?,
        };
        let access = match head & 0xFF {
            READ => Access::Read,
            WRITE => Access::Write,
            kind @ (COMPUTE | FETCH) => {
                let fetch = kind == FETCH;
                Access::Compute { atomic, fetch }
            }
            kind => return Err(RequestError::Kind(kind)),
        };
        let operation = Self {
            access,
            segments,
            operands: bytes[8 + 24 * count..].to_vec(),
        };
        let length = operation.length();
        let operands = match access {
            Access::Read => 0,
            Access::Write => length,
            Access::Compute { atomic, .. } => {
                let is_whole = length.is_multiple_of(atomic.bytes()) && atomic.is_valid();
                if !is_whole {
                    return Err(wrong("numbers of an operation"));
                }
                length * atomic.operands()
            }
        };
        if length > MOST_BYTES || operation.operands.len() != operands {
            return Err(wrong("operands of an operation"));
        }
        Ok(operation)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation() -> impl Strategy<Value = Operation> {
        let segment = (any::<u64>(), any::<u64>(), 0..20_u64);
        let segment = segment.prop_map(|(key, offset, count)| Segment {
            key,
            offset,
            bytes: 8 * count,
        });
        let segments = proptest::collection::vec(segment, 0..5);
        let function = proptest::sample::select(Function::ALL);
        let number = proptest::sample::select(Number::ALL);
        (0..4, segments, function, number).prop_map(|(kind, segments, function, number)| {
            let atomic = Atomic { function, number };
            let access = match kind {
                0 => Access::Read,
                1 => Access::Write,
                _ if !atomic.is_valid() => Access::Write,
                kind => Access::Compute {
                    atomic,
                    fetch: kind == 3,
                },
            };
            let mut operation = Operation {
                access,
                segments,
                operands: Vec::new(),
            };
            let times = match access {
                Access::Read => 0,
                Access::Write => 1,
                Access::Compute { atomic, .. } => atomic.operands(),
            };
            operation.operands = vec![7; times * operation.length()];
            operation
        })
    }

    proptest! {
        #![proptest_config(cases::cases(256))]

        #[test]
        fn operations_are_read_as_written(operation in operation()) {
            prop_assert_eq!(Operation::read(&operation.bytes()), Ok(operation));
        }

        /// An operation with a damaged byte is another operation or an error.
        #[test]
        fn damage_is_no_panic(operation in operation(), place in any::<usize>(), value in any::<u8>()) {
            let mut bytes = operation.bytes();
            let place = place % bytes.len();
            bytes[place] = value;
            let _ = Operation::read(&bytes);
            let _ = Operation::read(&bytes[..place]);
        }
    }
}
