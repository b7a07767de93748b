//! The timer event: one log line each millisecond, without drift.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use tigon2_hal::cpu::A;
use tigon2_hal::{dispatch, entry_a, event, log, timer};

const PERIOD_US: u32 = 1000;

struct Ticker {
    ticks: u32,
    next_us: u32,
}

dispatch! {
    fn run(cpu: A, state: Ticker = Ticker { ticks: 0, next_us: 0 });
    TIMER => Ticker::on_timer,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    event::enable(event::TIMER);
    run(cpu, |ticker| ticker.arm(timer::now_us()))
}

impl Ticker {
    fn on_timer(&mut self) {
        self.ticks += 1;
        log!("tick {} at {} us", self.ticks, timer::now_us());
        self.arm(self.next_us);
    }

    fn arm(&mut self, now_us: u32) {
        self.next_us = now_us.wrapping_add(PERIOD_US);
        timer::set_at::<A>(self.next_us);
    }
}
