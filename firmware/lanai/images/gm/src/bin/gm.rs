//! GM for LANai 7 and 9.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![forbid(unsafe_code)]

use defs::gm::layout::Layout;
use defs::gm::map::MORE_RECEIVE_BUFFER_COUNT;
use lanai_hal::entry;

#[path = "../chip.rs"]
mod chip;

entry!(main);

/// Receive buffers where collective operations are used.
const RECEIVE_COUNT: u32 = MORE_RECEIVE_BUFFER_COUNT;
/// Whether it reduces vectors.
const VECTORS: bool = false;
/// Places of its state, which limit the number of nodes.
const LAYOUT: Layout = Layout::USUAL;

fn main() -> ! {
    chip::run()
}
