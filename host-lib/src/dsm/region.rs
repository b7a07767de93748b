//! Regions of the shared memory, and the types of their elements.

use std::marker::PhantomData;

/// A type of elements of shared memory: it has 4 or 8 bytes.
pub trait Element: Copy + Send + Sync + 'static {
    /// Size of the element in bytes.
    const BYTES: usize;

    /// Decodes an element; missing bytes are 0.
    fn decode(bytes: &[u8]) -> Self;

    /// Appends the bytes of an element.
    fn encode(self, bytes: &mut Vec<u8>);
}

macro_rules! element {
    ($($type:ty)*) => {$(
        impl Element for $type {
            const BYTES: usize = size_of::<Self>();

            fn decode(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap_or_default())
            }

            fn encode(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

element!(u32 i32 f32 u64 i64 f64);

/// A region of the shared memory: an array. All nodes have the same.
#[derive(Debug)]
pub struct Shared<T> {
    /// Offset of the first element, in bytes.
    pub(super) first: u64,
    pub(super) length: usize,
    pub(super) element: PhantomData<T>,
}

// A region is a name: copies of it need no copy of an element.
impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    /// Number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}
