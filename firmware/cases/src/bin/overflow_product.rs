//! A product overflows, in a function that multiplies and divides.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

#[inline(never)] // A function of its own in the backtrace.
fn weigh(count: u32, weight: u32) -> u32 {
    let share = black_box(weight / count);
    share + count * weight
}

#[inline(never)] // A function of its own in the backtrace.
fn total(count: u32) -> u32 {
    let first = weigh(count, black_box(2));
    let second = weigh(count, black_box(u32::MAX / 10));
    first ^ (second * black_box(1))
}

fn main() -> ! {
    log!("before");
    let sum = total(black_box(1000));
    log!("sum {}", sum);
    rest()
}
