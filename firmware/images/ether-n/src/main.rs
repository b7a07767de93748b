//! Ethernet on one to eight CPUs of a board `tigon-n` (docs/nic-design.md).
//!
//! Any free CPU takes the next piece of work: some received frames for the host, some frames to send, or a fetch of descriptors. It claims
//! the piece under a lock ([`send`], [`receive`]), and describes it to the DMA channels and the MAC while others do the same with theirs. The
//! hardware gets pieces in their order ([`order`]).
//!
//! | what | who changes it |
//! |------|----------------|
//! | numbers of claimed frames, free places in the DMA rings | who has the lock of the claims of its direction |
//! | descriptors and words of a claimed piece | the CPU that has claimed it |
//! | producers of the rings, consumer of received descriptors | who releases a run of pieces |
//! | buffers' pointers | DMA channels and MAC |
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

mod cpu;
mod fetch;
mod map;
mod order;
mod receive;
mod send;

use defs::ethernet::{READY, READY_VALUE};
use tigon2_hal::cpu::{A, Any};
use tigon2_hal::{any, dma, entry_a, entry_any, layout, log, mac, published, sram};

entry_a!(main);
entry_any!(main_any);
published!("numbers of claims", map::SHARED, map::SHARED_WORDS);
published!("flags of sending", map::READ_FLAGS, map::PIECES);
published!("flags of receiving", map::WRITE_FLAGS, map::PIECES);
published!("mailbox of the send ring", map::SEND_MAILBOX, 1);
published!("mailbox of the receive ring", map::RECEIVE_MAILBOX, 1);

#[cold]
fn main(cpu: A) -> ! {
    let cpu = any::continue_on_any(cpu);
    layout::initialise(&map::LAYOUT);
    map::clear();
    dma::enable_assist();
    mac::enable_fixed_link();
    any::start_others(&cpu);
    log!("Ethernet started");
    sram::write(READY, READY_VALUE);
    main_any(cpu)
}

#[cold]
fn main_any(_: Any) -> ! {
    cpu::run(&cpu::Cpu::new())
}
