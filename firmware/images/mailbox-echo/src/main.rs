//! Mailbox example: a value that the host writes is returned, plus one, in the general communication word
//! with the mailbox's number. Then the mailbox is cleared.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use defs::tigon2::map::GENERAL_BASE;
use tigon2_hal::cpu::A;
use tigon2_hal::{dispatch, entry_a, event, mailbox, sram};

struct Echo;

dispatch! {
    fn run(cpu: A, state: Echo = Echo);
    MAILBOX => Echo::on_mailbox,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    event::enable(event::MAILBOX);
    run(cpu, |_| {})
}

impl Echo {
    fn on_mailbox(&mut self) {
        while let Some(mailbox) = mailbox::next::<A>() {
            let value = mailbox::take::<A>(mailbox);
            sram::write(GENERAL_BASE + mailbox * 4, value.wrapping_add(1));
            mailbox::acknowledge(mailbox);
        }
    }
}
