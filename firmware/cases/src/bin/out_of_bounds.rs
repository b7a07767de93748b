//! Reads behind the end of an array: a panic.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let lengths = black_box([64u32, 128, 256]);
    let index = black_box(5usize);
    log!("length {}", lengths[index]);
    rest()
}
