//! Placement of functions and statics in a scratchpad, and of big tables in SRAM, in addition to
//! [`dispatch!`](crate::dispatch).

use core::cell::{Cell, UnsafeCell};

/// A static that can be taken once, as `&'static mut`: for tables too big for the scratchpad.
///
/// ```ignore
/// static RECORDS: Singleton<[Record; 64]> = Singleton::new([Record::EMPTY; 64]);
/// let records = RECORDS.take();
/// ```
/// A zero initial value needs no space in the image. Use each singleton on one CPU only: concurrent calls
/// of `take` by two CPUs are not detected.
pub struct Singleton<T> {
    taken: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `take` returns the value once, and the type's rule allows one CPU only.
unsafe impl<T> Sync for Singleton<T> {}

impl<T> Singleton<T> {
    /// Wraps the initial value.
    pub const fn new(value: T) -> Self {
        Self {
            taken: Cell::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the value.
    ///
    /// # Panics
    /// At the second call.
    #[expect(
        clippy::mut_from_ref,
        reason = "it returns the only reference to a shared static"
    )]
    pub fn take(&'static self) -> &'static mut T {
        assert!(!self.taken.replace(true), "a singleton was taken twice");
        // SAFETY: the flag was clear, so no other reference exists.
        unsafe { &mut *self.value.get() }
    }
}

/// Places functions and statics in CPU A's scratchpad:
/// `scratchpad_a! { fn hot(x: u32) -> u32 { .. } static TABLE: [u32; 4] = [1, 2, 3, 4]; }`
///
/// Write a function that both CPUs use in their scratchpads once, as `#[inline(always)]`, and place two
/// functions that call it.
#[macro_export]
macro_rules! scratchpad_a {
    ($($items:tt)*) => { $crate::__scratchpad! { ".scratch_a", $($items)* } };
}

/// Places functions and statics in CPU B's scratchpad; see [`scratchpad_a!`].
#[macro_export]
macro_rules! scratchpad_b {
    ($($items:tt)*) => { $crate::__scratchpad! { ".scratch_b", $($items)* } };
}

/// Places functions and statics in the scratchpads of all CPUs, in an image for any number of them ([`any`](crate::any)): each has a
/// copy, of statics too.
#[macro_export]
macro_rules! scratchpad_n {
    ($($items:tt)*) => { $crate::__scratchpad! { ".scratch_n", $($items)* } };
}

/// Implements [`scratchpad_a!`], one item at a time.
#[doc(hidden)]
#[macro_export]
#[allow_internal_unsafe]
macro_rules! __scratchpad {
    ($section:literal,) => {};
    ($section:literal, $(#[$meta:meta])* $visible:vis static $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $(#[$meta])*
        #[unsafe(link_section = concat!($section, ".data"))]
        $visible static $name: $type = $value;
        $crate::__scratchpad! { $section, $($rest)* }
    };
    ($section:literal, $(#[$meta:meta])* $visible:vis fn $name:ident $arguments:tt $(-> $result:ty)? $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[unsafe(link_section = concat!($section, ".text"))]
        #[inline(never)] // Inlined, it would be in the section of its caller.
        $visible fn $name $arguments $(-> $result)? $body
        $crate::__scratchpad! { $section, $($rest)* }
    };
}
