//! Example of the MAC's two rings: every received frame is sent back. The CPU copies it from the receive
//! buffer to the transmit buffer and exchanges the two addresses.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]
#![feature(asm_experimental_arch)]

use defs::tigon2::rings::{RX_STATUS_CRC, RX_STATUS_TRUNCATED};
use tigon2_hal::cpu::A;
use tigon2_hal::layout::{self, Layout};
use tigon2_hal::mac::{self, RxFrame, RxRing, TxRing};
use tigon2_hal::rings::{Region, TxSpace};
use tigon2_hal::{dispatch, entry_a, event, log, sram};

const RX: Region = Layout::DEFAULT.rx_region();
/// Length of both addresses.
const HEADER_BYTES: u32 = 12;

struct Echo {
    space: TxSpace,
}

dispatch! {
    fn run(cpu: A, state: Echo = Echo { space: TxSpace::new(Layout::DEFAULT.tx_region()) });
    RX_COMPLETE => Echo::on_frame,
}

entry_a!(main);

fn main(cpu: A) -> ! {
    layout::initialise(&Layout::DEFAULT);
    mac::set_promiscuous(true);
    mac::enable_fixed_link();
    event::enable(event::RX_COMPLETE);
    run(cpu, |_| {})
}

impl Echo {
    fn on_frame(&mut self) {
        while let Some(frame) = RxRing::next() {
            frame.advance();
            let damaged = frame.status() & (RX_STATUS_CRC | RX_STATUS_TRUNCATED) != 0;
            if damaged || frame.length() < HEADER_BYTES || self.send_back(&frame).is_none() {
                log!(
                    "dropped {} bytes, status {x}",
                    frame.length(),
                    frame.status()
                );
            }
            // There is no DMA, so the CPU may move both buffers' pointers at once.
            frame.free_descriptor();
            mac::free_rx(RX.advance(frame.end(), 0));
        }
    }

    fn send_back(&mut self, frame: &RxFrame) -> Option<()> {
        let length = frame.length();
        if !TxRing::has_room() {
            return None;
        }
        let start = self
            .space
            .reserve(length, HEADER_BYTES, mac::tx_consumer())?;
        let tx = self.space.region();
        let mut at = 0;
        while at < length {
            sram::write(
                tx.advance(start, at),
                sram::read(RX.advance(frame.address, at)),
            );
            at += 4;
        }
        // Frames start at multiples of 64: the header does not wrap. Six halfwords: target, source.
        let mut half = 0;
        while half < 6 {
            let address = sram::read_half(frame.address + half);
            sram::write_half(start + half + 6, address);
            sram::write_half(start + half, sram::read_half(frame.address + half + 6));
            half += 2;
        }
        TxRing::push(start, length).ok()?;
        mac::release_tx(tx.advance(start, length));
        Some(())
    }
}
