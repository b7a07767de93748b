//! Logs a line at the start and one for each word that the host writes to a mailbox. A zero panics.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use tigon2_hal::cpu::A;
use tigon2_hal::{dispatch, entry_a, event, log, mailbox, timer};

struct Hello {
    words: u32,
}

dispatch! {
    fn run(cpu: A, state: Hello = Hello { words: 0 });
    MAILBOX => Hello::on_mailbox,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    log!("hello at {} us", timer::now_us());
    event::enable(event::MAILBOX);
    run(cpu, |_| {})
}

impl Hello {
    fn on_mailbox(&mut self) {
        while let Some(mailbox) = mailbox::next::<A>() {
            let word = mailbox::take::<A>(mailbox);
            assert!(word != 0, "a zero in a mailbox");
            self.words += 1;
            log!("word {} in mailbox {}: {x}", self.words, mailbox, word);
            mailbox::acknowledge(mailbox);
        }
    }
}
