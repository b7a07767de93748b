//! EMP on two CPUs, with dynamic scheduling: any free CPU takes the next event (thesis, section 4.3).
//!
//! | what | who owns it |
//! |------|-------------|
//! | an engine: a role of [`emp::roles`] with its records, its part of the hardware, its ends of queues | the CPU that has claimed it ([`roles`]), for one handler |
//! | a lane of a queue between roles ([`queues`]) | one role at either end |
//! | a software event: the same bit of both event registers ([`chip`]) | changed under the semaphore only |
//! | events of DMA, MAC, mailboxes | both CPUs see them: who has the role takes them |
//! | the timer's references | that of CPU A is the sender's, that of CPU B the matcher's: the chip shows each CPU its own only |
//! | event mask, stack, event loop | each CPU has its own ([`cpu_a`], [`cpu_b`]) |
//!
//! A CPU takes the highest event that it sees and claims the event's role. If the other CPU has the role, it masks the role's events and goes
//! on with others. The mask ends with the next event that it handles, or, by the event below all others, when it sees no other one: all
//! events are levels, so none is lost.
//!
//! No handler waits for another role. A job that must wait stays in its queue, and its event stays raised: so the events of who makes room
//! in a queue are above those of who waits for room.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

#[macro_use]
mod event_loop;

#[path = "two_cpus.rs"]
mod board;
mod chip;
mod queues;
mod roles;

use emp_common::queues::SHARED_ROUTES;
use tigon2_hal::cpu::{self, A, B};
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::{dma, entry_a, entry_b, event, fail, log, mac, published, semaphore, sram};

entry_a!(main);
entry_b!(main_b);
published!(all queues::PUBLISHED: 0 1 2 3 4 5 6 7 8 9);
published!(all SHARED_ROUTES: 0 1 2 behind "__image_end");

#[cold]
fn main(cpu: A) -> ! {
    // CPU B copies its scratchpad's part from memory that EMP uses later.
    cpu::start_b(&cpu);
    while !event::is_raised::<A>(event::SOFT_AGAIN) {}
    layout::initialise(&Layout::DEFAULT);
    let base = sram::image_end();
    let end = base + emp::RESERVED_BYTES;
    if end > queues::BASE {
        fail!("EMP needs memory up to {x}, beyond what is free", end)
    }
    queues::reset();
    roles::start(base, end);
    semaphore::locked::<A, _>(|| event::raise::<B>(event::SOFT_AGAIN));
    dma::enable_assist();
    mac::enable_fixed_link();
    log!("EMP started");
    cpu_a::run(cpu, roles::EVENTS)
}

#[cold]
fn main_b(cpu: B) -> ! {
    semaphore::locked::<B, _>(|| event::raise::<A>(event::SOFT_AGAIN));
    // CPU A raises the event once the engines are ready.
    cpu_b::run(cpu, 1 << event::SOFT_AGAIN)
}

event_loop!(cpu_a, A, scratchpad_a, _ = sender(roles::on_timer));
event_loop!(cpu_b, B, scratchpad_b, _ = matcher(roles::on_timer));
