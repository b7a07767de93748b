//! GM on both CPUs of the Tigon2: RECV and RDMA on CPU A, SDMA and SEND on CPU B under a lock ([`lend`]). CPU A takes it for each step
//! of a collective operation and makes the step itself.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use gm_tigon2_common::chip::Chip;
use gm_tigon2_common::gm::Gm;
use gm_tigon2_common::lend::{self, Lender, Receiver};
use gm_tigon2_common::tigon2_hal::cpu::{A, B, start_b};
use gm_tigon2_common::tigon2_hal::{dma, entry_a, entry_b, event, fail, layout, mac, published};
use gm_tigon2_common::{LAYOUT, events};

entry_a!(main);
entry_b!(main_b);
published!(all gm_tigon2_common::gm::PUBLISHED: 0 1 2 3 4 5 6 7 8 9 10 11);
published!(all lend::LOCK: 0);

mod sender {
    use super::*;
    use gm_tigon2_common::tigon2_hal::{dispatch, scratchpad_b};

    pub type Firmware = Gm<Chip<Lender>>;
    /// The firmware, after its start.
    type State = Option<Firmware>;

    dispatch! {
        fn start(cpu: B, state: State = None);
        TIMER => on_event,
        MAILBOX => on_event,
        READ_DMA_ATTENTION => on_read_attention,
        READ_DMA_DONE => on_event,
        SOFT_REPORTS => on_event,
    }

    scratchpad_b! {
        fn on_event(state: &mut State) {
            if let Some(gm) = state {
                // Posts too: after the events, until there is none.
                while lend::step(|| gm.step()) || gm.nic().await_sent() {}
            }
        }
    }

    /// Halts the CPU, as an engine of the chip stops.
    fn on_read_attention(_: &mut State) {
        fail!("DMA read failed: no host memory");
    }

    /// Handles events for ever.
    pub fn run(cpu: B, gm: Firmware) -> ! {
        event::set_mask(events::<Lender>());
        start(cpu, |state| *state = Some(gm))
    }
}

mod receiver {
    use super::*;
    use gm_tigon2_common::tigon2_hal::{dispatch, scratchpad_a};

    pub type Firmware = Gm<Chip<Receiver>>;
    type State = Option<Firmware>;

    dispatch! {
        fn start(cpu: A, state: State = None);
        TIMER => on_event,
        MAILBOX => on_event,
        WRITE_DMA_ATTENTION => on_write_attention,
        WRITE_DMA_DONE => on_event,
        RX_COMPLETE => on_event,
        SOFT_REPORTS => on_event,
    }

    scratchpad_a! {
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
    pub fn run(cpu: A, gm: Firmware) -> ! {
        event::set_mask(events::<Receiver>());
        start(cpu, |state| *state = Some(gm))
    }
}

/// Without packets until the host has started the protocol. CPU A prepares the memory of both halves.
#[cold]
fn await_start() {
    let mut gm = sender::Firmware::new(Chip::new());
    while !gm.is_started() {
        gm.step();
    }
}

fn main(cpu: A) -> ! {
    layout::initialise(&LAYOUT);
    dma::enable_assist();
    lend::prepare();
    await_start();
    // Jobs for a CPU wait until it takes them.
    start_b(&cpu);
    mac::enable_fixed_link();
    receiver::run(cpu, Gm::new(Chip::new()))
}

fn main_b(cpu: B) -> ! {
    sender::run(cpu, Gm::attach(Chip::new()))
}
