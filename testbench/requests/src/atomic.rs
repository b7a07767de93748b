//! Atomic operations: functions of two or three numbers.

use crate::frame::{RequestError, limited};

macro_rules! numbered {
    ($(#[$about:meta])* $name:ident, $what:literal: $($(#[$about_one:meta])* $one:ident),* $(,)?) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$about_one])* $one),* }

        impl $name {
            /// All of them, in the order of libfabric's numbers.
            pub const ALL: &'static [Self] = &[$(Self::$one),*];

            pub(crate) fn read(word: u64) -> Result<Self, RequestError> {
                let place = limited($what, word, Self::ALL.len() as u64 - 1)?;
                Ok(Self::ALL[place as usize])
            }
        }
    };
}

numbered! {
    /// A function of the old value, an operand, and for some a value to compare with.
    Function, "a function":
    /// The smaller one.
    Least,
    /// The larger one.
    Most,
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// Whether one is not 0.
    Or,
    /// Whether both are not 0.
    And,
    /// The bits of both.
    BitOr,
    /// The bits that both have.
    BitAnd,
    /// Whether one is 0 and the other one is not.
    Xor,
    /// The bits that one has and the other has not.
    BitXor,
    /// The old value stays.
    Read,
    /// The operand.
    Write,
    /// The operand if the compared value is equal to the old one.
    SwapIfEqual,
    /// The operand if the compared value is not equal to the old one.
    SwapIfOther,
    /// The operand if the compared value is not larger than the old one.
    SwapIfAtMost,
    /// The operand if the compared value is smaller than the old one.
    SwapIfLess,
    /// The operand if the compared value is not smaller than the old one.
    SwapIfAtLeast,
    /// The operand if the compared value is larger than the old one.
    SwapIfMore,
    /// The bits of the operand where the compared value has bits.
    SwapBits,
}

numbered! {
    /// Type of the numbers.
    Number, "a type of numbers":
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// Floating, 32 bits.
    F32,
    /// Floating, 64 bits.
    F64,
}

/// An atomic operation on numbers in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    /// Function of each number.
    pub function: Function,
    /// Type of the numbers.
    pub number: Number,
}

/// Functions of numbers of any type.
fn common<T: PartialOrd + Copy>(
    function: Function,
    [old, new, compared]: [T; 3],
    [zero, one]: [T; 2],
) -> Option<T> {
    let truth = |is| if is { one } else { zero };
    let swapped = |is| if is { new } else { old };
    let (first, second) = (old != zero, new != zero);
    Some(match function {
        Function::Least => swapped(new < old),
        Function::Most => swapped(new > old),
        Function::Or => truth(first || second),
        Function::And => truth(first && second),
        Function::Xor => truth(first != second),
        Function::Read => old,
        Function::Write => new,
        Function::SwapIfEqual => swapped(compared == old),
        Function::SwapIfOther => swapped(compared != old),
        Function::SwapIfAtMost => swapped(compared <= old),
        Function::SwapIfLess => swapped(compared < old),
        Function::SwapIfAtLeast => swapped(compared >= old),
        Function::SwapIfMore => swapped(compared > old),
        _ => return None,
    })
}

macro_rules! integer {
    ($type:ty, $function:expr, $values:expr) => {{
        let [old, new, mask]: [$type; 3] = $values.map(<$type>::from_le_bytes);
        let value = match $function {
            Function::Sum => old.wrapping_add(new),
            Function::Product => old.wrapping_mul(new),
            Function::BitOr => old | new,
            Function::BitAnd => old & new,
            Function::BitXor => old ^ new,
            Function::SwapBits => new & mask | old & !mask,
            function => common(function, [old, new, mask], [0, 1])?,
        };
        value.to_le_bytes().to_vec()
    }};
}

macro_rules! floating {
    ($type:ty, $function:expr, $values:expr) => {{
        let [old, new, compared]: [$type; 3] = $values.map(<$type>::from_le_bytes);
        let value = match $function {
            Function::Sum => old + new,
            Function::Product => old * new,
            function => common(function, [old, new, compared], [0.0, 1.0])?,
        };
        value.to_le_bytes().to_vec()
    }};
}

