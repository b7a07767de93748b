//! A match that becomes a table.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn weight(kind: u32) -> u32 {
    match kind {
        0 => 17,
        1 => 4,
        2 => 99,
        3 => 1,
        4 => 8,
        5 => 31,
        6 => 77,
        7 => 3,
        8 => 1000,
        9 => 5,
        10 => 66,
        11 => 12,
        _ => 0,
    }
}

fn turn(kind: u32, value: &mut u32) {
    match kind {
        0 => *value += 1,
        1 => *value ^= 7,
        2 => *value <<= 3,
        3 => *value -= 1,
        4 => *value |= 0x100,
        5 => *value = !*value,
        6 => *value >>= 2,
        7 => log!("seven"),
        _ => {}
    }
}

fn main() -> ! {
    let (mut sum, mut value) = (0, 1);
    for kind in 0..20 {
        sum += weight(black_box(kind));
        turn(black_box(kind), &mut value);
    }
    log!("match {} {}", sum, value);
    rest()
}
