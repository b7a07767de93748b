//! Saved state of a world, without its description.
//!
//! A world is built from a description: boards, images, costs, cables, programs. Running it changes its
//! *state*. Every block lists the parts of its state once, by name ([`state!`](crate::state!)), beside its
//! fixed parts; the compiler detects a part missing in both lists. The state is saved as bytes, and loaded
//! into a world built from an equal description. Each block has a mark, derived from the names of its
//! parts, which detects state of another version.
//!
//! * [`State`]: an existing block that can save and load its state;
//! * [`Value`]: a value that can be created from bytes alone: numbers, events, frames.
#![deny(missing_docs)]

mod memory;
mod value;

use std::sync::Arc;

pub use memory::{load_memory, save_memory};

/// Bytes of a [`Page`].
pub const PAGE_BYTES: usize = 4096;

/// A page of memory that states can share. A write to a shared page copies it first.
pub type Page = Arc<[u8; PAGE_BYTES]>;

/// Reason for which a state cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes end too early.
    #[error("the saved state ends within {0}")]
    Truncated(&'static str),
    /// The expected block is missing.
    #[error("the saved state does not fit this version: there is no {0} where one should be")]
    Layout(&'static str),
    /// An invalid value.
    #[error("the saved state holds an impossible value of {0}")]
    Value(&'static str),
    /// The state belongs to a world with another description.
    #[error("the saved state is of another world: it has {saved} {what}, this one {here}")]
    Shape {
        /// The part that differs.
        what: &'static str,
        /// The number in the saved state.
        saved: usize,
        /// The number in the world.
        here: usize,
    },
    /// A host program has no log of its inputs.
    #[error("{0} cannot be saved: what it was told was not kept from its start on")]
    NoLog(String),
    /// A host program behaved differently in its replay.
    #[error("{0} does not do again what it did before the state was saved")]
    Diverged(String),
}

/// Saves state as bytes.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// Pages of memory that are shared instead of copied.
    pages: Option<Vec<Page>>,
}

impl Writer {
    /// A writer that shares pages of memory: they need no space and no time until they are written.
    #[must_use]
    pub const fn sharing() -> Self {
        Self {
            bytes: Vec::new(),
            pages: Some(Vec::new()),
        }
    }

    /// The bytes so far.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes so far, and the shared pages.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Vec<Page>) {
        (self.bytes, self.pages.unwrap_or_default())
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a page of memory.
    pub fn page(&mut self, page: &Page) {
        match &mut self.pages {
            Some(pages) => pages.push(Arc::clone(page)),
            None => save_memory(&page[..], self),
        }
    }

    /// Adds the mark of a block.
    pub fn mark(&mut self, mark: u32) {
        self.bytes(&mark.to_le_bytes());
    }
}

/// Reads the output of a [`Writer`].
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    pages: Option<&'a [Page]>,
}

