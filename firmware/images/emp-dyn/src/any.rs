//! EMP with dynamic scheduling on one to eight CPUs of a board `tigon-n`: as `main.rs` has it for two. All CPUs execute one copy of the code,
//! each in its scratchpad.
//!
//! | what | who owns it |
//! |------|-------------|
//! | events of mailboxes | CPU A's register is the sender's, CPU B's the matcher's; those of the others tell their CPUs that there is mail |
//! | the timer's references | that of CPU A is the sender's, that of CPU B the matcher's; with one CPU that of CPU A serves both ([`board`]) |
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

#[macro_use]
mod event_loop;

#[path = "any_cpus.rs"]
mod board;
mod chip;
mod queues;
mod roles;

use emp_common::queues::SHARED_ROUTES;
use tigon2_hal::any;
use tigon2_hal::cpu::{A, Any, Executing};
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::{dma, entry_a, entry_any, event, fail, log, mac, published, semaphore, sram};

entry_a!(main);
entry_any!(main_any);
published!(all queues::PUBLISHED: 0 1 2 3 4 5 6 7 8 9);
published!(all SHARED_ROUTES: 0 1 2 behind "__image_end");

#[cold]
fn main(cpu: A) -> ! {
    let cpu = any::continue_on_any(cpu);
    layout::initialise(&Layout::DEFAULT);
    let base = sram::image_end();
    let end = base + emp::RESERVED_BYTES;
    if end > queues::BASE || !board::has_memory() {
        fail!("EMP on any number of CPUs needs 1 MB of SRAM")
    }
    queues::reset();
    board::reset_timers();
    roles::start(base, end);
    any::start_others(&cpu);
    dma::enable_assist();
    mac::enable_fixed_link();
    log!("EMP started");
    main_any(cpu)
}

#[cold]
fn main_any(cpu: Any) -> ! {
    semaphore::locked_at(Any::semaphore(), || any::raise(event::SOFT_AGAIN));
    cpu_any::run(cpu, roles::EVENTS)
}

event_loop!(
    cpu_any,
    Any,
    scratchpad_n,
    crate::board::on_timer(sender, matcher)
);
