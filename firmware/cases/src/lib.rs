//! Programs that go wrong, or that compute with all of Rust. Each file in `bin` is one program, for both boards; the table in
//! `testbench/command/tests/cases` says what each must give.
//!
//! Programs break rules on purpose, so `unsafe` is allowed in them.
#![no_std]

pub mod operands;

pub use core::hint::black_box;
/// The hardware abstraction of the board for which the program is built.
pub use hal;
pub use hal::{fail, log};

/// Makes `$main` the program that the board starts: a function without arguments that does not return.
#[cfg(feature = "tigon2")]
#[macro_export]
macro_rules! case {
    ($main:ident) => {
        $crate::hal::entry_a!(start);
        fn start(_: $crate::hal::cpu::A) -> ! {
            $main()
        }
    };
}

/// Makes `$main` the program that the board starts: a function without arguments that does not return.
#[cfg(not(feature = "tigon2"))]
#[macro_export]
macro_rules! case {
    ($main:ident) => {
        $crate::hal::entry!($main);
    };
}

/// Ends a program that has nothing left to do.
pub fn rest() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
