//! FM's control program for the LANai 4 without multi-sends: for measurements of what they cost other packets.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![forbid(unsafe_code)]

#[path = "../../fm/src/chip.rs"]
mod chip;

use lanai_hal::entry;

entry!(main);

fn main() -> ! {
    chip::run::<false>()
}
