//! A line whose arguments are constants, 0 among them: a register that always holds 0 may stand for it.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    log!("sum {} {x}", 0, black_box(42_u32));
    log!("zeros {} {} {x} {}", 0, 0, 0, 0);
    log!("end {} {}", 7, 0);
    rest()
}
