//! Reads an array at an index that the host may write above the stack (at `0x3_F000`); without one it reads beyond the array, and panics.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![forbid(unsafe_code)]

use lanai_hal::{Register, entry, log, stop};

entry!(main);

fn main() -> ! {
    let squares: [u32; 8] = core::array::from_fn(|index| (index * index) as u32);
    let index = match Register::shared(0).read() {
        0 => 8,
        index => index,
    };
    log!("square of {} (entry {x})", index, index);
    Register::shared(1).write(squares[index as usize]);
    stop()
}
