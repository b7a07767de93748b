//! Values of reductions and what is computed of them.

use std::fmt;

use defs::gm::combine::combine;
use thiserror::Error;

/// A value that takes part in a reduction: one element of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// An unsigned integer.
    Integer(u64),
    /// A floating-point number.
    Float(f64),
}

impl Value {
    /// Number of bytes in a message.
    pub const BYTES: usize = 9;

    /// The value's type and its bits, in network order.
    pub(super) fn bytes(self) -> [u8; Self::BYTES] {
        let (kind, bits) = match self {
            Self::Integer(value) => (0, value),
            Self::Float(value) => (1, value.to_bits()),
        };
        let mut bytes = [kind; Self::BYTES];
        bytes[1..].copy_from_slice(&bits.to_be_bytes());
        bytes
    }

    /// The value that [`bytes`](Self::bytes) describes; `None` if they describe none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, bits) = bytes.split_first()?;
        let bits = u64::from_be_bytes(bits.try_into().ok()?);
        match kind {
            0 => Some(Self::Integer(bits)),
            1 => Some(Self::Float(f64::from_bits(bits))),
            _ => None,
        }
    }
}

impl Value {
    /// The values that bytes one after another describe; `None` if they describe none.
    pub(super) fn read_all(bytes: &[u8]) -> Option<Vec<Self>> {
        bytes.chunks(Self::BYTES).map(Self::read).collect()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// Operation of a reduction on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Bits that both integers have.
    And,
    /// Bits that any of the integers has.
    Or,
    /// The sum; of integers modulo 2^64.
    Sum,
    /// The smaller value.
    Min,
    /// The larger value.
    Max,
}

/// Two values have no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ValueError {
    /// An integer and a floating-point number.
    #[error("one member gives an integer, another one a floating-point number")]
    Types,
    /// AND and OR are operations on integers.
    #[error("{0:?} is an operation on integers")]
    Float(Operation),
}

impl Operation {
    /// The result of two values.
    ///
    /// # Errors
    /// [`ValueError`].
    pub fn apply(self, a: Value, b: Value) -> Result<Value, ValueError> {
        match (self, a, b) {
            (_, Value::Integer(_), Value::Float(_)) | (_, Value::Float(_), Value::Integer(_)) => {
                Err(ValueError::Types)
            }
            (Self::And | Self::Or, Value::Float(_), _) => Err(ValueError::Float(self)),
            // The boards' own code: both places give the same bits.
            _ => Ok(a.with_bits(combine(self.code(a) as u32, a.bits(), b.bits()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_compute() {
        use Operation::{And, Max, Min, Or, Sum};
        use Value::{Float, Integer};
        let rows = [
            (And, Integer(0b1100), Integer(0b1010), Ok(Integer(0b1000))),
            (Or, Integer(0b1100), Integer(0b1010), Ok(Integer(0b1110))),
            (Sum, Integer(u64::MAX), Integer(2), Ok(Integer(1))),
            (Min, Integer(3), Integer(2), Ok(Integer(2))),
            (Max, Integer(3), Integer(1 << 63), Ok(Integer(1 << 63))),
            (Sum, Float(0.5), Float(-2.0), Ok(Float(-1.5))),
            (Min, Float(0.5), Float(-2.0), Ok(Float(-2.0))),
            (Max, Float(0.5), Float(-2.0), Ok(Float(0.5))),
            (And, Float(0.5), Float(1.0), Err(ValueError::Float(And))),
            (Sum, Float(0.5), Integer(1), Err(ValueError::Types)),
        ];
        for (operation, a, b, expected) in rows {
            assert_eq!(operation.apply(a, b), expected, "{operation:?} {a} {b}");
        }
    }

    #[test]
    fn values_travel_as_bytes() {
        for value in [Value::Integer(0x0123_4567_89AB_CDEF), Value::Float(-0.5)] {
            assert_eq!(Value::read(&value.bytes()), Some(value));
        }
        assert_eq!(Value::read(&[2; Value::BYTES]), None);
        assert_eq!(Value::read(&[0; 8]), None);
        assert_eq!(Value::read(&[]), None);
    }
}
