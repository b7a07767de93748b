//! Panics in `expect`, with a text.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let entry: Option<u32> = black_box(None);
    log!("before");
    log!("entry {}", entry.expect("no descriptor is free"));
    rest()
}
