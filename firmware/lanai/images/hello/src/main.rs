//! Computes without any device, stores the results above the stack (at `0x3_F000`) and stops.
//!
//! The first two shared words are input, which a host may write before the start; a mark and the results follow. Tests compare
//! these with the same computation on the machine that made the image.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use lanai_rt::{Register, entry, stop};

mod work;

entry!(main);

/// Tells that the results are complete.
const DONE: u32 = 0x600D_600D;

fn main() -> ! {
    let (a, b) = (Register::shared(0).read(), Register::shared(1).read());
    for (index, result) in (3..).zip(work::results(a, b)) {
        Register::shared(index).write(result);
    }
    Register::shared(2).write(DONE);
    stop()
}