/// The first bytes of a number's eight.
fn low<const BYTES: usize>(value: [u8; 8]) -> [u8; BYTES] {
    std::array::from_fn(|place| value[place])
}

impl Atomic {
    /// Bytes of a number.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self.number {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }

    /// Numbers that belong to each old one: none, an operand, an operand and a value to compare with.
    #[must_use]
    pub const fn operands(self) -> usize {
        match self.function {
            Function::Read => 0,
            Function::SwapIfEqual
            | Function::SwapIfOther
            | Function::SwapIfAtMost
            | Function::SwapIfLess
            | Function::SwapIfAtLeast
            | Function::SwapIfMore
            | Function::SwapBits => 2,
            _ => 1,
        }
    }

    /// Whether the function is one of numbers of this type.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.compute([[0; 8]; 3]).is_some()
    }

    /// The new value; `None` if the function is none of numbers of this type.
    fn compute(self, values: [[u8; 8]; 3]) -> Option<Vec<u8>> {
        let function = self.function;
        Some(match self.number {
            Number::I8 => integer!(i8, function, values.map(low)),
            Number::U8 => integer!(u8, function, values.map(low)),
            Number::I16 => integer!(i16, function, values.map(low)),
            Number::U16 => integer!(u16, function, values.map(low)),
            Number::I32 => integer!(i32, function, values.map(low)),
            Number::U32 => integer!(u32, function, values.map(low)),
            Number::I64 => integer!(i64, function, values),
            Number::U64 => integer!(u64, function, values),
            Number::F32 => floating!(f32, function, values.map(low)),
            Number::F64 => floating!(f64, function, values),
        })
    }

    /// Applies it to the numbers of `old`. `operands` has the operands of all of them, then the values to compare with.
    pub fn apply(self, old: &mut [u8], operands: &[u8]) {
        let (bytes, length) = (self.bytes(), old.len());
        for (place, number) in old.chunks_exact_mut(bytes).enumerate() {
            let wide = |from: Option<&[u8]>| {
                let mut value = [0; 8];
                if let Some(from) = from {
                    value[..bytes].copy_from_slice(from);
                }
                value
            };
            let at = place * bytes;
            let operand = wide(operands.get(at..at + bytes));
            let compared = wide(operands.get(length + at..length + at + bytes));
            if let Some(new) = self.compute([wide(Some(number)), operand, compared]) {
                number.copy_from_slice(&new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_computed_in_their_type() {
        let apply = |function, number, old: &[u8], operands: &[u8]| {
            let mut old = old.to_vec();
            Atomic { function, number }.apply(&mut old, operands);
            old
        };
        assert_eq!(
            apply(Function::Sum, Number::U8, &[250, 1], &[10, 2]),
            [4, 3]
        );
        assert_eq!(apply(Function::Least, Number::I8, &[5], &[0xFF]), [0xFF]);
        assert_eq!(apply(Function::Least, Number::U8, &[5], &[0xFF]), [5]);
        let swap = Function::SwapIfEqual;
        assert_eq!(
            apply(swap, Number::U16, &[1, 0, 2, 0], &[7, 7, 8, 8, 1, 0, 9, 0]),
            [7, 7, 2, 0]
        );
        assert_eq!(
            apply(Function::SwapBits, Number::U8, &[0xAA], &[0x55, 0x0F]),
            [0xA5]
        );
        let sum = apply(
            Function::Sum,
            Number::F64,
            &1.5_f64.to_le_bytes(),
            &2.0_f64.to_le_bytes(),
        );
        assert_eq!(sum, 3.5_f64.to_le_bytes());
        assert_eq!(
            apply(Function::And, Number::I32, &[9; 4], &[8; 4]),
            [1, 0, 0, 0]
        );
    }

    #[test]
    fn bits_are_no_matter_of_floating_numbers() {
        let valid = |function, number| Atomic { function, number }.is_valid();
        assert!(!valid(Function::BitXor, Number::F32));
        assert!(!valid(Function::SwapBits, Number::F64));
        assert!(valid(Function::SwapIfLess, Number::F64));
        let integers = Function::ALL.iter().all(|one| valid(*one, Number::I64));
        assert!(integers);
    }
}
