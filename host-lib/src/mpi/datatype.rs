//! Types of elements, and what reductions compute of them.

use defs::gm::collective::Operation as BoardOperation;

use super::MpiError;

/// A type whose values can be sent. Messages have them in little-endian order.
#[doc(alias = "Equivalence")]
#[doc(alias = "MPI_Datatype")]
pub trait Datatype: Copy + Send + Sync + 'static {
    /// Bytes of a value.
    const BYTES: usize;

    /// Appends a value to a message.
    fn append_to(self, bytes: &mut Vec<u8>);

    /// The value of [`BYTES`](Self::BYTES) bytes; `None` for another number of bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;

    /// Result of an operation on two values; `None` if the type does not have the operation.
    fn combine(self, other: Self, operation: Operation) -> Option<Self>;

    /// The operation of boards that computes the same of values of 64 bits; `None` if boards do not have it. Of floating-point numbers one
    /// that is not a number is the least and the largest one.
    #[must_use]
    fn board_operation(_: Operation) -> Option<BoardOperation> {
        None
    }
}

/// Operations of boards on integers; `least` and `most` are those of the type.
const fn on_integers(
    operation: Operation,
    least: BoardOperation,
    most: BoardOperation,
) -> Option<BoardOperation> {
    Some(match operation {
        Operation::Sum => BoardOperation::Sum,
        Operation::Min => least,
        Operation::Max => most,
        Operation::And => BoardOperation::And,
        Operation::Or => BoardOperation::Or,
        Operation::Product | Operation::Xor => return None,
    })
}

/// Operations of boards on doubles.
const fn on_doubles(operation: Operation) -> Option<BoardOperation> {
    match operation {
        Operation::Sum => Some(BoardOperation::DoubleSum),
        Operation::Min => Some(BoardOperation::DoubleMin),
        Operation::Max => Some(BoardOperation::DoubleMax),
        _ => None,
    }
}

/// Operation of a reduction.
#[doc(alias = "SystemOperation")]
#[doc(alias = "MPI_Op")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The sum; of integers modulo 2^bits.
    #[doc(alias = "MPI_SUM")]
    Sum,
    /// The product; of integers modulo 2^bits.
    #[doc(alias = "MPI_PROD")]
    Product,
    /// The smallest value.
    #[doc(alias = "MPI_MIN")]
    Min,
    /// The largest value.
    #[doc(alias = "MPI_MAX")]
    Max,
    /// Bits that all values have; of integers only.
    #[doc(alias = "MPI_BAND")]
    And,
    /// Bits that any value has; of integers only.
    #[doc(alias = "MPI_BOR")]
    Or,
    /// Bits that an odd number of values have; of integers only.
    #[doc(alias = "MPI_BXOR")]
    Xor,
}

macro_rules! integers {
    ($($type:ty $(: $on_boards:expr)?),*) => {$(
        impl Datatype for $type {
            const BYTES: usize = size_of::<$type>();

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }

            $(fn board_operation(operation: Operation) -> Option<BoardOperation> {
                $on_boards(operation)
            })?

            fn combine(self, other: Self, operation: Operation) -> Option<Self> {
                Some(match operation {
                    Operation::Sum => self.wrapping_add(other),
                    Operation::Product => self.wrapping_mul(other),
                    Operation::Min => self.min(other),
                    Operation::Max => self.max(other),
                    Operation::And => self & other,
                    Operation::Or => self | other,
                    Operation::Xor => self ^ other,
                })
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty $(: $on_boards:expr)?),*) => {$(
        impl Datatype for $type {
            const BYTES: usize = size_of::<$type>();

            $(fn board_operation(operation: Operation) -> Option<BoardOperation> {
                $on_boards(operation)
            })?

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }

            fn combine(self, other: Self, operation: Operation) -> Option<Self> {
                match operation {
                    Operation::Sum => Some(self + other),
                    Operation::Product => Some(self * other),
                    Operation::Min => Some(self.min(other)),
                    Operation::Max => Some(self.max(other)),
                    Operation::And | Operation::Or | Operation::Xor => None,
                }
            }
        }
    )*};
}

/// A value, and where it was found. [`Operation::Min`] and [`Operation::Max`] keep the smallest or largest value, of equal ones that with the
/// smallest place.
#[doc(alias = "MPI_MINLOC")]
#[doc(alias = "MPI_MAXLOC")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Located<D> {
    /// The value that is compared.
    pub value: D,
    /// Place of the value: a rank, an index.
    pub place: u64,
}

impl<D: Datatype + PartialOrd> Datatype for Located<D> {
    const BYTES: usize = D::BYTES + u64::BYTES;

    fn append_to(self, bytes: &mut Vec<u8>) {
        self.value.append_to(bytes);
        self.place.append_to(bytes);
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (value, place) = bytes.split_at_checked(D::BYTES)?;
        Some(Self {
            value: D::from_bytes(value)?,
            place: u64::from_bytes(place)?,
        })
    }

    fn combine(self, other: Self, operation: Operation) -> Option<Self> {
        let first = match operation {
            Operation::Min => self.value < other.value,
            Operation::Max => self.value > other.value,
            _ => return None,
        };
        let earlier = self.value == other.value && self.place <= other.place;
        Some(if first || earlier { self } else { other })
    }
}

/// Several values of a type, as one element: reductions combine them one by one.
impl<D: Datatype, const N: usize> Datatype for [D; N] {
    const BYTES: usize = {
        assert!(N > 0, "an element has bytes");
        D::BYTES * N
    };

    fn append_to(self, bytes: &mut Vec<u8>) {
        for value in self {
            value.append_to(bytes);
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::BYTES {
            return None;
        }
        let values = from_bytes::<D>(bytes).ok()?;
        values.try_into().ok()
    }

    fn combine(self, other: Self, operation: Operation) -> Option<Self> {
        let mut values = self;
        combine_all(&mut values, &other, operation).ok()?;
        Some(values)
    }
}

integers!(
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64: |operation| on_integers(operation, BoardOperation::Min, BoardOperation::Max),
    i64: |operation| on_integers(operation, BoardOperation::SignedMin, BoardOperation::SignedMax)
);
floats!(f32, f64: on_doubles);

/// The bytes of values.
pub(super) fn to_bytes<T: Datatype>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    for value in values {
        value.append_to(&mut bytes);
    }
    bytes
}

/// The values of a message.
pub(super) fn from_bytes<T: Datatype>(bytes: &[u8]) -> Result<Vec<T>, MpiError> {
    let partial = MpiError::Partial {
        bytes: bytes.len(),
        element: T::BYTES,
    };
    if !bytes.len().is_multiple_of(T::BYTES) {
        return Err(partial);
    }
    let values = bytes.chunks_exact(T::BYTES).map(T::from_bytes);
    values.collect::<Option<_>>().ok_or(partial)
}

/// Combines `values` with `others`, element by element.
pub(super) fn combine_all<T: Datatype>(
    values: &mut [T],
    others: &[T],
    operation: Operation,
) -> Result<(), MpiError> {
    for (value, other) in values.iter_mut().zip(others) {
        let combined = value.combine(*other, operation);
        *value = combined.ok_or(MpiError::Operation(operation))?;
    }
    Ok(())
}
