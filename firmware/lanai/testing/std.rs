//! The part of the standard library that tests use, on the LANai: `core`, `alloc`, their prelude, the start. There is one thread, and nothing
//! that needs an operating system.
#![no_std]
#![feature(lang_items)]
#![allow(internal_features)]

extern crate alloc as alloc_crate;

pub use alloc_crate::{borrow, boxed, collections, fmt, format, rc, slice, str, string, vec};
pub use core::{
    any, array, assert_eq, assert_ne, cell, clone, cmp, convert, debug_assert, debug_assert_eq,
    debug_assert_ne, default, hash, iter, marker, matches, mem, num, ops, option, panic, ptr,
    result, time, todo, unimplemented, unreachable, write, writeln,
};

/// Names that every module has.
pub mod prelude {
    /// Prelude of the edition 2024.
    pub mod rust_2024 {
        pub use alloc_crate::borrow::ToOwned;
        pub use alloc_crate::boxed::Box;
        pub use alloc_crate::string::{String, ToString};
        pub use alloc_crate::vec::Vec;
        pub use alloc_crate::{format, vec};
        pub use core::prelude::rust_2024::*;

        pub use crate::thread_local;
    }
}

/// Memory behind the image and its stack.
#[global_allocator]
static HEAP: lanai_rt::Heap = lanai_rt::Heap::new(0x20_0000, 0x800_0000);

#[doc(hidden)]
pub use lanai_rt::Local;

/// Values of the one thread.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $name:ident: $kind:ty = const { $value:expr };)*) => {
        $($(#[$attribute])* static $name: $crate::Local<$kind> = $crate::Local::new($value);)*
    };
}

/// The start of the program.
#[lang = "start"]
fn start<T>(main: fn() -> T, _: isize, _: *const *const u8, _: u8) -> isize {
    main();
    lanai_rt::stop()
}
