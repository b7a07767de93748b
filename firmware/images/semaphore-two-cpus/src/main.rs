//! Two CPUs that each add 1 to one word in SRAM 1000 times, under the semaphore. CPU B then raises an event
//! of CPU A. When CPU A has finished too, it logs the sum. (Without the semaphore additions would be lost.)
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use defs::tigon2::map::GENERAL_BASE;
use tigon2_hal::cpu::{self, A, B, Cpu};
use tigon2_hal::{dispatch, entry_a, entry_b, event, log, semaphore, sram};

const SUM: u32 = GENERAL_BASE;
const ROUNDS: u32 = 1000;

struct Waiting;

dispatch! {
    fn run(cpu: A, state: Waiting = Waiting);
    SOFT_SEND => Waiting::on_other_done,
}

entry_a!(main_a);
entry_b!(main_b);

fn main_a(cpu: A) -> ! {
    sram::write(SUM, 0);
    cpu::start_b(&cpu);
    count::<A>();
    event::enable(event::SOFT_SEND);
    run(cpu, |_| {})
}

fn main_b(_: B) -> ! {
    count::<B>();
    semaphore::locked::<B, _>(|| event::raise::<A>(event::SOFT_SEND));
    cpu::stop()
}

fn count<C: Cpu>() {
    for _ in 0..ROUNDS {
        semaphore::locked::<C, _>(|| sram::write(SUM, sram::read(SUM) + 1));
    }
}

impl Waiting {
    fn on_other_done(&mut self) {
        semaphore::locked::<A, _>(|| event::clear::<A>(event::SOFT_SEND));
        log!("sum {} of {}", sram::read(SUM), 2 * ROUNDS);
    }
}
