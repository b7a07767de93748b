//! A loop without an end.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    log!("before");
    while black_box(true) {}
    log!("after");
    rest()
}
