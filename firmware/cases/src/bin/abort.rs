//! Ends by what the compiler makes of `core::intrinsics::abort`.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch, core_intrinsics)]
#![allow(internal_features)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    log!("before");
    if black_box(true) {
        core::intrinsics::abort();
    }
    rest()
}
