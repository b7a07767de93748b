//! State: what changes while a world runs, apart from what it is made of.
//!
//! A world is built from a description: boards, images, costs, cables, programs. What happens in it changes its
//! *state*. Every block lists the parts of its state once ([`state!`](crate::state!)), by name and beside the parts that are
//! fixed, so that the compiler finds one that was forgotten. The state is saved as bytes, and loaded into a world that was built
//! from the same description. Bytes carry a mark for each block, which follows from the names of its parts: state of
//! another version is recognised.
//!
//! * [`State`]: a block, which is there and takes its state up again;
//! * [`Value`]: what can be made from bytes alone: numbers, events, frames.

mod memory;
mod value;

use std::sync::Arc;

pub use memory::{load_memory, save_memory};

/// Bytes of a [`Page`].
pub const PAGE_BYTES: usize = 4096;

/// A page of memory, which states can share. Whoever writes to it while others have it gets one of his own.
pub type Page = Arc<[u8; PAGE_BYTES]>;

/// Why a state could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes end too early.
    #[error("the saved state ends within {0}")]
    Truncated(&'static str),
    /// Something else stands there.
    #[error("the saved state does not fit this version: there is no {0} where one should be")]
    Layout(&'static str),
    /// A value that cannot be.
    #[error("the saved state holds an impossible value of {0}")]
    Value(&'static str),
    /// The world is made of other things.
    #[error("the saved state is of another world: it has {saved} {what}, this one {here}")]
    Shape {
        /// Of what.
        what: &'static str,
        /// The number in the saved state.
        saved: usize,
        /// The number in the world.
        here: usize,
    },
    /// What host programs were told was not kept.
    #[error("{0} cannot be saved: what it was told was not kept from its start on")]
    NoLog(String),
    /// A program did something else than when the state was saved.
    #[error("{0} does not do again what it did before the state was saved")]
    Diverged(String),
}

/// Takes state as bytes.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// Pages of memory that are shared with those who have them, instead of their bytes.
    pages: Option<Vec<Page>>,
}

impl Writer {
    /// One that shares pages of memory: they take no room and no time as long as nobody writes to them.
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

    /// The bytes so far, and the pages that are shared.
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

/// Gives back what a [`Writer`] took.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    pages: Option<&'a [Page]>,
}

impl<'a> Reader<'a> {
    /// Reads from the beginning.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pages: None }
    }

    /// Reads what one took that [shares](Writer::sharing) pages.
    #[must_use]
    pub const fn sharing(bytes: &'a [u8], pages: &'a [Page]) -> Self {
        let pages = Some(pages);
        Self { bytes, pages }
    }

    /// The next page of memory.
    ///
    /// # Errors
    /// If there is none; `what` names what it belongs to.
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
    /// If there are fewer; `what` names what they belong to.
    pub fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], StateError> {
        let (bytes, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(StateError::Truncated(what))?;
        self.bytes = rest;
        Ok(bytes)
    }

    /// The mark of a block must stand here.
    ///
    /// # Errors
    /// If another one does.
    pub fn expect(&mut self, mark: u32, what: &'static str) -> Result<(), StateError> {
        if self.take(4, what)? == mark.to_le_bytes() {
            Ok(())
        } else {
            Err(StateError::Layout(what))
        }
    }

    /// So many items cannot be there if fewer bytes are left: whoever makes room for them need not fear it.
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

/// A block that can give its state away and take it up again.
pub trait State {
    /// Saves the state.
    fn save(&self, out: &mut Writer);

    /// Takes up a saved state.
    ///
    /// # Errors
    /// If that is not the state of such a block; what the block is like then is not specified.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;
}

/// Something that can be made from its bytes.
pub trait Value: Sized {
    /// Saves it.
    fn write(&self, out: &mut Writer);

    /// Makes it.
    ///
    /// # Errors
    /// If the bytes are not those of such a value.
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

/// Saves blocks whose number is fixed.
pub fn save_all<'a, T: State + 'a>(blocks: impl ExactSizeIterator<Item = &'a T>, out: &mut Writer) {
    blocks.len().write(out);
    for block in blocks {
        block.save(out);
    }
}

/// Loads blocks whose number is fixed.
///
/// # Errors
/// If their number or one of them does not fit.
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

/// The mark of a block: a hash (FNV-1a) of the names of its parts.
#[must_use]
pub const fn mark(names: &str) -> u32 {
    let (names, mut hash, mut at) = (names.as_bytes(), 0x811C_9DC5_u32, 0);
    while at < names.len() {
        // The same text, however it is laid out.
        if !names[at].is_ascii_whitespace() {
            hash = (hash ^ names[at] as u32).wrapping_mul(0x0100_0193);
        }
        at += 1;
    }
    hash
}

/// The state of a block: its parts that change, in the order in which they are saved; after `lists` those that are a fixed number
/// of blocks; after `fixed` those that do not change.
///
/// ```
/// # use emulator::{state, state::{Reader, State, Writer}};
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
        impl $crate::state::State for $type {
            fn save(&self, out: &mut $crate::state::Writer) {
                const MARK: u32 =
                    $crate::state::mark(stringify!($type, $($part),* $($(, $list)*)?));
                let Self { $($part,)* $($($list,)*)? $($($fixed: _,)*)? } = self;
                out.mark(MARK);
                $($crate::state::State::save($part, out);)*
                $($($crate::state::save_all($list.iter(), out);)*)?
            }

            fn load(
                &mut self,
                from: &mut $crate::state::Reader<'_>,
            ) -> ::core::result::Result<(), $crate::state::StateError> {
                const MARK: u32 =
                    $crate::state::mark(stringify!($type, $($part),* $($(, $list)*)?));
                let Self { $($part,)* $($($list,)*)? $($($fixed: _,)*)? } = self;
                from.expect(MARK, stringify!($type))?;
                $($crate::state::State::load($part, from)?;)*
                $($($crate::state::load_all(stringify!($list), $list.iter_mut(), from)?;)*)?
                Ok(())
            }
        }
    };
}

