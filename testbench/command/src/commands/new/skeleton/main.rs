//! The NIC's part: returns a value from mailbox 1, plus one.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use tigon2_hal::cpu::A;
use tigon2_hal::{dispatch, entry_a, event, log, mailbox, sram};

/// SRAM address of the answer.
const ANSWER: u32 = 0x200;

struct Adder {
    answers: u32,
}

dispatch! {
    fn run(cpu: A, state: Adder = Adder { answers: 0 });
    MAILBOX => Adder::on_mailbox,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    event::enable(event::MAILBOX);
    log!("ready");
    run(cpu, |_| {})
}

impl Adder {
    fn on_mailbox(&mut self) {
        while let Some(index) = mailbox::next::<A>() {
            let value = mailbox::take::<A>(index);
            self.answers += 1;
            event!("answer", self.answers, value);
            sram::write(ANSWER, value.wrapping_add(1));
        }
    }
}
