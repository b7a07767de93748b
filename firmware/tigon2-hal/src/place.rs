//! Placing what [`dispatch!`](crate::dispatch) does not place: functions and statics in a scratchpad,
//! and big tables in SRAM.

use core::cell::{Cell, UnsafeCell};

/// A static that is handed out once, as `&'static mut`: for tables too big for the scratchpad.
///
/// ```ignore
/// static RECORDS: Singleton<[Record; 64]> = Singleton::new([Record::EMPTY; 64]);
/// let records = RECORDS.take();
/// ```
/// An initial value of zeros costs no room in the image. For one CPU only: two CPUs that take the
/// same singleton at the same time are not told apart.
pub struct Singleton<T> {
    taken: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: `take` hands the value out once, and the type's rule names the CPU that does it.
unsafe impl<T> Sync for Singleton<T> {}

impl<T> Singleton<T> {
    /// Wraps the initial value.
    pub const fn new(value: T) -> Self {
        Self {
            taken: Cell::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, once.
    ///
    /// # Panics
    /// The second time.
    #[expect(
        clippy::mut_from_ref,
        reason = "it gives the one reference that there ever is, out of a shared static"
    )]
    pub fn take(&'static self) -> &'static mut T {
        assert!(!self.taken.replace(true), "a singleton was taken twice");
        // SAFETY: the flag was clear, so nobody else holds a reference.
        unsafe { &mut *self.value.get() }
    }
}

/// Places functions and statics in CPU A's scratchpad:
/// `scratchpad_a! { fn hot(x: u32) -> u32 { .. } static TABLE: [u32; 4] = [1, 2, 3, 4]; }`
///
/// A function that both CPUs use in their scratchpads is written once as `#[inline(always)]` and
/// placed twice, as two functions that call it.
#[macro_export]
macro_rules! scratchpad_a {
    ($($items:tt)*) => { $crate::__scratchpad! { ".scratch_a", $($items)* } };
}

/// Places functions and statics in CPU B's scratchpad; see [`scratchpad_a!`].
#[macro_export]
macro_rules! scratchpad_b {
    ($($items:tt)*) => { $crate::__scratchpad! { ".scratch_b", $($items)* } };
}

/// See [`scratchpad_a!`]: one item after the other.
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
        #[inline(never)]
        $visible fn $name $arguments $(-> $result)? $body
        $crate::__scratchpad! { $section, $($rest)* }
    };
}