/// An enum all of whose parts are values: its variants in the order of their numbers, each with its parts and a name
/// for each of them.
#[macro_export]
macro_rules! value_enum {
    ($type:ty { $($variant:ident { $($part:tt: $name:ident),* $(,)? }),* $(,)? }) => {
        impl $crate::state::Value for $type {
            fn write(&self, out: &mut $crate::state::Writer) {
                let mut number = 0_u8;
                $(
                    if let Self::$variant { $($part: $name),* } = self {
                        out.bytes(&[number]);
                        $($crate::state::Value::write($name, out);)*
                        return;
                    }
                    number += 1;
                )*
                let _ = number;
            }

            fn read(
                from: &mut $crate::state::Reader<'_>,
            ) -> ::core::result::Result<Self, $crate::state::StateError> {
                let number = <u8 as $crate::state::Value>::read(from)?;
                let mut next = 0_u8;
                $(
                    if number == next {
                        $(let $name = $crate::state::Value::read(from)?;)*
                        return Ok(Self::$variant { $($part: $name),* });
                    }
                    next += 1;
                )*
                let _ = next;
                Err($crate::state::StateError::Value(stringify!($type)))
            }
        }
    };
}

/// A struct all of whose parts are values.
#[macro_export]
macro_rules! value_struct {
    ($type:ty { $($part:tt: $name:ident),* $(,)? }) => {
        impl $crate::state::Value for $type {
            fn write(&self, out: &mut $crate::state::Writer) {
                let Self { $($part: $name),* } = self;
                $($crate::state::Value::write($name, out);)*
            }

            fn read(
                from: &mut $crate::state::Reader<'_>,
            ) -> ::core::result::Result<Self, $crate::state::StateError> {
                $(let $name = $crate::state::Value::read(from)?;)*
                Ok(Self { $($part: $name),* })
            }
        }
    };
}
