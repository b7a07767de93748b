//! GM on one CPU of the Tigon2: all machines on CPU A.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use gm_tigon2_common::chip::Chip;
use gm_tigon2_common::gm::Gm;
use gm_tigon2_common::tigon2_hal::cpu::A;
use gm_tigon2_common::tigon2_hal::{
    dispatch, dma, entry_a, event, fail, layout, mac, published, scratchpad_a,
};
use gm_tigon2_common::{AllMachines, LAYOUT, events};

type Firmware = Gm<Chip<AllMachines>>;
/// The firmware, after its start.
type State = Option<Firmware>;

entry_a!(main);
published!(all gm_tigon2_common::gm::PUBLISHED: 0 1 2 3 4 5 6 7 8 9 10 11);

dispatch! {
    fn run(cpu: A, state: State = None);
    TIMER => on_event,
    MAILBOX => on_event,
    READ_DMA_ATTENTION => on_read_attention,
    WRITE_DMA_ATTENTION => on_write_attention,
    READ_DMA_DONE => on_event,
    WRITE_DMA_DONE => on_event,
    RX_COMPLETE => on_event,
}

scratchpad_a! {
    fn on_event(state: &mut State) {
        if let Some(gm) = state {
            // Posts too: after the events, until there is none.
            while gm.step() || gm.nic().await_sent() {}
        }
    }
}

/// Halts the CPU, as an engine of the chip stops.
fn on_read_attention(_: &mut State) {
    fail!("DMA read failed: no host memory");
}

fn on_write_attention(_: &mut State) {
    fail!("DMA write failed: no host memory");
}

/// Without packets until the host has started the protocol.
#[cold]
fn await_start(gm: &mut Firmware) {
    while !gm.is_started() {
        gm.step();
    }
}

fn main(cpu: A) -> ! {
    layout::initialise(&LAYOUT);
    dma::enable_assist();
    let mut gm = Firmware::new(Chip::new());
    await_start(&mut gm);
    event::set_mask(events::<AllMachines>());
    mac::enable_fixed_link();
    run(cpu, |state| *state = Some(gm))
}
