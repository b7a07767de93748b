//! FM's control program for the LANai 4: the protocol of `firmware/fm` on the chip's engines.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![forbid(unsafe_code)]

mod chip;

use lanai_hal::entry;

entry!(main);

fn main() -> ! {
    chip::run::<true>()
}
