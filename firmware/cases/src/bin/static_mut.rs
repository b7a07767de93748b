//! Statics that change.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a static that changes needs it")]

use cases::{black_box, case, log, rest};

case!(main);

static mut COUNT: u32 = 5;
static mut LARGE: [u32; 1000] = [0; 1000];
static TABLE: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn main() -> ! {
    // SAFETY: one CPU runs this program, and no reference to the statics stays.
    unsafe {
        COUNT += 1;
        let large = &raw mut LARGE;
        (*large)[black_box(3)] = 7;
        log!(
            "static {} {} {}",
            COUNT,
            (*large)[black_box(3)],
            TABLE[black_box(7)]
        );
    }
    rest()
}
