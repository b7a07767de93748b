//! Example of both DMA directions. The host fills three general communication words (source and target in
//! host memory, below 4 GB; length in bytes) and writes mailbox 2. A DMA read copies the bytes to the NIC,
//! a DMA write copies them to the target; then the mailbox is cleared.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use defs::tigon2::map::GENERAL_BASE;
use tigon2_hal::cpu::A;
use tigon2_hal::dma::{self, ReadRing, Transfer, WriteRing};
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::{dispatch, entry_a, event, log, mailbox, sram};

const SOURCE: u32 = GENERAL_BASE;
const TARGET: u32 = GENERAL_BASE + 4;
const LENGTH: u32 = GENERAL_BASE + 8;
const MAILBOX: u32 = 2;

struct Copy;

dispatch! {
    fn run(cpu: A, state: Copy = Copy);
    MAILBOX => Copy::on_mailbox,
    READ_DMA_DONE => Copy::on_read_done,
    WRITE_DMA_DONE => Copy::on_write_done,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    layout::initialise(&Layout::DEFAULT);
    dma::enable_assist();
    event::enable(event::MAILBOX);
    event::enable(event::READ_DMA_DONE);
    event::enable(event::WRITE_DMA_DONE);
    run(cpu, |_| {})
}

/// The transfer between the NIC's buffer and the host address in `word`.
fn transfer(word: u32) -> Transfer {
    let (host_low, length) = (sram::read(word), sram::read(LENGTH));
    let (local, state) = (sram::image_end(), dma::COPY_BYTES);
    Transfer {
        host_high: 0,
        host_low,
        local,
        length,
        state,
        kind: 0,
        index: 0,
    }
}

impl Copy {
    fn on_mailbox(&mut self) {
        while let Some(mailbox) = mailbox::next::<A>() {
            let _ = mailbox::take::<A>(mailbox);
            if mailbox == MAILBOX {
                // The host waits for the answer before its next request: there is room.
                let _ = ReadRing::push(&transfer(SOURCE));
            }
        }
    }

    fn on_read_done(&mut self) {
        while let Some(read) = ReadRing::completed() {
            read.consume();
            let _ = WriteRing::push(&transfer(TARGET));
        }
    }

    fn on_write_done(&mut self) {
        while let Some(write) = WriteRing::completed() {
            log!("copied {} bytes", write.length());
            write.consume();
            mailbox::acknowledge(MAILBOX);
        }
    }
}
