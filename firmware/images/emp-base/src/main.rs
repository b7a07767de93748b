//! EMP on one CPU: CPU A does everything, in the order of the chip's event priorities.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

mod nic;

use emp::nic::Arrival;
use emp::{Emp, Memory, RESERVED_BYTES, Tables};
use tigon2_hal::cpu::{self, A};
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::{Singleton, dispatch, dma, entry_a, event, log, mac, scratchpad_a, sram};

use nic::Tigon;

static TABLES: Singleton<Tables> = Singleton::new(Tables::new());

/// The engine, once the host has started it.
type State = Option<Emp<'static, Tigon>>;

const EVENTS: u32 = 1 << event::MAILBOX
    | 1 << event::READ_DMA_ATTENTION
    | 1 << event::WRITE_DMA_ATTENTION
    | 1 << event::READ_DMA_DONE
    | 1 << event::WRITE_DMA_DONE
    | 1 << event::RX_COMPLETE
    | 1 << event::SOFT_SEND;

dispatch! {
    fn run(cpu: A, state: State = None);
    TIMER => on_timer,
    MAILBOX => on_mailbox,
    READ_DMA_ATTENTION => on_read_attention,
    WRITE_DMA_ATTENTION => on_write_attention,
    READ_DMA_DONE => on_read_done,
    WRITE_DMA_DONE => on_write_done,
    RX_COMPLETE => on_receive,
    SOFT_SEND => on_send,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    layout::initialise(&Layout::DEFAULT);
    let base = sram::image_end();
    let end = base + RESERVED_BYTES;
    if end > Layout::DEFAULT.free_end() {
        log!("EMP needs memory up to {x}, beyond the rings", end);
        cpu::stop()
    }
    let mut emp = Emp::new(Tigon::new(), TABLES.take(), Memory::at(base));
    emp.publish();
    log!(
        "EMP ready: descriptors at {x}, memory used up to {x}",
        base,
        end
    );
    while !emp.poll_start() {}
    dma::enable_assist();
    mac::enable_fixed_link();
    event::set_mask(EVENTS);
    log!("EMP started");
    run(cpu, |state| *state = Some(emp))
}

/// A handler for the dispatch table: the loop starts with the engine in place.
macro_rules! handlers {
    ($($name:ident)*) => {
        $(fn $name(state: &mut State) {
            if let Some(emp) = state {
                emp.$name();
            }
        })*
    };
}

handlers! {
    on_timer on_read_attention on_write_attention on_read_done on_write_done on_send
}

fn on_mailbox(state: &mut State) {
    if let Some(emp) = state {
        emp.on_mailbox(post_transmit, post_receive);
    }
}

fn on_receive(state: &mut State) {
    if let Some(emp) = state {
        emp.on_receive(take_ack, take_frame);
    }
}

scratchpad_a! {
    fn post_transmit(emp: &mut Emp<'static, Tigon>) {
        emp.post_transmit();
    }

    fn post_receive(emp: &mut Emp<'static, Tigon>) {
        emp.post_receive();
    }

    fn take_ack(emp: &mut Emp<'static, Tigon>, arrival: Arrival) {
        emp.take_ack(arrival);
    }

    fn take_frame(emp: &mut Emp<'static, Tigon>, arrival: Arrival, type_kind: u32) {
        emp.take_frame(arrival, type_kind);
    }
}
