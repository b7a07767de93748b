//! Records: words in a memory that have names and types.
//!
//! Firmware keeps its state in words of a board's memory. A record gives a group of them a type: the macro
//! [`record!`](crate::record!) defines a type that holds only an address, with a method that reads and one that writes each word;
//! [`words!`](crate::words!) does so for words at constant addresses.
//! An offset stands in the record and nowhere else; an access is one load or store at a constant offset.
//!
//! ```
//! use defs::record::Memory;
//!
//! defs::record! {
//!     /// A barrier of a port.
//!     pub struct Barrier {
//!         /// Children whose packets have not come.
//!         left, set_left: u32 = 0;
//!         /// Whether the host knows that the barrier is complete.
//!         is_told, set_told: bool = 4;
//!         /// Endpoints of the children.
//!         [child, set_child]: u32 = 8;
//!         /// The barrier that follows.
//!         next => Barrier = 40;
//!     }
//! }
//!
//! fn child_came(memory: &mut impl Memory, barrier: Barrier) {
//!     let left = barrier.left(memory) - 1;
//!     barrier.set_left(memory, left);
//!     if left == 0 && !barrier.is_told(memory) {
//!         barrier.set_told(memory, true);
//!     }
//! }
//!
//! # struct Words([u32; 64]);
//! # impl Memory for Words {
//! #     fn load(&self, address: u32) -> u32 {
//! #         self.0[address as usize / 4]
//! #     }
//! #     fn store(&mut self, address: u32, value: u32) {
//! #         self.0[address as usize / 4] = value;
//! #     }
//! # }
//! let mut memory = Words([0; 64]);
//! let barrier = Barrier::at(16).next();
//! barrier.set_left(&mut memory, 1);
//! barrier.set_child(&mut memory, 1, 7);
//! child_came(&mut memory, barrier);
//! assert_eq!(memory.0[14..18], [0, 1, 0, 7]);
//! ```

/// A memory of words of 32 bits at multiples of 4.
pub trait Memory {
    /// Reads the word at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word at `address`.
    fn store(&mut self, address: u32, value: u32);
}

/// A type that a word of memory can have.
pub trait Word: Copy {
    /// The value that a word stands for.
    fn from_word(word: u32) -> Self;
    /// The word that stands for the value.
    fn into_word(self) -> u32;
}

impl Word for u32 {
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word
    }

    #[inline(always)]
    fn into_word(self) -> u32 {
        self
    }
}

impl Word for bool {
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word != 0
    }

    #[inline(always)]
    fn into_word(self) -> u32 {
        u32::from(self)
    }
}

