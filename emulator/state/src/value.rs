//! Values of the standard library and of other crates.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::num::NonZeroU64;
use std::sync::Arc;

use lanigon_window::window::WindowWatch;

use super::{Reader, StateError, Value, Writer};
use crate::value_struct;

macro_rules! numbers {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn write(&self, out: &mut Writer) {
                out.bytes(&self.to_le_bytes());
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                let bytes = from.take(size_of::<Self>(), stringify!($type))?;
                let bytes = bytes.try_into();
                bytes.map(Self::from_le_bytes).map_err(|_| StateError::Truncated(stringify!($type)))
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 f64);

impl Value for usize {
    fn write(&self, out: &mut Writer) {
        (*self as u64).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Self::try_from(u64::read(from)?).map_err(|_| StateError::Value("a count"))
    }
}

/// There is no value, so there are no bytes of one.
impl Value for Infallible {
    fn write(&self, _: &mut Writer) {
        match *self {}
    }

    fn read(_: &mut Reader<'_>) -> Result<Self, StateError> {
        Err(StateError::Value("a control"))
    }
}

impl Value for NonZeroU64 {
    fn write(&self, out: &mut Writer) {
        self.get().write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Self::new(u64::read(from)?).ok_or(StateError::Value("a number"))
    }
}

impl Value for bool {
    fn write(&self, out: &mut Writer) {
        u8::from(*self).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StateError::Value("a truth value")),
        }
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, out: &mut Writer) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Value, E: Value> Value for Result<T, E> {
    fn write(&self, out: &mut Writer) {
        self.is_ok().write(out);
        match self {
            Ok(value) => value.write(out),
            Err(error) => error.write(out),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(match bool::read(from)? {
            true => Ok(T::read(from)?),
            false => Err(E::read(from)?),
        })
    }
}

fn write_items<'a, T: Value + 'a>(items: impl ExactSizeIterator<Item = &'a T>, out: &mut Writer) {
    items.len().write(out);
    items.for_each(|item| item.write(out));
}

fn read_items<T: Value, C: FromIterator<T>>(from: &mut Reader<'_>) -> Result<C, StateError> {
    let count = usize::read(from)?;
    // Every value has at least one byte.
    from.check_room(count, "a list")?;
    (0..count).map(|_| T::read(from)).collect()
}

impl<T: Value> Value for Vec<T> {
    fn write(&self, out: &mut Writer) {
        write_items(self.iter(), out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_items(from)
    }
}

impl<T: Value> Value for VecDeque<T> {
    fn write(&self, out: &mut Writer) {
        write_items(self.iter(), out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_items(from)
    }
}

impl<K: Value + Ord, T: Value> Value for BTreeMap<K, T> {
    fn write(&self, out: &mut Writer) {
        self.len().write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let items: Vec<(K, T)> = read_items(from)?;
        Ok(items.into_iter().collect())
    }
}

impl<T: Value> Value for Box<[T]> {
    fn write(&self, out: &mut Writer) {
        write_items(self.iter(), out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        read_items(from)
    }
}

impl<T: Value> Value for Box<T> {
    fn write(&self, out: &mut Writer) {
        (**self).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        T::read(from).map(Self::new)
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn write(&self, out: &mut Writer) {
        self.iter().for_each(|item| item.write(out));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let items: Vec<T> = (0..N).map(|_| T::read(from)).collect::<Result<_, _>>()?;
        items
            .try_into()
            .map_err(|_| StateError::Truncated("an array"))
    }
}

impl Value for () {
    fn write(&self, _: &mut Writer) {}

    fn read(_: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(())
    }
}

impl Value for Arc<[u8]> {
    fn write(&self, out: &mut Writer) {
        self.len().write(out);
        out.bytes(self);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let length = usize::read(from)?;
        from.take(length, "bytes").map(Self::from)
    }
}

impl Value for String {
    fn write(&self, out: &mut Writer) {
        self.len().write(out);
        out.bytes(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Arc::<str>::read(from).map(|text| (*text).to_owned())
    }
}

impl Value for Arc<str> {
    fn write(&self, out: &mut Writer) {
        self.len().write(out);
        out.bytes(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let length = usize::read(from)?;
        let bytes = from.take(length, "a text")?;
        let text = std::str::from_utf8(bytes).map_err(|_| StateError::Value("a text"))?;
        Ok(text.into())
    }
}

macro_rules! tuples {
    ($(($($type:ident $name:ident),*))*) => {$(
        impl<$($type: Value),*> Value for ($($type,)*) {
            fn write(&self, out: &mut Writer) {
                let ($($name,)*) = self;
                $($name.write(out);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
                Ok(($($type::read(from)?,)*))
            }
        }
    )*};
}

tuples!((A a, B b)(A a, B b, C c));

value_struct!(WindowWatch {
    before: before,
    offset: offset,
    mask: mask,
    expected: expected
});
