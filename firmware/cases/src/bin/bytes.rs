//! Copies and comparisons of bytes.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let (a, b) = (
        black_box([1u8, 2, 3, 4, 5, 6, 7]),
        black_box([1u8, 2, 3, 4, 5, 6, 8]),
    );
    log!("equal {} less {}", u32::from(a == b), u32::from(a < b));
    let mut c = [0u8; 33];
    c[black_box(1)..black_box(8)].copy_from_slice(&a);
    c.copy_within(0..20, 3);
    log!(
        "bytes {x} {x}",
        u32::from_be_bytes([c[3], c[4], c[5], c[6]]),
        u32::from_le_bytes([c[3], c[4], c[5], c[6]])
    );
    rest()
}