impl<'a> Reader<'a> {
    /// Reads from the start.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pages: None }
    }

    /// Reads the output of a [sharing](Writer::sharing) writer.
    #[must_use]
    pub const fn sharing(bytes: &'a [u8], pages: &'a [Page]) -> Self {
        let pages = Some(pages);
        Self { bytes, pages }
    }

    /// The next page of memory.
    ///
    /// # Errors
    /// If there is none; `what` names the owner.
    pub fn page(&mut self, what: &'static str) -> Result<Page, StateError> {
        let Some(pages) = self.pages else {
            let mut page = Box::new([0; PAGE_BYTES]);
            load_memory(what, &mut page[..], self)?;
            return Ok(page.into());
        };
        let (page, rest) = pages.split_first().ok_or(StateError::Truncated(what))?;
        self.pages = Some(rest);
        Ok(Arc::clone(page))
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// If there are fewer; `what` names the owner.
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], StateError> {
        let (bytes, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(StateError::Truncated(what))?;
        self.bytes = rest;
        Ok(bytes)
    }

    /// Checks the mark of a block.
    ///
    /// # Errors
    /// If the mark differs.
    pub fn expect(&mut self, mark: u32, what: &'static str) -> Result<(), StateError> {
        if self.take(4, what)? == mark.to_le_bytes() {
            Ok(())
        } else {
            Err(StateError::Layout(what))
        }
    }

    /// Checks that `count` items can be present, before memory for them is allocated: each has at least one
    /// byte.
    ///
    /// # Errors
    /// If fewer bytes are left.
    pub const fn check_room(&self, count: usize, what: &'static str) -> Result<(), StateError> {
        if count > self.bytes.len() {
            return Err(StateError::Truncated(what));
        }
        Ok(())
    }

    /// Whether everything was read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// A block that can save and load its state.
pub trait State {
    /// Saves the state.
    fn save(&self, out: &mut Writer);

    /// Loads a saved state.
    ///
    /// # Errors
    /// If it is not the state of such a block; the block's state is then undefined.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;
}

/// A value that can be created from its bytes.
pub trait Value: Sized {
    /// Saves the value.
    fn write(&self, out: &mut Writer);

    /// Creates the value.
    ///
    /// # Errors
    /// If the bytes are invalid.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError>;
}

impl<T: Value> State for T {
    fn save(&self, out: &mut Writer) {
        self.write(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        *self = T::read(from)?;
        Ok(())
    }
}

/// Saves a fixed number of blocks.
pub fn save_all<'a, T: State + 'a>(blocks: impl ExactSizeIterator<Item = &'a T>, out: &mut Writer) {
    blocks.len().write(out);
    for block in blocks {
        block.save(out);
    }
}

/// Loads a fixed number of blocks.
///
/// # Errors
/// If their number differs, or one of them cannot be loaded.
pub fn load_all<'a, T: State + 'a>(
    what: &'static str,
    blocks: impl ExactSizeIterator<Item = &'a mut T>,
    from: &mut Reader<'_>,
) -> Result<(), StateError> {
    let (saved, here) = (usize::read(from)?, blocks.len());
    if saved != here {
        return Err(StateError::Shape { what, saved, here });
    }
    for block in blocks {
        block.load(from)?;
    }
    Ok(())
}

/// Mark of a block: a hash (FNV-1a) of the names of its parts.
#[must_use]
pub const fn mark(names: &str) -> u32 {
    let (names, mut hash, mut at) = (names.as_bytes(), 0x811C_9DC5_u32, 0);
    while at < names.len() {
        // Whitespace is ignored.
        if !names[at].is_ascii_whitespace() {
            hash = (hash ^ names[at] as u32).wrapping_mul(0x0100_0193);
        }
        at += 1;
    }
    hash
}

/// Implements [`State`] for a block: the parts that change, in the order of saving; after `lists` those
/// that are a fixed number of blocks; after `fixed` those that do not change.
///
/// ```
/// # use emulator_state::{Reader, State, Writer, state};
/// #[derive(Default)]
/// struct Counter { count: u32, limit: u32 }
/// state!(Counter { count } fixed { limit });
///
/// let mut out = Writer::default();
/// Counter { count: 3, limit: 9 }.save(&mut out);
/// let mut counter = Counter { count: 0, limit: 7 };
/// counter.load(&mut Reader::new(&out.into_bytes())).unwrap();
/// assert_eq!((counter.count, counter.limit), (3, 7));
/// ```
#[macro_export]
macro_rules! state {
    (
        $type:ty { $($part:ident),* $(,)? }
        $(lists { $($list:ident),* $(,)? })?
        $(fixed { $($fixed:ident),* $(,)? })?
    ) => {
        impl $crate::State for $type {
            fn save(&self, out: &mut $crate::Writer) {
                const MARK: u32 =
                    $crate::mark(stringify!($type, $($part),* $($(, $list)*)?));
                let Self { $($part,)* $($($list,)*)? $($($fixed: _,)*)? } = self;
                out.mark(MARK);
                $($crate::State::save($part, out);)*
                $($($crate::save_all($list.iter(), out);)*)?
            }

            fn load(
                &mut self,
                from: &mut $crate::Reader<'_>,
            ) -> ::core::result::Result<(), $crate::StateError> {
                const MARK: u32 =
                    $crate::mark(stringify!($type, $($part),* $($(, $list)*)?));
                let Self { $($part,)* $($($list,)*)? $($($fixed: _,)*)? } = self;
                from.expect(MARK, stringify!($type))?;
                $($crate::State::load($part, from)?;)*
                $($($crate::load_all(stringify!($list), $list.iter_mut(), from)?;)*)?
                Ok(())
            }
        }
    };
}

/// Implements [`Value`] for an enum of values: its variants in the order of their numbers, each with its
/// parts and their names.
#[macro_export]
macro_rules! value_enum {
    ($type:ty { $($variant:ident { $($part:tt: $name:ident),* $(,)? }),* $(,)? }) => {
        impl $crate::Value for $type {
            fn write(&self, out: &mut $crate::Writer) {
                let mut number = 0_u8;
                $(
                    if let Self::$variant { $($part: $name),* } = self {
                        out.bytes(&[number]);
                        $($crate::Value::write($name, out);)*
                        return;
                    }
                    number += 1;
                )*
                let _ = number;
            }

            fn read(
                from: &mut $crate::Reader<'_>,
            ) -> ::core::result::Result<Self, $crate::StateError> {
                let number = <u8 as $crate::Value>::read(from)?;
                let mut next = 0_u8;
                $(
                    if number == next {
                        $(let $name = $crate::Value::read(from)?;)*
                        return Ok(Self::$variant { $($part: $name),* });
                    }
                    next += 1;
                )*
                let _ = next;
                Err($crate::StateError::Value(stringify!($type)))
            }
        }
    };
}

/// Implements [`Value`] for a struct of values.
#[macro_export]
macro_rules! value_struct {
    ($type:ty { $($part:tt: $name:ident),* $(,)? }) => {
        impl $crate::Value for $type {
            fn write(&self, out: &mut $crate::Writer) {
                let Self { $($part: $name),* } = self;
                $($crate::Value::write($name, out);)*
            }

            fn read(
                from: &mut $crate::Reader<'_>,
            ) -> ::core::result::Result<Self, $crate::StateError> {
                $(let $name = $crate::Value::read(from)?;)*
                Ok(Self { $($part: $name),* })
            }
        }
    };
}
