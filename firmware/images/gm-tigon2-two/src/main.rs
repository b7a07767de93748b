//! GM on both CPUs of the Tigon2: SDMA and SEND on CPU A, RECV and RDMA on CPU B.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use gm_tigon2_common::chip::Chip;
use gm_tigon2_common::gm::Gm;
use gm_tigon2_common::tigon2_hal::cpu::{A, B, start_b};
use gm_tigon2_common::tigon2_hal::{dma, entry_a, entry_b, event, fail, layout, mac, published};
use gm_tigon2_common::{LAYOUT, Receiver, Sender, events};

entry_a!(main);
entry_b!(main_b);
published!(all gm_tigon2_common::gm::PUBLISHED: 0 1 2 3 4 5 6 7 8 9 10 11);

mod sender {
    use super::*;
    use gm_tigon2_common::tigon2_hal::{dispatch, scratchpad_a};

    pub type Firmware = Gm<Chip<Sender>>;
    /// The firmware, after its start.
    type State = Option<Firmware>;

    dispatch! {
        fn start(cpu: A, state: State = None);
        TIMER => on_event,
        MAILBOX => on_event,
        READ_DMA_ATTENTION => on_read_attention,
        READ_DMA_DONE => on_event,
        SOFT_REPORTS => on_event,
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

    /// Handles events for ever.
    pub fn run(cpu: A, gm: Firmware) -> ! {
        event::set_mask(events::<Sender>());
        start(cpu, |state| *state = Some(gm))
    }
}

mod receiver {
    use super::*;
    use gm_tigon2_common::tigon2_hal::{dispatch, scratchpad_b};

    pub type Firmware = Gm<Chip<Receiver>>;
    type State = Option<Firmware>;

    dispatch! {
        fn start(cpu: B, state: State = None);
        TIMER => on_event,
        MAILBOX => on_event,
        WRITE_DMA_ATTENTION => on_write_attention,
        WRITE_DMA_DONE => on_event,
        RX_COMPLETE => on_event,
        SOFT_REPORTS => on_event,
    }

    scratchpad_b! {
        fn on_event(state: &mut State) {
            if let Some(gm) = state {
                // Posts too: after the events, until there is none.
                while gm.step() {}
            }
        }
    }

    fn on_write_attention(_: &mut State) {
        fail!("DMA write failed: no host memory");
    }

    /// Handles events for ever.
    pub fn run(cpu: B, gm: Firmware) -> ! {
        event::set_mask(events::<Receiver>());
        start(cpu, |state| *state = Some(gm))
    }
}

/// Without packets until the host has started the protocol.
#[cold]
fn await_start(gm: &mut sender::Firmware) {
    while !gm.is_started() {
        gm.step();
    }
}

fn main(cpu: A) -> ! {
    layout::initialise(&LAYOUT);
    dma::enable_assist();
    let mut gm = Gm::new(Chip::new());
    await_start(&mut gm);
    // The memory of both halves is prepared. Jobs for CPU B wait until it takes them.
    start_b(&cpu);
    mac::enable_fixed_link();
    sender::run(cpu, gm)
}

fn main_b(cpu: B) -> ! {
    receiver::run(cpu, Gm::new(Chip::new()))
}