/// Defines a record: a type that holds the address of words with names ([`record`](mod@crate::record)).
///
/// | form | methods |
/// |------|---------|
/// | `name, set_name: Type = OFFSET;` | `name(memory)`, `set_name(memory, value)` |
/// | `name: Type = OFFSET;` | `name(memory)`; another side writes the word |
/// | `name, set_name, NAME: Type = OFFSET;` | these, and the constant `NAME`: the offset, for lists and for `write` |
/// | `[name]: Type = OFFSET;` | `name(memory, index)`: words one after another |
/// | `[name, set_name]: Type = OFFSET;` | `name(memory, index)`, `set_name(memory, index, value)` |
/// | `name => Record = OFFSET;` | `name()`: a record inside this one |
/// | `name[SHIFT] => Record = OFFSET;` | `name(index)`: records inside this one, 2^SHIFT bytes each |
///
/// A `Type` is a [`Word`]: a number, a `bool`, or a record, whose address the word has. A record at address 0 is
/// none.
#[macro_export]
macro_rules! record {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility struct $name(u32);

        #[allow(dead_code, reason = "not every record needs every method")]
        impl $name {
            /// No record.
            $visibility const NONE: Self = Self(0);

            /// The record at an address.
            #[inline(always)]
            #[must_use]
            $visibility const fn at(address: u32) -> Self {
                Self(address)
            }

            /// Address of the first word.
            #[inline(always)]
            #[must_use]
            $visibility const fn address(self) -> u32 {
                self.0
            }

            /// Writes several words, each given by its offset.
            #[inline(always)]
            $visibility fn write<const WORDS: usize>(
                self,
                memory: &mut impl $crate::record::Memory,
                words: [(u32, u32); WORDS],
            ) {
                for (word, value) in words {
                    memory.store(self.0 + word, value);
                }
            }

            /// Whether there is no record.
            #[inline(always)]
            #[must_use]
            $visibility const fn is_none(self) -> bool {
                self.0 == 0
            }

            /// Whether there is a record.
            #[inline(always)]
            #[must_use]
            $visibility const fn is_some(self) -> bool {
                self.0 != 0
            }
        }

        impl $name {
            $crate::record! { @fields $visibility, $($fields)* }
        }

        impl $crate::record::Word for $name {
            #[inline(always)]
            fn from_word(word: u32) -> Self {
                Self(word)
            }

            #[inline(always)]
            fn into_word(self) -> u32 {
                self.0
            }
        }
    };
    (@fields $visibility:vis,) => {};
    (@fields $visibility:vis, $(#[$attribute:meta])* $get:ident, $set:ident: $type:ty = $offset:expr; $($rest:tt)*) => {
        $crate::record! { @get $visibility, $(#[$attribute])* $get $type, $offset }

        #[doc = concat!("Writes [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        #[inline(always)]
        $visibility fn $set(self, memory: &mut impl $crate::record::Memory, value: $type) {
            memory.store(self.0 + ($offset), <$type as $crate::record::Word>::into_word(value));
        }

        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@fields $visibility:vis, $(#[$attribute:meta])* $get:ident, $set:ident, $word:ident: $type:ty = $offset:expr; $($rest:tt)*) => {
        $crate::record! { @fields $visibility, $(#[$attribute])* $get, $set: $type = $offset; }

        #[doc = concat!("Offset of [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        $visibility const $word: u32 = $offset;

        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@fields $visibility:vis, $(#[$attribute:meta])* $get:ident: $type:ty = $offset:expr; $($rest:tt)*) => {
        $crate::record! { @get $visibility, $(#[$attribute])* $get $type, $offset }
        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@fields $visibility:vis, $(#[$attribute:meta])* [$get:ident, $set:ident]: $type:ty = $offset:expr; $($rest:tt)*) => {
        $crate::record! { @fields $visibility, $(#[$attribute])* [$get]: $type = $offset; }

        #[doc = concat!("Writes [`", stringify!($get), "`](Self::", stringify!($get), ").")]
        #[inline(always)]
        $visibility fn $set(self, memory: &mut impl $crate::record::Memory, index: u32, value: $type) {
            let word = <$type as $crate::record::Word>::into_word(value);
            memory.store(self.0 + ($offset) + (index << 2), word);
        }

        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@fields $visibility:vis, $(#[$attribute:meta])* [$get:ident]: $type:ty = $offset:expr; $($rest:tt)*) => {
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        $visibility fn $get(self, memory: &impl $crate::record::Memory, index: u32) -> $type {
            <$type as $crate::record::Word>::from_word(memory.load(self.0 + ($offset) + (index << 2)))
        }

        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@fields $visibility:vis, $(#[$attribute:meta])* $part:ident => $type:ty = $offset:expr; $($rest:tt)*) => {
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        $visibility const fn $part(self) -> $type {
            <$type>::at(self.0 + ($offset))
        }

        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@fields $visibility:vis, $(#[$attribute:meta])* $part:ident[$shift:expr] => $type:ty = $offset:expr; $($rest:tt)*) => {
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        $visibility const fn $part(self, index: u32) -> $type {
            <$type>::at(self.0 + ($offset) + (index << ($shift)))
        }

        $crate::record! { @fields $visibility, $($rest)* }
    };
    (@get $visibility:vis, $(#[$attribute:meta])* $get:ident $type:ty, $offset:expr) => {
        $(#[$attribute])*
        #[inline(always)]
        #[must_use]
        $visibility fn $get(self, memory: &impl $crate::record::Memory) -> $type {
            <$type as $crate::record::Word>::from_word(memory.load(self.0 + ($offset)))
        }
    };
}

/// Defines words at constant addresses: methods of the firmware that owns the memory.
///
/// | form | what there is |
/// |------|---------------|
/// | `name: Type = ADDRESS;` | `name()`; another side writes the word |
/// | `name, set_name: Type = ADDRESS;` | `name()`, `set_name(value)` |
/// | `name, set_name, NAME: Type = ADDRESS;` | these, and the constant `NAME`: the address, for lists that begin there |
///
/// The first line names the type, which implements [`Memory`], with its parameter: `impl Gm<N: Nic>;`.
#[macro_export]
macro_rules! words {
    (
        impl $owner:ident<$parameter:ident: $bound:ident>;
        $($(#[$attribute:meta])* $get:ident $(, $set:ident $(, $address:ident)?)?: $type:ty = $place:expr;)*
    ) => {
        #[allow(dead_code, reason = "some words are only read, or only written")]
        impl<$parameter: $bound> $owner<$parameter> {
            $(
                $(#[$attribute])*
                #[inline(always)]
                pub(crate) fn $get(&self) -> $type {
                    <$type as $crate::record::Word>::from_word($crate::record::Memory::load(self, $place))
                }

                $(
                    #[doc = concat!("Writes [`", stringify!($get), "`](Self::", stringify!($get), ").")]
                    #[inline(always)]
                    pub(crate) fn $set(&mut self, value: $type) {
                        let word = <$type as $crate::record::Word>::into_word(value);
                        $crate::record::Memory::store(self, $place, word);
                    }
                )?
            )*
        }

        $($($(
            #[doc = concat!("Address of the word `", stringify!($get), "`.")]
            pub const $address: u32 = $place;
        )?)?)*
    };
}
