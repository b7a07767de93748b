//! A zeroed table larger than the memory.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a static that changes needs it")]

use cases::{black_box, case, log, rest};

case!(main);

static mut TABLE: [u32; 600_000] = [0; 600_000];

fn main() -> ! {
    let table = &raw mut TABLE;
    // SAFETY: one CPU runs this program.
    unsafe { (*table)[black_box(5)] = 3 };
    // SAFETY: as above.
    log!("word {x}", unsafe { (*table)[black_box(5)] });
    rest()
}
